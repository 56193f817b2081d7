/**
 * Tells whether a client sent a value.
 *
 * Promise: true only if exactly this text, or the digits of the bigint, is in what was sent. A
 * number proves nothing, since numbers are too common. The search is bounded.
 */

/** More parts than a body of the usual size has. */
const PARTS_MAX = 100_000;

export function isSent(value: unknown, sent: readonly unknown[]): boolean {
  const text = textOf(value);
  if (text === undefined) return false;
  const open = [...sent];
  let left = PARTS_MAX;
  while (open.length > 0 && left > 0) {
    const part = open.pop();
    if (part === text) return true;
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    const parts = Array.isArray(part) ? (part as unknown[]) : Object.values(part);
    for (let at = 0; at < parts.length && left > 0; at++, left--) open.push(parts[at]);
  }
  return false;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // A larger bigint is no id, and its digits would take long to write.
  const isShort = typeof value === 'bigint' && BigInt.asIntN(128, value) === value;
  return isShort ? String(value) : undefined;
}
