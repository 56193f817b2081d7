/**
 * The highest token that this process was answered for each of its locks, which proves to a store
 * that it has lost data; and the most losses of data that the store knew of, which prove to one
 * that was left for it that it was.
 *
 * Promise: a bounded number of them. A token that is forgotten proves nothing, and the next one is
 * higher by its time.
 */
const COUNT_MAX = 1024;

export class SeenTokens {
  readonly #tokens = new Map<string, bigint>();

  era: number | undefined;

  of(lock: string): bigint {
    return this.#tokens.get(lock) ?? 0n;
  }

  note(lock: string, token: bigint, era: number): void {
    this.era = Math.max(this.era ?? 0, era);
    const known = this.of(lock);
    this.#tokens.delete(lock);
    this.#tokens.set(lock, token > known ? token : known);
    if (this.#tokens.size <= COUNT_MAX) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}
