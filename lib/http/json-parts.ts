/**
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
