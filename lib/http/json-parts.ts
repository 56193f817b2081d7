/**
 * What JSON.stringify sees of an object, and a copy that it sees the same of.
 *
 * Promise: no setter runs and nothing is written into an original. What is no JSON at all, files
 * and streams and what belongs to the server, is recognised and not looked into.
 */

type Parts = Record<string | number, unknown>;

/**
 * Dates, bytes, streams, files, and promises: what is not written as JSON, or holds no bigint.
 * Also responses of Express, which are streams, and of Fastify, which have a `then`: a handler may
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
 * What JSON.stringify writes in place of a value: what toJSON gives, else the value itself, and a
 * bigint for an object around one. It does not ask a view for a view, and neither do we.
 */
export function viewOf(value: object, key: string | number): unknown {
  const { toJSON } = value as Parts;
  const view: unknown = typeof toJSON === 'function' ? toJSON.call(value, `${key}`) : value;
  return view instanceof BigInt ? view.valueOf() : view;
}

/** The texts of a list of bigints, which generators fill; undefined for everything else. */
export function listOfTexts(value: object): string[] | undefined {
  return isBigintArray(value) ? Array.from(value, String) : undefined;
}

/**
 * A copy of the parts, in their order and of the same class. JSON.stringify must not ask it for a
 * view, which it is.
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
  // Not enumerable, and so no part of the JSON.
  if (isViewed) Object.defineProperty(copy, 'toJSON', { value: undefined });
  return copy;
}

/** Defines rather than assigns where a setter, or the one of the key `__proto__`, would run. */
export function putInto(copy: object, key: string | number, value: unknown): void {
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
