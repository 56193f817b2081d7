/**
 * What a client is told of an error of this library: a status, a sentence, and when to try again.
 *
 * Promise: the client's own value is quoted to the client that sent it, and nothing else of an
 * error leaves the process: no text of the store, no worker, no layout.
 */
import { HttpStatus } from '@nestjs/common';
import type { SnowflakeError } from '../errors.js';
import { isSent } from './is-sent.js';

export interface ErrorAnswer {
  readonly statusCode: HttpStatus;
  readonly message: string;
  /** The name of the status, as Nest writes it; 500 has none. */
  readonly error?: string;
  /** When the client may try again; with 503 alone. */
  readonly retryAfterSeconds?: number;
}

/** Nest's own words for an error that nobody foresaw. */
const INTERNAL: ErrorAnswer = {
  statusCode: HttpStatus.INTERNAL_SERVER_ERROR,
  message: 'Internal server error',
};

/** A process that waits for a worker id may wait for long; its neighbours may not. */
const RETRY_SECONDS_MAX = 60;

/**
 * @param sent What the client sent: 400 is only for a value that stands in there. That an id is
 * invalid is the server's fault where it made the value, or read it from its own store.
 */
export function answerTo(error: SnowflakeError, sent: readonly unknown[]): ErrorAnswer {
  if (error.code === 'ID_INVALID') {
    if (!isSent(error.details['value'], sent)) return INTERNAL;
    return { statusCode: HttpStatus.BAD_REQUEST, message: error.message, error: 'Bad Request' };
  }
  // NOT_READY is not retryable in a process that ends, but where the client arrives next it is.
  if (!error.retryable && error.code !== 'NOT_READY') return INTERNAL;
  return {
    statusCode: HttpStatus.SERVICE_UNAVAILABLE,
    message: 'No id can be made just now. Try again.',
    error: 'Service Unavailable',
    retryAfterSeconds: secondsOf(error.details['waitMs']),
  };
}

function secondsOf(waitMs: unknown): number {
  const seconds = typeof waitMs === 'number' ? Math.ceil(waitMs / 1000) : 1;
  return Math.min(Math.max(1, seconds || 1), RETRY_SECONDS_MAX);
}
