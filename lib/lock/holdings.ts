/**
 * The locks of one process: the held locks and the waiting callers.
 *
 * Guarantee: callers of a lock proceed one at a time, in order of arrival. After a shutdown no
 * caller waits, and only sections that did not end in time hold a lock.
 */
import { started, type Stopwatch } from '../core/clock.js';
import { isSnowflakeError } from '../errors.js';
import { FewInATurn } from '../time/line.js';
import { BySignal, pause, withinLimit } from '../time/timers.js';
import { HeldSection } from './held-section.js';
import { LocalQueue, type Place, type StoreAnswer } from './local-queue.js';
import { LockAttempt, LockCalls } from './lock-attempt.js';
import { closing, LockEvents, lockHeld, type LockCounts } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import type { LockStore } from './lock-store.js';

export interface HoldingsStatus {
  readonly held: readonly Pick<HeldSection, 'lock' | 'permit' | 'token' | 'heldMs' | 'leftMs'>[];
  /** The number of callers that wait for their turn or for the store. */
  readonly waitingCount: number;
  readonly counts: LockCounts;
  /** The total time that callers have waited, with or without success. */
  readonly waitedMs: number;
}

export class Holdings {
  readonly events = new LockEvents();
  readonly calls: LockCalls;
  readonly #queue: LocalQueue;
  readonly #held = new Set<HeldSection>();
  readonly #waiting = new Set<Place>();
  readonly #bySignal = new BySignal<{ place: Place; signal?: AbortSignal | undefined }>(
    ({ place }, reason) => place.end(reason),
  );
  readonly #comers = new FewInATurn();
  #comingCount = 0;
  /** Calls that only a shutdown awaits. */
  #backgroundCount = 0;
  readonly #onIdle: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(store: LockStore, terms: LockTerms) {
    this.calls = new LockCalls(store, terms);
    this.#queue = new LocalQueue(terms, store.untilReleased !== undefined);
  }

  get status(): HoldingsStatus {
    const held = [...this.#held].map(({ lock, permit, token, heldMs, leftMs }) => {
      return { lock, permit, token, heldMs, leftMs };
    });
    const { counts, waitedMs } = this.events;
    return { held, waitingCount: this.#waitingCount, counts: { ...counts }, waitedMs };
  }

  get #waitingCount(): number {
    return this.#waiting.size + this.#comingCount;
  }

  /**
   * Every caller enters here. If many arrive together, most enter in later turns of the event loop.
   */
  come<T>(enter: () => Promise<T>): Promise<T> {
    const others = this.#comers.next();
    if (others === undefined) return enter();
    this.#comingCount++;
    return others.then(() => {
      this.#comingCount--;
      try {
        return enter();
      } finally {
        // A caller that is refused at once does nothing more.
        this.#noteIdle();
      }
    });
  }

  /** @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, NOT_READY; the reason of the signal */
  async acquire(lock: string, hold: HoldTerms): Promise<HeldSection> {
    if (this.#closing !== undefined) throw closing(lock);
    hold.signal?.throwIfAborted();
    const place = this.#queue.enter(lock, hold.permits);
    const caller = { place, signal: hold.signal };
    this.#bySignal.add(caller);
    this.#waiting.add(place);
    const waited = started(this.calls.terms);
    try {
      const section = await this.#inTurn(hold, place, waited);
      this.#held.add(section);
      this.events.notify({ kind: 'acquired', lock, waitedMs: Math.floor(waited()) });
      return section;
    } catch (error) {
      this.#queue.leave(place);
      // A caller that ended its own wait was not refused.
      place.throwIfOver();
      const isHeld = isSnowflakeError(error) && error.code === 'LOCK_HELD';
      const kind = isHeld ? 'refused' : 'unavailable';
      this.events.notify({ kind, lock, waitedMs: Math.floor(waited()) });
      throw error;
    } finally {
      this.#bySignal.remove(caller);
      this.#waiting.delete(place);
      this.#noteIdle();
    }
  }

  /**
   * Acquires several locks in the given order; if one is refused, it releases those before.
   *
   * @throws SnowflakeError like `acquire`; LOCK_LOST if one lock was lost during the wait for
   *   others
   */
  async acquireAll(locks: readonly string[], hold: HoldTerms): Promise<HeldSection[]> {
    const waited = started(this.calls.terms);
    const sections: HeldSection[] = [];
    try {
      for (const lock of locks) {
        const waitMs = Math.max(0, Math.ceil(hold.waitMs - waited()));
        sections.push(await this.acquire(lock, { ...hold, waitMs }));
      }
      for (const section of sections) section.assertHeld();
      return sections;
    } catch (error) {
      await Promise.all(sections.map((section) => section.release()));
      throw error;
    }
  }

  /**
   * Resolves when no caller holds or waits for a lock, or after `ms`.
   *
   * @returns the rest of that time
   */
  async drain(ms = this.calls.terms.drainMs): Promise<number> {
    if (this.#isIdle) return ms;
    const { terms } = this.calls;
    const passed = started(terms);
    const idle = new Promise<void>((resolve) => void this.#onIdle.push(resolve));
    await withinLimit(idle, { ms, timers: terms.timers, over: () => undefined });
    return Math.max(0, Math.floor(ms - passed()));
  }

  close(drainMs?: number): Promise<void> {
    return (this.#closing ??= this.#close(drainMs));
  }

  async #close(drainMs?: number): Promise<void> {
    for (const place of this.#waiting) place.end(closing(place.line.lock));
    await this.drain(drainMs);
    for (const section of this.#held) section.abandon();
    await this.calls.close();
  }

  async #inTurn(hold: HoldTerms, place: Place, waited: Stopwatch): Promise<HeldSection> {
    const { lock } = place.line;
    if (!place.isTurn) await this.#turn(place, hold, waited);
    const ms = Math.min(this.#queue.othersMs(lock), Math.ceil(hold.waitMs - waited()));
    if (ms > 0) await pause(this.calls.terms.timers, ms, place.signal);
    const parts = { calls: this.calls, events: this.events, lock, hold };
    const inBackground = (call: Promise<unknown>) => void this.#inBackground(call);
    const from = await new LockAttempt({ ...parts, place, waited, inBackground }).run();
    const onEnd = (section: HeldSection, heldMs?: number) => {
      this.#queue.leave(place, heldMs);
      this.#held.delete(section);
      this.#noteIdle();
    };
    return new HeldSection({ ...parts, onEnd }, from);
  }

  async #turn(place: Place, hold: HoldTerms, waited: Stopwatch): Promise<void> {
    const { lock } = place.line;
    const { timers, label } = this.calls.terms;
    const ms = Math.ceil(hold.waitMs - waited());
    const late = timers.after(Math.max(0, ms), () => place.wake(false));
    const isTurn = ms > 0 && (await place.turn());
    timers.cancel(late);
    if (isTurn) return;
    const holders = [...this.#held].filter((section) => section.lock === lock);
    // Waits out a pause of the store if this caller would do so at the head of the queue.
    const isLast = ({ error }: StoreAnswer) =>
      !(waited() + Number(error?.details['waitMs']) <= hold.waitMs + (hold.pauseMs ?? 0));
    // An earlier caller has a request at the store, and its response applies to this caller too.
    const told = holders.length < place.permits && (await place.turnOrAnswer(isLast));
    if (told === true) return;
    const own = { label, leftMs: holders[0]?.leftMs ?? 0 };
    throw (told && told.error) || lockHeld(lock, own, hold.waitMs);
  }

  async #inBackground(call: Promise<unknown>): Promise<void> {
    this.#backgroundCount++;
    // A lock that the store could not release is free after its ttl.
    await call.catch(() => undefined);
    this.#backgroundCount--;
    this.#noteIdle();
  }

  get #isIdle(): boolean {
    return this.#held.size + this.#waitingCount + this.#backgroundCount === 0;
  }

  #noteIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
