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
import type { Observable } from 'rxjs';
// Where operators lie in rxjs 7.1 too.
import { map } from 'rxjs/operators';
import { textCopyOf } from './text-copy.js';

/**
 * Writes every bigint in a response as decimal text, at any depth. List it first: what is listed
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
    return next.handle().pipe(map(written));
  }
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
