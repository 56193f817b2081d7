/**
 * The callers of one process. Each waits for its turn in the queue of its lock, then requests a
 * permit, then holds it. Each permit is a separate lock with its own lease and token. One file
 * contains all rules of fairness within a process and between processes.
 *
 * Guarantee: at most as many callers as there are permits (one without permits) send requests or
 * hold the lock, in order of arrival. A caller requests one permit at a time, and the next one only
 * after the store has reported this one as held, so it never holds two. No two callers request the
 * same permit, and a released permit goes to the caller that has waited longest. A process that
 * releases a lock and wants it again would be faster than processes that wait for the release.
 * After half a second of use it therefore pauses for a tenth of that time, but no longer than the
 * others need for a request.
 */
import { started, type Stopwatch } from '../core/clock.js';
import type { SnowflakeError } from '../errors.js';
import { FewInATurn } from '../time/line.js';
import type { LockTerms } from './lock-options.js';
import { permitName, type LockRefusal } from './lock-store.js';

/** The callers of one lock. */
class Line {
  /** In order of arrival; a Set removes a caller in constant time. */
  readonly places = new Set<Place>();
  /** The callers that request a permit. */
  readonly searching = new Set<Place>();
  /** The permits that callers hold or request. */
  readonly taken = new Set<number>();
  /** The permits that this process leaves to other processes for a moment. */
  readonly left = new Set<number>();
  /** Callers whose time is over, with the responses to other callers that they still wait for. */
  readonly awaiting = new Map<(answer: StoreAnswer) => void, (answer: StoreAnswer) => boolean>();
  /** The store's last refusal of a caller that still sends requests. */
  answer: StoreAnswer | undefined;

  constructor(readonly lock: string) {}
}

/** The store's response; without an error, the store has granted the lock. */
export interface StoreAnswer {
  readonly error?: SnowflakeError | undefined;
}

/** A delay this short is harmless, and a pause after it costs little. */
const STREAK_MS = 500;
const SHARE = 1 / 10;
/** Other processes send a request within this time of a release, notified or by polling. */
const SHARE_MS_MAX = { notified: 25, polling: 1000 };
const COUNT_MAX = 1024;

export class LocalQueue {
  readonly #terms: LockTerms;
  readonly #shareMsMax: number;
  readonly #lines = new Map<string, Line>();
  readonly #going = new FewInATurn();
  readonly #streaks = new Map<string, { hadMs: number; released: Stopwatch }>();

  /** @param isNotified whether waiting processes are notified of a release */
  constructor(terms: LockTerms, isNotified: boolean) {
    this.#terms = terms;
    this.#shareMsMax = SHARE_MS_MAX[isNotified ? 'notified' : 'polling'];
  }

  enter(lock: string, permits: number): Place {
    const line = this.#lines.get(lock) ?? new Line(lock);
    this.#lines.set(lock, line);
    const place = new Place(line, permits, this.#terms.random);
    line.places.add(place);
    return place;
  }

  /** The time for which a caller lets other processes go first; once for each streak. */
  othersMs(lock: string): number {
    const streak = this.#streaks.get(lock);
    if (streak === undefined) return 0;
    const { hadMs, released } = streak;
    const leftMs = Math.ceil(Math.min(hadMs * SHARE, this.#shareMsMax) - released());
    if (leftMs > 0 && hadMs < STREAK_MS) return 0;
    this.#streaks.delete(lock);
    return leftMs;
  }

  #noteReleased(lock: string, heldMs: number): void {
    const { hadMs = 0 } = this.#streaks.get(lock) ?? {};
    if (this.#streaks.size >= COUNT_MAX) this.#streaks.clear();
    this.#streaks.set(lock, { hadMs: hadMs + heldMs, released: started(this.#terms) });
  }

  /** @param heldMs how long the caller has held the lock; absent if it never held it or lost it */
  leave(place: Place, heldMs?: number): void {
    const { line, permit } = place;
    const { lock, places, searching } = line;
    if (heldMs !== undefined) this.#noteReleased(lock, heldMs);
    places.delete(place);
    searching.delete(place);
    if (searching.size === 0) line.answer = undefined;
    if (permit !== undefined) this.#free(line, permit);
    let at = 0;
    for (const next of places) {
      if (at++ >= next.permits) break;
      const others = this.#going.next();
      if (others === undefined) next.wake(true);
      else void others.then(() => next.wake(true));
    }
    if (places.size === 0 && this.#lines.get(lock) === line) this.#lines.delete(lock);
  }

  /** A caller that waits for a permit leaves it to other processes first, as with a lock. */
  #free({ lock, searching, taken, left }: Line, permit: number): void {
    const isWaitedFor = [...searching].some((place) => place.take !== undefined);
    const ms = isWaitedFor ? this.othersMs(lock) : 0;
    const free = () => {
      taken.delete(permit);
      left.delete(permit);
      for (const place of searching) if (place.hand(permit)) return;
    };
    if (ms <= 0) return free();
    left.add(permit);
    this.#terms.timers.after(ms, free);
  }
}

/** One caller of a lock. */
export class Place {
  readonly line: Line;
  readonly permits: number;
  readonly #random: () => number;
  /** The permit that this caller requests or holds; undefined while other callers here have all. */
  permit: number | undefined;
  /** The reason why this caller has stopped waiting. */
  over: { readonly reason: unknown } | undefined;
  #stop: AbortController | undefined;
  /** Ends the wait for its turn. */
  wake: (isTurn: boolean) => void = () => undefined;
  /** The permits still to request in this round. */
  #left: number[] = [];
  /** The store's refusal for each held permit. */
  readonly #refusals = new Map<number, LockRefusal>();
  /** Present while this caller waits for a released permit. */
  take: ((permit: number) => void) | undefined;

  constructor(line: Line, permits: number, random: () => number) {
    [this.line, this.permits, this.#random] = [line, permits, random];
  }

  /** True if fewer callers are ahead in the queue than may hold the lock at once. */
  get isTurn(): boolean {
    let at = 0;
    for (const place of this.line.places) {
      if (at++ >= this.permits) return false;
      if (place === this) return true;
    }
    return false;
  }

  /** Resolves to true when its turn has come, or to false when it must stop waiting. */
  turn(): Promise<boolean> {
    return new Promise((resolve) => (this.wake = resolve));
  }

  /** Waits for the turn, or for the first response to earlier callers that ends the wait. */
  turnOrAnswer(isLast: (answer: StoreAnswer) => boolean): Promise<boolean | StoreAnswer> {
    const { answer, awaiting } = this.line;
    if (answer !== undefined && isLast(answer)) return Promise.resolve(answer);
    const given = new Promise<StoreAnswer>((resolve) => awaiting.set(resolve, isLast));
    return Promise.race([this.turn(), given]);
  }

  /** The response to this caller also applies to all callers whose time is over. */
  answered(error?: SnowflakeError): void {
    const { line } = this;
    line.answer = error && { error };
    for (const [give, isLast] of line.awaiting) {
      if (!isLast({ error })) continue;
      give({ error });
      line.awaiting.delete(give);
    }
  }

  /** Stops waiting, whatever this caller waits for. */
  end(reason: unknown): void {
    this.over ??= { reason };
    this.wake(false);
    this.#stop?.abort(reason);
  }

  throwIfOver(): void {
    if (this.over !== undefined) throw this.over.reason;
  }

  /** Only a caller that waits for the store needs a controller; many thousands may be queued. */
  get signal(): AbortSignal {
    this.#stop ??= new AbortController();
    if (this.over !== undefined) this.#stop.abort(this.over.reason);
    return this.#stop.signal;
  }

  /** Begins a round at a random permit: through all permits, or only for the released one. */
  begin(released?: number): void {
    this.line.searching.add(this);
    if (this.permit !== undefined) return;
    const { permits } = this;
    const first = permits === 1 ? 0 : Math.floor(this.#random() * permits);
    const all = Array.from({ length: permits }, (_, at) => ((first + at) % permits) + 1);
    this.#left = released === undefined ? all : [released];
    if (released === undefined) this.#refusals.clear();
    this.#next();
  }

  #next(): void {
    const { taken } = this.line;
    do this.permit = this.#left.shift();
    while (this.permit !== undefined && taken.has(this.permit));
    if (this.permit !== undefined) taken.add(this.permit);
  }

  /**
   * The store has reported that another holder has the permit.
   *
   * @returns false if another permit is left to request in this round
   */
  refused(answer: LockRefusal): boolean {
    this.#refusals.set(this.permit!, answer);
    this.line.taken.delete(this.permit!);
    this.#next();
    return this.permit === undefined;
  }

  /**
   * The refusal of the permit that is free next, with the highest token: a new token is a change.
   */
  get refusal(): LockRefusal | undefined {
    const refusals = [...this.#refusals.values()].toSorted((a, b) => a.leftMs - b.leftMs);
    const token = refusals.reduce((most, { token = 0n }) => (token > most ? token : most), 0n);
    return token === 0n ? refusals[0] : { ...refusals[0]!, token };
  }

  /** Resolves to a permit that was released in this process or announced by the store. */
  async untilReleased(
    announced: (name: string) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<number> {
    // A permit may have been released here since this caller's last request.
    this.#next();
    if (this.permit !== undefined) return this.permit;
    const here = new Promise<number>((resolve) => (this.take = resolve));
    signal.addEventListener('abort', () => (this.take = undefined), { once: true });
    const { lock, left } = this.line;
    const all = Array.from({ length: this.permits }, (_, at) => at + 1);
    // A permit left to other processes is free, and is passed on once their time is over.
    const told = all
      .filter((permit) => !left.has(permit))
      .map((permit) => announced(permitName(lock, permit)).then(() => permit));
    return Promise.race([here, ...told]);
  }

  /** @returns whether this caller takes a permit that this process has released */
  hand(permit: number): boolean {
    const { take } = this;
    if (permit > this.permits) return false;
    if (take === undefined) {
      // The caller requests another permit now, and this one next.
      if (!this.#left.includes(permit)) this.#left.unshift(permit);
      return false;
    }
    this.line.taken.add(permit);
    [this.permit, this.take] = [permit, undefined];
    take(permit);
    return true;
  }
}
