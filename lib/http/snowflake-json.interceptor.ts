/**
 * Responses with bigint ids in them: sent as JSON with decimal text, where JSON.stringify throws.
 *
 * Promise: a response without bigints is sent as the very object the handler returned, and no
 * prototype is patched. Files, streams and bytes are left alone.
 */
import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';
// Where operators lie in rxjs 7.1 too.
import { catchError, map } from 'rxjs/operators';
import { textCopyOf } from './text-copy.js';

/**
 * Writes every bigint in a response as decimal text, at any depth, and in the body of an exception
 * that a handler, a pipe or a later interceptor throws. List it first: what is listed
 * first sees the response last, when ClassSerializerInterceptor has done its part.
 *
 * In a GraphQL resolver it does nothing: there the scalars write.
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { APP_INTERCEPTOR } from '@nestjs/core';
 * import { SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
 *
 * @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }] })
 * class AppModule {}
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

/** How Nest's filters ask exceptions of HTTP, of messages and of sockets for their body. */
const BODIES = ['getResponse', 'getError'] as const;

/** The exception itself, for whoever catches it by its class; only the body it tells is another. */
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

/** What Nest 12 sends line by line. Node and web streams send bytes, mostly, and are left alone. */
function isLines(response: unknown): response is AsyncIterable<unknown> {
  if (typeof response !== 'object' || response === null) return false;
  const isStream = 'pipe' in response || 'getReader' in response;
  return Symbol.asyncIterator in response && !isStream;
}

async function* writtenLines(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const line of lines) yield textCopyOf(line);
}
