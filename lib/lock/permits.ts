/**
 * Permits: a lock that several callers may hold at once. Each permit is a lock of its own, with a
 * lease and a token of its own; this is what a process knows of them.
 *
 * Guarantee: an attempt asks for one permit at a time, and for another one only after the store has
 * said that this one is held, so that it never has two. Callers of one process never ask for the
 * same permit, and the one that has waited longest gets what another one releases.
 */
import { permitName, type LockRefusal } from './lock-store.js';

/** The permits that this process holds or asks for, and the attempts that look for one. */
export class LocalPermits {
  /** By the names of their locks. */
  readonly #taken = new Set<string>();
  /** By lock, in the order in which they came. */
  readonly #searches = new Map<string, Set<PermitSearch>>();

  /** @param random is asked for the first permit of each round, unless there is only one */
  search(lock: string, permits: number, random: () => number): PermitSearch {
    const searches = this.#searches.get(lock) ?? new Set();
    this.#searches.set(lock, searches);
    const search = new PermitSearch({ local: this, lock, permits, random });
    searches.add(search);
    return search;
  }

  /** @returns false if another caller of this process holds it or asks for it */
  take(name: string): boolean {
    const isFree = !this.#taken.has(name);
    this.#taken.add(name);
    return isFree;
  }

  /** Another process holds it. */
  drop(name: string): void {
    this.#taken.delete(name);
  }

  /** Nobody in this process holds it any more: the next one here may ask for it. */
  free(lock: string, permit: number): void {
    this.drop(permitName(lock, permit));
    for (const search of this.#searches.get(lock) ?? []) if (search.hand(permit)) return;
  }

  isWaitedFor(lock: string): boolean {
    return [...(this.#searches.get(lock) ?? [])].some(({ isWaiting }) => isWaiting);
  }

  leave(lock: string, search: PermitSearch): void {
    const searches = this.#searches.get(lock);
    searches?.delete(search);
    if (searches?.size === 0) this.#searches.delete(lock);
  }
}

interface SearchParts {
  readonly local: LocalPermits;
  readonly lock: string;
  readonly permits: number;
  readonly random: () => number;
}

/** The way of one attempt through the permits of a lock, in rounds that begin anywhere. */
export class PermitSearch {
  readonly #parts: SearchParts;
  /** The permits that are still to be asked for in this round. */
  #left: number[] = [];
  #current: number | undefined;
  /** What the store has said of each permit that is held. */
  readonly #refusals = new Map<number, LockRefusal>();
  #wake: ((permit: number) => void) | undefined;
  /** Was released here while this attempt asked for another one. */
  #missed: number | undefined;

  constructor(parts: SearchParts) {
    this.#parts = parts;
    this.begin();
  }

  /** The permit to ask for; undefined while others of this process have or ask for all. */
  get permit(): number | undefined {
    return this.#current;
  }

  get isWaiting(): boolean {
    return this.#wake !== undefined;
  }

  /** Begins a round: through all permits, or for the one that was released. */
  begin(released?: number): void {
    if (this.#current !== undefined) return;
    const { permits, random } = this.#parts;
    const first = permits === 1 ? 0 : Math.floor(random() * permits);
    const all = Array.from({ length: permits }, (_, at) => ((first + at) % permits) + 1);
    this.#left = released === undefined ? all : [released];
    if (released === undefined) this.#refusals.clear();
    this.#next();
  }

  #next(): void {
    const { local, lock } = this.#parts;
    this.#current = undefined;
    for (let permit = this.#left.shift(); permit !== undefined; permit = this.#left.shift()) {
      if (!local.take(permitName(lock, permit))) continue;
      this.#current = permit;
      return;
    }
  }

  /**
   * The store has said that another one holds the permit.
   *
   * @returns false if another one is left to ask for in this round
   */
  refused(answer: LockRefusal): boolean {
    const { local, lock } = this.#parts;
    const permit = this.#current!;
    this.#refusals.set(permit, answer);
    local.drop(permitName(lock, permit));
    this.#next();
    return this.#current === undefined;
  }

  /** The refusal of the permit that is free next, with the highest token: a new one is a change. */
  get refusal(): LockRefusal | undefined {
    const [first, ...others] = [...this.#refusals.values()].toSorted((a, b) => a.leftMs - b.leftMs);
    if (first === undefined) return undefined;
    const tokens = [first, ...others].map(({ token = 0n }) => token);
    const token = tokens.reduce((highest, one) => (one > highest ? one : highest));
    return token === 0n ? first : { ...first, token };
  }

  /** Resolves to a permit that was released: here, or by the word of the store. */
  async untilReleased(
    announced: (name: string) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<number> {
    const { lock, permits } = this.#parts;
    const here = new Promise<number>((resolve) => (this.#wake = resolve));
    const end = () => (this.#wake = undefined);
    signal.addEventListener('abort', end, { once: true });
    if (this.#missed !== undefined) this.hand(this.#missed);
    const told = Array.from({ length: permits }, async (_, at) => {
      await announced(permitName(lock, at + 1));
      return at + 1;
    });
    return Promise.race([here, ...told]);
  }

  /** @returns whether it takes a permit that this process has released */
  hand(permit: number): boolean {
    const { local, lock, permits } = this.#parts;
    if (permit > permits) return false;
    const wake = this.#wake;
    this.#missed = wake === undefined ? permit : undefined;
    if (wake === undefined || !local.take(permitName(lock, permit))) return false;
    this.#wake = undefined;
    this.#left = [];
    this.#current = permit;
    wake(permit);
    return true;
  }

  /** The attempt has ended: what it holds stays taken. */
  leave(): void {
    this.#parts.local.leave(this.#parts.lock, this);
  }

  /** The attempt has ended without a permit. */
  end(): void {
    const { local, lock } = this.#parts;
    this.leave();
    this.#wake = undefined;
    if (this.#current !== undefined) local.free(lock, this.#current);
  }
}
