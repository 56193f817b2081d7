/**
 * The highest token that this process was answered for each of its locks, which proves to a store
 * that it has lost data; and the most losses of data that the store knew of, which prove to one
 * that was left for it that it was. The highest of all proves that the store's clock was there.
 *
 * Promise: a bounded number of them. A token that is forgotten proves nothing, and the next one is
 * higher by its time.
 */
import type { Clock } from '../../core/clock.js';
import type { HighestToken, LockGrant } from '../lock-store.js';

const COUNT_MAX = 1024;

export class SeenTokens {
  readonly #tokens = new Map<string, bigint>();
  readonly #monotonic: Clock;
  #highest: { readonly token: bigint; readonly atMs: number } | undefined;

  era: number | undefined;

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** When something is asked for, as note() wants it. */
  get nowMs(): number {
    return this.#monotonic.now();
  }

  get highest(): HighestToken | undefined {
    if (this.#highest === undefined) return undefined;
    const { token, atMs } = this.#highest;
    return { token, ageMs: Math.max(0, Math.ceil(this.nowMs - atMs)) };
  }

  of(lock: string): bigint {
    return this.#tokens.get(lock) ?? 0n;
  }

  note(lock: string, { token, era }: Pick<LockGrant, 'token' | 'era'>, askedAtMs: number): void {
    if (token > (this.#highest?.token ?? 0n)) this.#highest = { token, atMs: askedAtMs };
    this.era = Math.max(this.era ?? 0, era);
    const known = this.of(lock);
    this.#tokens.delete(lock);
    this.#tokens.set(lock, token > known ? token : known);
    if (this.#tokens.size <= COUNT_MAX) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}
