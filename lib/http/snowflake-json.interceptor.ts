/**
 * Sends bigint ids in responses as decimal text. JSON.stringify would throw for them, and would
 * write the Longs of MongoDB's driver as two halves.
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
import { throwError, type Observable } from 'rxjs';
import { catchError, map } from 'rxjs/operators';

// rxjs 7.1 exports its operators only from here.

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
      map(withTexts),
      catchError((error: unknown) => throwError(() => errorWithTexts(error))),
    );
  }
}

/** The methods by which Nest's filters read the body of exceptions: HTTP, messages, sockets. */
const BODIES = ['getResponse', 'getError'] as const;

/** The same exception with another body, so that filters still recognise its class. */
function errorWithTexts(error: unknown): unknown {
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

function withTexts(response: unknown): unknown {
  return isLines(response) ? linesWithTexts(response) : textCopyOf(response);
}

/** Nest 12 sends these line by line. Streams of Node and the web mostly send bytes: unchanged. */
function isLines(response: unknown): response is AsyncIterable<unknown> {
  if (typeof response !== 'object' || response === null) return false;
  const isStream = 'pipe' in response || 'getReader' in response;
  return Symbol.asyncIterator in response && !isStream;
}

async function* linesWithTexts(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const line of lines) yield textCopyOf(line);
}

/*
 * Copies a value as JSON.stringify reads it, with decimal text in place of every bigint.
 *
 * Guarantee: a part without bigints is returned as it is; the others are copied, and no original is
 * changed. Copies keep their class, so that a later serializer finds its decorators. Cycles and any
 * depth are handled; refusing them is left to JSON.stringify.
 */

/** The value itself if it contains no bigint, otherwise a copy with text in their place. */
export function textCopyOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  return new TextCopier().copyOf(value);
}

/** An object whose parts are being visited. */
class Visit {
  done = 0;
  copy: object | undefined;

  constructor(
    /** The object, or the result of its toJSON. */
    readonly source: object,
    /** Stays in the response if nothing is changed. */
    readonly original: object,
    /** It is undefined for a list. */
    readonly keys: readonly string[] | undefined,
  ) {}

  get length(): number {
    return this.keys?.length ?? (this.source as unknown[]).length;
  }

  keyAt(at: number): string | number {
    return this.keys?.[at] ?? at;
  }
}

/**
 * Uses its own stack, because the call stack ends after some thousand levels. An object whose parts
 * are all plain values, the usual case, needs neither a place on it nor an entry in the map.
 */
class TextCopier {
  private hasFound = false;
  private readonly stack: Visit[] = [];
  /** Maps an object to its replacement, or to its visit if that is not finished. */
  private readonly known = new Map<object, unknown>();

  copyOf(root: object): unknown {
    let result = this.enter(root, '');
    let visit: Visit | undefined;
    while ((visit = this.stack.at(-1)) !== undefined) {
      if (!this.advance(visit)) continue;
      this.stack.pop();
      result = visit.copy ?? visit.original;
      this.remember(visit, result);
      const parent = this.stack.at(-1);
      if (parent !== undefined) this.deliver(parent, result);
    }
    // A cycle is copied before it is known whether it contains a bigint.
    return this.hasFound ? result : root;
  }

  /** Continues to the next object that needs its own visit; true if there is none left. */
  private advance(visit: Visit): boolean {
    const source = visit.source as Record<string | number, unknown>;
    for (const { length } = visit; visit.done < length; visit.done++) {
      const key = visit.keyAt(visit.done);
      const part = source[key];
      if (typeof part === 'bigint') this.change(visit, key, this.textOf(part));
      if (typeof part !== 'object' || part === null) continue;
      const entered = this.enter(part, key);
      if (entered === undefined) return false;
      if (entered !== part) this.change(visit, key, entered);
    }
    return true;
  }

  /** Returns the replacement of an object, or undefined if its visit has been started. */
  private enter(value: object, key: string | number): unknown {
    if (isOpaque(value)) return value;
    const known = this.known.get(value);
    if (known instanceof Visit) return known.source === value ? this.copyIn(known) : value;
    if (known !== undefined) return known;
    const view = viewOf(value, key);
    if (typeof view === 'bigint') return this.textOf(view);
    if (typeof view !== 'object' || view === null) return value;
    if (view !== value && isOpaque(view)) return value;
    const texts = listOfTexts(view);
    if (texts !== undefined) {
      this.hasFound = true;
      return texts;
    }
    const visit = new Visit(view, value, Array.isArray(view) ? undefined : Object.keys(view));
    if (this.isFlat(visit)) return visit.copy ?? value;
    this.known.set(value, visit);
    this.stack.push(visit);
    return undefined;
  }

  /** Handles an object without objects in it; returns false at the first object it finds. */
  private isFlat(visit: Visit): boolean {
    const source = visit.source as Record<string | number, unknown>;
    for (const { length } = visit; visit.done < length; visit.done++) {
      const key = visit.keyAt(visit.done);
      const part = source[key];
      if (typeof part === 'bigint') this.change(visit, key, this.textOf(part));
      else if (typeof part === 'object' && part !== null) return false;
    }
    if (visit.copy !== undefined) this.remember(visit, visit.copy);
    return true;
  }

  /** The result of toJSON is not remembered, since it may differ under another key. */
  private remember({ source, original }: Visit, result: unknown): void {
    if (source === original) this.known.set(original, result);
    else this.known.delete(original);
  }

  private deliver(parent: Visit, result: unknown): void {
    const key = parent.keyAt(parent.done++);
    const part = (parent.source as Record<string | number, unknown>)[key];
    if (result !== part) this.change(parent, key, result);
  }

  private change(visit: Visit, key: string | number, part: unknown): void {
    // The copy already has this property, so no setter can run.
    (this.copyIn(visit) as Record<string | number, unknown>)[key] = part;
  }

  private copyIn(visit: Visit): object {
    return (visit.copy ??= beginCopyOf(visit.source, visit.keys));
  }

  private textOf(id: bigint): string {
    this.hasFound = true;
    return id.toString();
  }
}

/**
 * Makes `JSON.stringify` write a bigint as decimal text; without it a bigint throws.
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
 * objects of the server) are recognised and not walked through.
 */

type Parts = Record<string | number, unknown>;

/**
 * True for dates, bytes, streams, files and promises, which are not JSON or contain no bigint. Also
 * for responses of Express, which are streams, and of Fastify, which have a `then`: a handler may
 * return one, and walking through it would walk through the server.
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
 * The value that JSON.stringify writes: the result of toJSON, or the value itself, and the bigint
 * in a BigInt object or a Long of BSON. Like JSON.stringify, it calls no toJSON on the result.
 */
export function viewOf(value: object, key: string | number): unknown {
  const { toJSON } = value as Parts;
  const view: unknown = typeof toJSON === 'function' ? toJSON.call(value, `${key}`) : value;
  if (view instanceof BigInt) return view.valueOf();
  return isLong(view) ? bigintOf(view) : view;
}

/** The 64-bit integer of BSON, as MongoDB's driver reads it: two halves of 32 bits. */
interface Long {
  readonly high: number;
  readonly low: number;
  readonly unsigned?: boolean;
}

/** Only an object of a class counts: a client's JSON that is sent back is no Long. */
function isLong(value: unknown): value is Long {
  if (typeof value !== 'object' || value === null) return false;
  const { _bsontype, high, low } = value as Parts;
  return _bsontype === 'Long' && !isPlain(value) && Number.isInteger(high) && Number.isInteger(low);
}

function bigintOf({ high, low, unsigned }: Long): bigint {
  const bits = (BigInt(high) << 32n) | BigInt.asUintN(32, BigInt(low));
  return unsigned ? BigInt.asUintN(64, bits) : BigInt.asIntN(64, bits);
}

/** The ids in a typed array of bigints, as text; undefined for everything else. */
export function listOfTexts(value: object): string[] | undefined {
  return isBigintArray(value) ? Array.from(value, String) : undefined;
}

/**
 * A copy of the same class with the same parts in the same order. It is already the result of
 * toJSON, so JSON.stringify must not call toJSON again.
 */
export function beginCopyOf(source: object, keys: readonly string[] | undefined): object {
  if (keys === undefined) return Array.from(source as unknown[]);
  const prototype = Object.getPrototypeOf(source) as object | null;
  const isViewed = typeof (source as Parts)['toJSON'] === 'function';
  if (prototype === Object.prototype && !isViewed) return { ...source };
  const copy = Object.create(prototype) as Parts;
  for (const key of keys) {
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

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

function isBigintArray(value: object): value is BigInt64Array | BigUint64Array {
  return value instanceof BigInt64Array || value instanceof BigUint64Array;
}
