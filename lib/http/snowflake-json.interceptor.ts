/**
 * Sends bigint ids in responses as decimal text, where JSON.stringify would throw, and the Longs in
 * which MongoDB's driver reads them, which JSON.stringify would write as two halves.
 *
 * Promise: a response without bigints is sent as the same object that the handler returned, and no
 * prototype is patched. Files, streams and bytes are not changed.
 */
import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';
// rxjs 7.1 exports its operators only from here.
import { catchError, map } from 'rxjs/operators';
import { textCopyOf } from './text-copy.js';

/**
 * Writes every bigint in a response as decimal text, and every Long of BSON, at any depth, also in
 * the body of an exception that a handler, a pipe or a later interceptor throws. List it first: the
 * interceptor that is listed first sees the response last, after ClassSerializerInterceptor.
 *
 * In a GraphQL resolver it does nothing: there the scalars write the ids.
 *
 * @example
 * ```ts
 * import { APP_INTERCEPTOR } from '@nestjs/core';
 * import { SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
 *
 * const providers = [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }];
 * ```
 */
@Injectable()
export class SnowflakeJsonInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType<string>() === 'graphql') return next.handle();
    return next.handle().pipe(
      map(written),
      catchError((error: unknown) => throwError(() => writtenError(error))),
    );
  }
}

/** The methods by which Nest's filters read the body of exceptions: HTTP, messages, sockets. */
const BODIES = ['getResponse', 'getError'] as const;

/** The same exception with another body, so that filters still recognise its class. */
function writtenError(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  for (const name of BODIES) {
    const method = (error as Record<string, unknown>)[name];
    if (typeof method !== 'function') continue;
    const body: unknown = method.call(error);
    const copy = textCopyOf(body);
    if (copy === body) continue;
    Reflect.defineProperty(error, name, { value: () => copy, configurable: true });
  }
  return error;
}

function written(response: unknown): unknown {
  return isLines(response) ? writtenLines(response) : textCopyOf(response);
}

/** What Nest 12 sends line by line. Streams of Node and the web mostly send bytes: unchanged. */
function isLines(response: unknown): response is AsyncIterable<unknown> {
  if (typeof response !== 'object' || response === null) return false;
  const isStream = 'pipe' in response || 'getReader' in response;
  return Symbol.asyncIterator in response && !isStream;
}

async function* writtenLines(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const line of lines) yield textCopyOf(line);
}
