/**
 * The request of a call, over HTTP (Express and Fastify) and GraphQL, and what the guard notes on
 * it.
 *
 * The mark is a symbol that all copies of this package share, and no client can send one.
 */
import type { ExecutionContext } from '@nestjs/common';
import { SnowflakeError } from '../../errors.js';
import { AUTHORIZATION } from './guard-options.js';

const KEY_ID = Symbol.for('nestjs-snowflake:api-key-id');

/** What requests of all platforms have. */
export interface GuardedRequest {
  readonly headers: Readonly<Record<string, unknown>>;
  /** As they were sent, names and values in turn. */
  readonly rawHeaders?: unknown;
  /** That of Node, in Fastify. */
  readonly raw?: { readonly rawHeaders?: unknown };
  [KEY_ID]?: string;
}

/** What drivers of GraphQL have in their contexts, each one of these. */
interface GraphqlContext {
  readonly req?: unknown;
  readonly request?: unknown;
  readonly reply?: { readonly request?: unknown };
  /** Of a subscription over a socket. */
  readonly extra?: { readonly request?: unknown };
}

/** @throws SnowflakeError CONFIG_INVALID where there is no request, as with messages */
export function requestOf(context: ExecutionContext): GuardedRequest {
  const request = givenRequest(context);
  if (isRequest(request)) return request;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'ApiKeyGuard and @ApiKeyId() need the request of HTTP or of GraphQL, and this call ' +
      `(${context.getType()}) has none. Nobody was let in. With GraphQL let the context hold ` +
      '{ req }.',
  );
}

function givenRequest(context: ExecutionContext): unknown {
  const type = context.getType<string>();
  if (type === 'http') return context.switchToHttp().getRequest();
  if (type !== 'graphql') return undefined;
  // Resolvers get (parent, args, context, info).
  const { req, request, reply, extra } = context.getArgByIndex<GraphqlContext>(2) ?? {};
  return req ?? request ?? reply?.request ?? extra?.request;
}

function isRequest(request: unknown): request is GuardedRequest {
  const { headers } = (request ?? {}) as Partial<GuardedRequest>;
  return typeof headers === 'object' && headers !== null;
}

/** The key that stands in a header, or undefined. Two headers of one name are no key. */
export function keyIn(request: GuardedRequest, header: string): string | undefined {
  const value = request.headers[header];
  if (typeof value !== 'string' || isRepeated(request, header)) return undefined;
  return header === AUTHORIZATION ? /^Bearer +(\S+)$/i.exec(value)?.[1] : value;
}

/** Of several, Node keeps the first `authorization`; what stands in between may read another. */
function isRepeated({ rawHeaders, raw }: GuardedRequest, header: string): boolean {
  const sent: unknown = rawHeaders ?? raw?.rawHeaders;
  if (!Array.isArray(sent)) return false;
  const names = sent.filter((_, at) => at % 2 === 0).map((name) => String(name).toLowerCase());
  return names.indexOf(header) !== names.lastIndexOf(header);
}

export function noteKeyId(request: GuardedRequest, keyId: string): void {
  request[KEY_ID] = keyId;
}

export function notedKeyId(request: GuardedRequest): string | undefined {
  return request[KEY_ID];
}
