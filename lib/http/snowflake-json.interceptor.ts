/**
 * Sends bigint IDs in responses as decimal strings. JSON.stringify throws for a bigint, and writes
 * a Long of MongoDB's driver as two halves.
 *
 * Guarantee: a response without bigints is sent as the same object that the handler returned, and
 * no prototype is patched. Files, streams and bytes are not changed.
 */
import {
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Observable } from 'rxjs';

/**
 * Writes every bigint and every BSON Long in a response as a decimal string, to a depth of 2,500
 * levels. This includes the body of an exception that a handler, a pipe or a later interceptor
 * throws. List it first: the first interceptor sees the response last, after
 * ClassSerializerInterceptor.
 *
 * It does nothing in a GraphQL resolver, because the scalars write the IDs there.
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
    return inTexts(next.handle());
  }
}

/**
 * One subscription replaces those of map and catchError, which cost more than a check of a small
 * response. An error from the response's own code, such as its toJSON, replaces the response.
 */
function inTexts(responses: Observable<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const send = (kind: 'next' | 'error', change: (value: unknown) => unknown, value: unknown) => {
      try {
        value = change(value);
      } catch (error) {
        subscriber.error(error);
        return;
      }
      subscriber[kind](value);
    };
    return responses.subscribe({
      next: (response) => send('next', withTexts, response),
      error: (error) => send('error', errorWithTexts, error),
      complete: () => subscriber.complete(),
    });
  });
}

/** The methods with which Nest's filters read the body of exceptions: HTTP, messages, sockets. */
const BODIES = ['getResponse', 'getError'] as const;

/** The same exception with another body, so that filters still recognize its class. */
function errorWithTexts(error: unknown): unknown {
  if (!isObject(error)) return error;
  for (const name of BODIES) {
    const method = (error as Parts)[name];
    if (typeof method !== 'function') continue;
    const body: unknown = method.call(error);
    const copy = textCopyOf(body);
    if (copy === body) continue;
    Reflect.defineProperty(error, name, { value: () => copy, configurable: true });
  }
  return error;
}

function withTexts(response: unknown): unknown {
  return isLines(response) ? linesWithTexts(response) : textCopyOf(response);
}

/**
 * Nest 12 sends streams of objects line by line. Streams of Node and the web mostly carry bytes, so
 * they stay unchanged.
 */
function isLines(response: unknown): response is AsyncIterable<unknown> {
  if (!isObject(response)) return false;
  const isStream = 'pipe' in response || 'getReader' in response;
  return Symbol.asyncIterator in response && !isStream;
}

async function* linesWithTexts(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const line of lines) yield textCopyOf(line);
}

/*
 * Copies a value as JSON.stringify reads it, with a decimal string in place of every bigint.
 *
 * Guarantee: a part without bigints is returned as is. Other parts are copied, and no original is
 * changed. Copies keep their class, so that a later serializer finds its decorators. A cycle stays
 * a cycle, and a value of more than DEPTH_MAX levels stays as is: JSON.stringify rejects both.
 */

/** JSON.stringify overflows the stack at about 4,000 levels. */
const DEPTH_MAX = 2500;

/** The value itself if it contains no bigint, otherwise a copy with strings in their place. */
export function textCopyOf(value: unknown): unknown {
  if (isObject(value)) return new FirstLook().finds(value) ? new TextCopier().copyOf(value) : value;
  return typeof value === 'bigint' ? value.toString() : value;
}

/**
 * True if a full check is required. Most responses need none, and this check costs a fraction of
 * JSON.stringify.
 */
class FirstLook {
  /** Shared parts are checked repeatedly, so the number of checks is limited. */
  private left = 1_000_000;

  finds(value: object, depth = 0): boolean {
    if (depth > DEPTH_MAX || this.left-- === 0) return true;
    const isOwn = isPlain(value);
    if (!isOwn) {
      if (isOpaque(value)) return false;
      if (value instanceof BigInt || isBigintArray(value) || isLong(value)) return true;
    }
    const parts = value as Parts;
    if (typeof parts['toJSON'] === 'function') return true;
    if (Array.isArray(value)) return this.findsInList(value, depth);
    for (const key in parts) {
      // An inherited part is not JSON, and a getter may throw.
      if (!isOwn && !Object.hasOwn(parts, key)) continue;
      const part = parts[key];
      if (typeof part === 'bigint') return true;
      if (typeof part === 'object' && part !== null && this.finds(part, depth + 1)) return true;
    }
    return false;
  }

  /** By index, as JSON.stringify reads a list; an iterator of its own may leave parts out. */
  private findsInList(list: readonly unknown[], depth: number): boolean {
    for (let at = 0; at < list.length; at++) {
      const part = list[at];
      if (typeof part === 'bigint') return true;
      if (typeof part === 'object' && part !== null && this.finds(part, depth + 1)) return true;
    }
    return false;
  }
}

/** An object whose parts are being replaced. */
class Draft {
  isDone = false;
  isChanged = false;
  /** Made first, so that each part is read only here: a getter may return another value later. */
  readonly copy: Parts;

  constructor(
    /** Stays in the response if nothing is changed. */
    private readonly original: object,
    /** The object, or the result of its toJSON. */
    readonly source: object,
  ) {
    this.copy = copyOf(source) as Parts;
  }

  get result(): object {
    return this.isChanged ? this.copy : this.original;
  }
}

class TextCopier {
  private hasFound = false;
  private isTooDeep = false;
  private readonly drafts = new Map<object, Draft>();

  copyOf(root: object): unknown {
    const copy = this.replacementOf(root, '', 0);
    // A cycle is copied before the search for a bigint in it has finished.
    return this.hasFound && !this.isTooDeep ? copy : root;
  }

  private replacementOf(value: object, key: string | number, depth: number): unknown {
    if (this.isTooDeep || isOpaque(value)) return value;
    const known = this.drafts.get(value);
    if (known?.isDone === false) {
      if (known.source !== value) return value;
      known.isChanged = true; // the copy of a cycle is a cycle
    }
    if (known !== undefined) return known.result;
    const view = viewOf(value, key);
    if (typeof view === 'bigint') return this.textOf(view);
    if (!isObject(view) || (view !== value && isOpaque(view))) return value;
    if (isBigintArray(view)) return Array.from(view, (id) => this.textOf(id));
    this.isTooDeep = depth > DEPTH_MAX;
    const draft = new Draft(value, view);
    this.drafts.set(value, draft);
    this.replaceParts(draft, depth);
    draft.isDone = true;
    // The result of toJSON may differ under another key.
    if (view !== value) this.drafts.delete(value);
    return draft.result;
  }

  private replaceParts(draft: Draft, depth: number): void {
    const { copy } = draft;
    const keys = Array.isArray(copy) ? undefined : Object.keys(copy);
    const count = keys?.length ?? (copy as unknown as unknown[]).length;
    for (let at = 0; at < count; at++) {
      const key = keys === undefined ? at : keys[at]!;
      const part = copy[key];
      if (typeof part !== 'bigint' && !isObject(part)) continue;
      const replacement = isObject(part)
        ? this.replacementOf(part, key, depth + 1)
        : this.textOf(part);
      if (replacement === part) continue;
      // The copy already has this property, so no setter can run.
      copy[key] = replacement;
      draft.isChanged = true;
    }
  }

  private textOf(id: bigint): string {
    this.hasFound = true;
    return id.toString();
  }
}

/**
 * Makes `JSON.stringify` write a bigint as a decimal string; without it, a bigint throws.
 *
 * @example
 * ```ts
 * import { bigintAsText } from 'nestjs-snowflake/http';
 *
 * JSON.stringify({ id: 382366441078288384n }, bigintAsText); // '{"id":"382366441078288384"}'
 * ```
 */
export function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/*
 * Finds the parts that JSON.stringify reads of an object, and makes a copy with the same JSON.
 *
 * Guarantee: no setter runs and no original is changed. Values that are not JSON (files, streams,
 * objects of the server) are recognized and skipped.
 */

type Parts = Record<string | number, unknown>;

/**
 * True for dates, bytes, streams, files and promises, which are not JSON or contain no bigint. Also
 * true for responses of Express, which are streams, and of Fastify, which have a `then`. A handler
 * may return one, and walking through it would walk through the server.
 */
export function isOpaque(value: object): boolean {
  if (isPlain(value)) return false;
  if (value instanceof Date || value instanceof ArrayBuffer) return true;
  if (ArrayBuffer.isView(value)) return !isBigintArray(value);
  const { pipe, getReader, getStream, then } = value as Parts;
  return (
    typeof pipe === 'function' ||
    typeof getReader === 'function' ||
    typeof getStream === 'function' ||
    typeof then === 'function'
  );
}

/**
 * The value that JSON.stringify writes: the result of toJSON, or the value itself. For a BigInt
 * object or a BSON Long, it is the bigint. Like JSON.stringify, it calls no toJSON on the result.
 */
export function viewOf(value: object, key: string | number): unknown {
  const { toJSON } = value as Parts;
  const view: unknown = typeof toJSON === 'function' ? toJSON.call(value, `${key}`) : value;
  if (view instanceof BigInt) return view.valueOf();
  if (!isLong(view)) return view;
  const bits = (BigInt(view.high) << 32n) | BigInt.asUintN(32, BigInt(view.low));
  return view.unsigned ? BigInt.asUintN(64, bits) : BigInt.asIntN(64, bits);
}

/** The 64-bit integer of BSON, as MongoDB's driver reads it: two halves of 32 bits. */
interface Long {
  readonly high: number;
  readonly low: number;
  readonly unsigned?: boolean;
}

/** Only an instance of a class counts, so a client's JSON in a response is never read as a Long. */
function isLong(value: unknown): value is Long {
  if (!isObject(value)) return false;
  const { _bsontype, high, low } = value as Parts;
  return _bsontype === 'Long' && !isPlain(value) && Number.isInteger(high) && Number.isInteger(low);
}

/**
 * A copy of the same class with the same parts in the same order. It is already the result of
 * toJSON, so JSON.stringify must not call toJSON again.
 */
function copyOf(source: object): object {
  if (Array.isArray(source)) {
    const list: unknown[] = [];
    for (let at = 0; at < source.length; at++) list.push(source[at]);
    return list;
  }
  const prototype = Object.getPrototypeOf(source) as object | null;
  const isViewed = typeof (source as Parts)['toJSON'] === 'function';
  if (prototype === Object.prototype && !isViewed) return { ...source };
  const copy = Object.create(prototype) as Parts;
  for (const key of Object.keys(source)) {
    if (key !== 'toJSON' || !isViewed) putInto(copy, key, (source as Parts)[key]);
  }
  // A property that is not enumerable is not in the JSON.
  if (isViewed) Object.defineProperty(copy, 'toJSON', { value: undefined });
  return copy;
}

/** Defines the property if assigning it would run a setter, as for `__proto__`. */
function putInto(copy: object, key: string | number, value: unknown): void {
  if (!(key in copy) || Object.hasOwn(copy, key)) (copy as Parts)[key] = value;
  else {
    const property = { value, enumerable: true, writable: true, configurable: true };
    Object.defineProperty(copy, key, property);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

function isBigintArray(value: object): value is BigInt64Array | BigUint64Array {
  return value instanceof BigInt64Array || value instanceof BigUint64Array;
}
