/**
 * What JSON would see of a value, with decimal text in place of every bigint.
 *
 * Promise: a value without bigints comes back as it is, and so does every part without them; the
 * rest is copied and the original never touched. Copies keep their class, so that a serializer
 * behind still finds its decorators. Cycles stay cycles: it is JSON.stringify that refuses them.
 */

/** The value itself where it holds no bigint, else a copy with text in their place. */
export function textCopyOf(value: unknown): unknown {
  const copier = new TextCopier();
  const copy = copier.copyOf(value, '');
  // A cycle is copied before it is known whether it holds a bigint.
  return copier.hasFound ? copy : value;
}

class TextCopier {
  hasFound = false;
  /** Objects that are done, and copies that had to exist early because a cycle leads to them. */
  private readonly copies = new Map<object, unknown>();
  private readonly ancestors = new Set<object>();

  copyOf(value: unknown, key: string): unknown {
    if (typeof value === 'bigint') {
      this.hasFound = true;
      return value.toString();
    }
    if (typeof value !== 'object' || value === null || isOpaque(value)) return value;
    if (isBigintArray(value)) {
      this.hasFound = true;
      return Array.from(value, String);
    }
    if (this.copies.has(value)) return this.copies.get(value);
    if (this.ancestors.has(value)) return hasToJson(value) ? value : this.beginCopy(value);
    this.ancestors.add(value);
    const copy = hasToJson(value) ? this.viewOf(value, key) : this.ownCopyOf(value);
    this.ancestors.delete(value);
    this.copies.set(value, copy);
    return copy;
  }

  /** JSON.stringify will call toJSON itself, unless a bigint in what it gives prevents that. */
  private viewOf(value: WithToJson, key: string): unknown {
    const view = value.toJSON(key);
    // JSON.stringify does not ask a view for a view; neither do we, nor may it ask the copy.
    const plain = hasToJson(view) ? { ...view, toJSON: undefined } : view;
    const copy = this.copyOf(plain, key);
    return copy === plain ? value : copy;
  }

  private ownCopyOf(value: object): unknown {
    let isChanged = false;
    const parts = Object.entries(value).map(([key, part]) => {
      const copy = this.copyOf(part, key);
      isChanged ||= copy !== part;
      return [key, copy] as const;
    });
    const begun = this.copies.get(value);
    if (!isChanged && begun === undefined) return value;
    const copy = begun ?? this.beginCopy(value);
    for (const [key, part] of parts) {
      // Defined and not assigned: a setter of the class, or of the key `__proto__`, must not run.
      const property = { value: part, enumerable: true, writable: true, configurable: true };
      Object.defineProperty(copy, key, property);
    }
    return copy;
  }

  private beginCopy(value: object): object {
    const copy: object = Array.isArray(value)
      ? Array.from({ length: value.length })
      : Object.create(Object.getPrototypeOf(value));
    this.copies.set(value, copy);
    return copy;
  }
}

interface WithToJson {
  toJSON(key: string): unknown;
}

function hasToJson(value: unknown): value is WithToJson {
  return isObject(value) && typeof value['toJSON'] === 'function';
}

function isBigintArray(value: object): value is BigInt64Array | BigUint64Array {
  return value instanceof BigInt64Array || value instanceof BigUint64Array;
}

/**
 * Dates, bytes, streams, files, and promises: what is not written as JSON, or holds no bigint.
 * Also responses of Express, which are streams, and of Fastify, which have a `then`: a handler may
 * return one, and walking through it would walk through the server.
 */
function isOpaque(value: object): boolean {
  if (value instanceof Date || value instanceof ArrayBuffer) return true;
  if (ArrayBuffer.isView(value)) return !isBigintArray(value);
  return ['pipe', 'getReader', 'getStream', 'then'].some(
    (method) => typeof (value as Record<string, unknown>)[method] === 'function',
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
