/**
 * Turns errors of this library into responses over HTTP (Express and Fastify), GraphQL, messages
 * and sockets.
 *
 * Guarantee: a wrong ID from a client gets 400, and a temporary failure gets 503 and Retry-After.
 * Any other error gets 500 without details, which go to the log. Without a request, the error is
 * thrown again.
 */
import {
  Catch,
  HttpStatus,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';

/** Nest chooses filters by `instanceof`, which fails for errors of another copy of this package. */
abstract class ErrorOfAnyCopy {
  static [Symbol.hasInstance](error: unknown): boolean {
    return isSnowflakeError(error);
  }
}

/** Responses of Express and of Fastify have this in common. */
interface Reply {
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  readonly raw?: { end(): void };
  status(code: number): Reply;
  header(name: string, value: string): Reply;
  send(body: object): unknown;
  end?(): void;
}

/**
 * Responds to errors of this library: 400 for a wrong ID that the client sent, 503 with Retry-After
 * for a temporary failure, and 500 without details for any other, which is logged. Errors of other
 * code go to the other filters.
 *
 * The status is 400 only if the rejected value is in the params, query, body, headers or cookies of
 * the request. A wrong ID from the database, like a wrong argument, is the server's error.
 *
 * @example
 * ```ts
 * import { APP_FILTER } from '@nestjs/core';
 * import { SnowflakeErrorFilter } from 'nestjs-snowflake/http';
 *
 * const providers = [{ provide: APP_FILTER, useClass: SnowflakeErrorFilter }];
 * ```
 */
@Catch(ErrorOfAnyCopy)
export class SnowflakeErrorFilter implements ExceptionFilter<SnowflakeError> {
  private readonly logger = new Logger(SnowflakeErrorFilter.name);

  catch(error: SnowflakeError, host: ArgumentsHost): unknown {
    switch (host.getType<string>()) {
      case 'http':
        return this.overHttp(error, host);
      case 'graphql':
        // Resolvers receive (parent, args, context, info).
        return graphqlError(error, this.answer(error, [host.getArgByIndex(1)]));
      case 'rpc':
        return this.overRpc(error, host);
      case 'ws':
        return this.overSocket(error, host);
      default:
        throw error;
    }
  }

  private overHttp(error: SnowflakeError, host: ArgumentsHost): void {
    const request: Readonly<Record<string, unknown>> | undefined = host.switchToHttp().getRequest();
    const reply: Reply | undefined = host.switchToHttp().getResponse();
    // The context of another library has the type http by default.
    if (typeof reply?.status !== 'function' || typeof reply.send !== 'function') throw error;
    const { params, query, body, headers, cookies } = request ?? {};
    const answer = this.answer(error, [params, query, body, headers, cookies]);
    if (reply.headersSent || reply.sent) {
      (reply.raw ?? reply).end?.();
      return;
    }
    const { statusCode, message, retryAfterSeconds } = answer;
    reply.status(statusCode);
    if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds));
    reply.send({ message, ...(answer.error && { error: answer.error }), statusCode });
  }

  private overRpc(error: SnowflakeError, host: ArgumentsHost): Observable<never> {
    const answer = this.answer(error, [host.switchToRpc().getData()]);
    return throwError(() => messageOf(error, answer));
  }

  private overSocket(error: SnowflakeError, host: ArgumentsHost): void {
    const socket = host.switchToWs();
    const answer = this.answer(error, [socket.getData()]);
    // Nest's own filter does the same.
    const client = socket.getClient<{ emit(event: string, body: object): void }>();
    client.emit('exception', messageOf(error, answer));
  }

  private answer(error: SnowflakeError, sent: readonly unknown[]): ErrorAnswer {
    const answer = answerTo(error, sent);
    const isOurs = answer.error === undefined;
    // The cause is omitted, because the error of a store's client may contain its password.
    if (isOurs) this.logger.error(`${error.code}: ${error.message}`, error.stack);
    return answer;
  }
}

/** The format of Nest's errors for messages and sockets, plus the code. */
function messageOf(error: SnowflakeError, answer: ErrorAnswer): object {
  const { message } = answer;
  return { status: 'error', message, ...(answer.error && { code: error.code }) };
}

/** graphql uses the message and extensions of any error. */
function graphqlError(error: SnowflakeError, answer: ErrorAnswer): Error {
  const { message, retryAfterSeconds } = answer;
  const code = answer.error === undefined ? 'INTERNAL_SERVER_ERROR' : error.code;
  return Object.assign(new Error(message), { extensions: { code, retryAfterSeconds } });
}

/*
 * Turns an error of this library into a response: a status, a sentence, and a retry time.
 *
 * Guarantee: the only part of an error that a client sees is the value it sent. It sees no text of
 * the store, no worker and no layout.
 */

interface ErrorAnswer {
  readonly statusCode: HttpStatus;
  readonly message: string;
  /** The name of the status, as Nest writes it; absent with 500. */
  readonly error?: string;
  /** The client may retry after this time; only with 503. */
  readonly retryAfterSeconds?: number;
}

/** Nest's own response to an unexpected error. */
const INTERNAL: ErrorAnswer = {
  statusCode: HttpStatus.INTERNAL_SERVER_ERROR,
  message: 'Internal server error',
};

/** One process may wait long for a worker ID while others already serve requests. */
const RETRY_SECONDS_MAX = 60;

/**
 * @param sent The request: 400 is only for a value found in it. The server generated any other
 * invalid ID or read it from its own store, so it is the server's error.
 */
function answerTo(error: SnowflakeError, sent: readonly unknown[]): ErrorAnswer {
  if (error.code === 'ID_INVALID') {
    if (!isSent(error.details['value'], sent)) return INTERNAL;
    return { statusCode: HttpStatus.BAD_REQUEST, message: error.message, error: 'Bad Request' };
  }
  if (error.code === 'LOCK_HELD') {
    const message = 'Somebody else is doing this right now. Try again.';
    return { statusCode: HttpStatus.CONFLICT, message, error: 'Conflict' };
  }
  // A process that shuts down stays NOT_READY, but another process serves the next request.
  if (!error.retryable && error.code !== 'NOT_READY') return INTERNAL;
  const { lock, waitMs } = error.details;
  const failed = typeof lock === 'string' ? 'This cannot be done' : 'No id can be made';
  const seconds = typeof waitMs === 'number' ? Math.ceil(waitMs / 1000) : 1;
  return {
    statusCode: HttpStatus.SERVICE_UNAVAILABLE,
    message: `${failed} right now. Try again.`,
    error: 'Service Unavailable',
    retryAfterSeconds: Math.min(Math.max(1, seconds || 1), RETRY_SECONDS_MAX),
  };
}

/*
 * Finds whether a client sent a value.
 *
 * Guarantee: true only if the request contains exactly this string, or the digits of the bigint. A
 * number proves nothing, because numbers are too common. The search is limited.
 */

/** A body of the usual size has fewer parts. */
const PARTS_MAX = 100_000;

function isSent(value: unknown, sent: readonly unknown[]): boolean {
  const text = textOf(value);
  if (text === undefined) return false;
  const open = [...sent];
  let left = PARTS_MAX;
  while (open.length > 0 && left > 0) {
    const part = open.pop();
    if (part === text) return true;
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    const parts = Array.isArray(part) ? (part as unknown[]) : Object.values(part);
    for (let at = 0; at < parts.length && left > 0; at++, left--) open.push(parts[at]);
  }
  return false;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // A larger bigint is not an ID, and its digits would take long to write.
  const isShort = typeof value === 'bigint' && BigInt.asIntN(128, value) === value;
  return isShort ? String(value) : undefined;
}
