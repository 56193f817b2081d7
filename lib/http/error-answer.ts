/**
 * Turns an error of this library into an answer: a status, a sentence, and when to try again.
 *
 * Promise: the only part of an error that a client sees is the value it sent itself; it sees no
 * text of the store, no worker, no layout.
 */
import { HttpStatus } from '@nestjs/common';
import type { SnowflakeError } from '../errors.js';
import { isSent } from './is-sent.js';

export interface ErrorAnswer {
  readonly statusCode: HttpStatus;
  readonly message: string;
  /** The name of the status, as Nest writes it; absent with 500. */
  readonly error?: string;
  /** When the client may try again; only with 503. */
  readonly retryAfterSeconds?: number;
}

/** As Nest answers an unexpected error. */
const INTERNAL: ErrorAnswer = {
  statusCode: HttpStatus.INTERNAL_SERVER_ERROR,
  message: 'Internal server error',
};

/** One process may wait long for a worker id while others can already answer. */
const RETRY_SECONDS_MAX = 60;

/**
 * @param sent What the client sent: 400 is only for a value found in it. Any other invalid id was
 * made by the server or read from its own store, which is the server's fault.
 */
export function answerTo(error: SnowflakeError, sent: readonly unknown[]): ErrorAnswer {
  if (error.code === 'ID_INVALID') {
    if (!isSent(error.details['value'], sent)) return INTERNAL;
    return { statusCode: HttpStatus.BAD_REQUEST, message: error.message, error: 'Bad Request' };
  }
  if (error.code === 'LOCK_HELD') {
    const message = 'Somebody else is doing this right now. Try again.';
    return { statusCode: HttpStatus.CONFLICT, message, error: 'Conflict' };
  }
  // NOT_READY cannot be retried in a process that shuts down, but the next request goes elsewhere.
  if (!error.retryable && error.code !== 'NOT_READY') return INTERNAL;
  return {
    statusCode: HttpStatus.SERVICE_UNAVAILABLE,
    message: `${WANTED[isOfLock(error) ? 'lock' : 'id']} right now. Try again.`,
    error: 'Service Unavailable',
    retryAfterSeconds: secondsOf(error.details['waitMs']),
  };
}

const WANTED = { id: 'No id can be made', lock: 'This cannot be done' };

function isOfLock({ details }: SnowflakeError): boolean {
  return typeof details['lock'] === 'string';
}

function secondsOf(waitMs: unknown): number {
  const seconds = typeof waitMs === 'number' ? Math.ceil(waitMs / 1000) : 1;
  return Math.min(Math.max(1, seconds || 1), RETRY_SECONDS_MAX);
}
