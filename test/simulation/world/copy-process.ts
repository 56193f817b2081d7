/**
 * Copies a running process with all it holds in memory, as a VM snapshot or CRIU does.
 *
 * Guarantee: the copy shares nothing with the original but what lies outside of both: the store,
 * the time, chance. What it looks at are the objects themselves, so no room needs a way to be
 * copied.
 */

/** A copy of everything reachable; what `twins` names is replaced by what it says. */
export function copyOf<T>(original: T, twins: Map<unknown, unknown>): T {
  return copied(original, twins) as T;
}

function copied(value: unknown, twins: Map<unknown, unknown>): unknown {
  if (twins.has(value)) return twins.get(value);
  if (typeof value !== 'object' || value === null) return value;
  // A signal cannot be copied; it is aborted at a shutdown only, which copies do not live to see.
  if (value instanceof AbortSignal) return value;
  const copy = emptyCopy(value, twins);
  twins.set(value, copy);
  if (value instanceof Map) {
    for (const [key, entry] of value) (copy as typeof value).set(key, copied(entry, twins));
    return copy;
  }
  if (value instanceof Set) {
    for (const entry of value) (copy as typeof value).add(copied(entry, twins));
    return copy;
  }
  if (ArrayBuffer.isView(value) || value instanceof AbortController) return copy;
  for (const [name, member] of Object.entries(value)) {
    (copy as Record<string, unknown>)[name] = copied(member, twins);
  }
  return copy;
}

/** Of the same kind, and for views on the same, copied, memory. */
function emptyCopy(value: object, twins: Map<unknown, unknown>): object {
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (Array.isArray(value)) return [];
  if (value instanceof AbortController) return new AbortController();
  if (ArrayBuffer.isView(value)) {
    const { buffer } = value;
    if (!twins.has(buffer)) twins.set(buffer, buffer.slice(0));
    const View = value.constructor as new (memory: unknown) => object;
    return new View(twins.get(buffer));
  }
  return Object.create(Object.getPrototypeOf(value) as object) as object;
}
