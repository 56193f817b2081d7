/**
 * The locks of one process, in one file: those that are held, and the callers that wait.
 *
 * Guarantee: one caller of a lock at a time, in the order in which they came. After a shutdown no
 * caller waits, and only sections that did not end in time hold a lock.
 */
import { randomUUID } from 'node:crypto';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { pause, turn, withinLimit } from '../time/timers.js';
import { HeldSection } from './held-section.js';
import {
  CallLine,
  LockAttempt,
  SeenTokens,
  started,
  type Stopwatch,
  type TwoClocks,
} from './lock-attempt.js';
import { closing, LockEvents, lockHeld, type LockCounts, type LossReason } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import type { LockStore } from './lock-store.js';
import { LocalPermits } from './permits.js';

export interface HoldingsStatus {
  readonly held: readonly {
    readonly lock: string;
    readonly permit: number;
    readonly token: bigint;
    readonly heldMs: number;
    readonly leftMs: number;
  }[];
  /** The number of callers that wait, for their turn or for the store. */
  readonly waitingCount: number;
  readonly counts: LockCounts;
  /** The total time that callers have waited, in vain or not. */
  readonly waitedMs: number;
}

interface Waiting {
  readonly ticket: Ticket;
  stop?: AbortController;
  isOver: boolean;
}

export class Holdings {
  readonly events = new LockEvents();
  readonly #store: LockStore;
  readonly #terms: LockTerms;
  readonly #queue = new LocalQueue();
  readonly #permits = new LocalPermits();
  readonly #seen: SeenTokens;
  readonly #streaks: OwnStreaks;
  readonly #line: CallLine;
  readonly #held = new Map<HeldSection, Ticket>();
  readonly #waiting = new Set<Waiting>();
  readonly #comers = new FewInATurn();
  #comingCount = 0;
  readonly #background = new Set<Promise<unknown>>();
  readonly #onIdle: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(store: LockStore, terms: LockTerms) {
    this.#store = store;
    this.#terms = terms;
    this.#seen = new SeenTokens(terms.monotonic);
    this.#line = new CallLine(terms);
    this.#streaks = new OwnStreaks(terms, store.untilReleased !== undefined);
  }

  get status(): HoldingsStatus {
    const held = [...this.#held.keys()].map((section) => {
      const { lock, permit, token, heldMs, leftMs } = section;
      return { lock, permit, token, heldMs, leftMs };
    });
    const { counts, waitedMs } = this.events;
    return { held, waitingCount: this.#waitingCount, counts, waitedMs };
  }

  get #waitingCount(): number {
    return this.#waiting.size + this.#comingCount;
  }

  /**
   * Each caller comes by it; of many that come at once, most in later turns of the event loop, and
   * they cost no more than this until then.
   */
  come<T>(enter: () => Promise<T>): Promise<T> {
    const others = this.#comers.next();
    if (others === undefined) return enter();
    this.#comingCount++;
    return others.then(() => {
      this.#comingCount--;
      const entered = enter();
      // Those that a shutdown refuses do nothing more.
      this.#noteIdle();
      return entered;
    });
  }

  /** @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, NOT_READY; the reason of the signal */
  async acquire(lock: string, hold: HoldTerms): Promise<HeldSection> {
    if (this.#closing !== undefined) throw closing(lock);
    hold.signal?.throwIfAborted();
    const waiting: Waiting = { ticket: this.#queue.enter(lock, hold.permits), isOver: false };
    const end = () => over(waiting, hold.signal?.reason);
    hold.signal?.addEventListener('abort', end, { once: true });
    this.#waiting.add(waiting);
    try {
      return await this.#inTurn(lock, hold, waiting);
    } catch (error) {
      hold.signal?.throwIfAborted();
      throw waiting.isOver ? closing(lock) : error;
    } finally {
      hold.signal?.removeEventListener('abort', end);
      this.#waiting.delete(waiting);
      this.#noteIdle();
    }
  }

  /**
   * Takes several in the order that is given; if one is refused, those before it are released.
   *
   * @throws SnowflakeError like `acquire`; LOCK_LOST if one was lost while others were waited for
   */
  async acquireAll(locks: readonly string[], hold: HoldTerms): Promise<HeldSection[]> {
    const waited = started(this.#terms);
    const sections: HeldSection[] = [];
    try {
      for (const lock of locks) {
        const waitMs = Math.max(0, Math.ceil(hold.waitMs - waited()));
        sections.push(await this.acquire(lock, { ...hold, waitMs }));
      }
      for (const section of sections) section.assertHeld();
      return sections;
    } catch (error) {
      await Promise.all(sections.map((section) => this.release(section)));
      throw error;
    }
  }

  /** Never throws: if the store cannot be reached, the lock is free after its ttl. */
  async release(section: HeldSection): Promise<void> {
    if (!this.#held.has(section)) return;
    const { lock, heldMs } = section;
    const isConfirmed = await section.release();
    this.#streaks.noteReleased(lock, heldMs);
    if (this.#forget(section)) this.events.notify({ kind: 'released', lock, heldMs, isConfirmed });
  }

  /**
   * Resolves when no caller holds or waits for a lock, or after `ms`.
   *
   * @returns how much of that is left
   */
  async drain(ms = this.#terms.drainMs): Promise<number> {
    if (this.#isIdle) return ms;
    const passed = started(this.#terms);
    const idle = new Promise<void>((resolve) => void this.#onIdle.push(resolve));
    await withinLimit(idle, { ms, timers: this.#terms.timers, over: () => undefined });
    return Math.max(0, Math.floor(ms - passed()));
  }

  close(drainMs?: number): Promise<void> {
    return (this.#closing ??= this.#close(drainMs));
  }

  async #close(drainMs?: number): Promise<void> {
    for (const waiting of this.#waiting) over(waiting);
    await this.drain(drainMs);
    for (const section of this.#held.keys()) section.abandon();
    await this.#store.close?.();
  }

  async #inTurn(lock: string, hold: HoldTerms, waiting: Waiting): Promise<HeldSection> {
    const waited = started(this.#terms);
    const { ticket } = waiting;
    const [store, terms, seen, line] = [this.#store, this.#terms, this.#seen, this.#line];
    try {
      if (!ticket.isTurn) await this.#turn(lock, hold, { ticket, waited });
      // Only a caller that asks the store needs a controller; many thousands may be queueing.
      const { signal } = (waiting.stop = new AbortController());
      if (waiting.isOver) over(waiting);
      await this.#othersFirst(lock, Math.ceil(hold.waitMs - waited()), signal);
      const inBackground = (call: Promise<unknown>) => this.#inBackground(call);
      const onPause = (waitMs: number) => this.events.notify({ kind: 'paused', lock, waitMs });
      const onLong = ({ heldMs }: HeldSection) =>
        this.events.notify({ kind: 'long', lock, heldMs });
      const search = this.#permits.search(lock, hold.permits, terms.random);
      const asking = { store, terms, seen, line, search, onPause, inBackground };
      const parts = { ...asking, holder: randomUUID() };
      const from = await new LockAttempt({ ...parts, lock, hold, waited, signal }).run();
      const section = new HeldSection({ store, terms, seen, line, lock, hold, onLong }, from);
      this.#held.set(section, ticket);
      section.signal.addEventListener('abort', () => this.#lost(section), { once: true });
      this.events.notify({ kind: 'acquired', lock, waitedMs: Math.floor(waited()) });
      return section;
    } catch (error) {
      ticket.leave();
      const isHeld = isSnowflakeError(error) && error.code === 'LOCK_HELD';
      const kind = isHeld ? 'refused' : 'unavailable';
      // A caller that ended its waiting itself was not refused.
      if (!waiting.isOver) this.events.notify({ kind, lock, waitedMs: Math.floor(waited()) });
      throw error;
    }
  }

  async #turn(
    lock: string,
    hold: HoldTerms,
    { ticket, waited }: { readonly ticket: Ticket; readonly waited: Stopwatch },
  ): Promise<void> {
    const ms = Math.ceil(hold.waitMs - waited());
    const { timers, label } = this.#terms;
    const late = timers.after(Math.max(0, ms), () => ticket.giveUp());
    const isTurn = ms > 0 && (await ticket.turn);
    timers.cancel(late);
    if (isTurn) return;
    const holder = [...this.#held.keys()].find((section) => section.lock === lock);
    throw lockHeld(lock, { label, leftMs: holder?.leftMs ?? 0 }, hold.waitMs);
  }

  async #othersFirst(lock: string, leftMs: number, signal: AbortSignal): Promise<void> {
    const ms = Math.min(this.#streaks.othersMs(lock), leftMs);
    if (ms > 0) await pause(this.#terms.timers, ms, signal);
  }

  /** Another process may have it by now, and so may the next caller here. */
  #lost(section: HeldSection): void {
    this.#forget(section);
    const { reason } = (section.signal.reason as SnowflakeError).details;
    this.events.notify({ kind: 'lost', lock: section.lock, reason: reason as LossReason });
  }

  /** @returns false if it was forgotten before */
  #forget(section: HeldSection): boolean {
    const ticket = this.#held.get(section);
    const isKnown = this.#held.delete(section);
    if (isKnown) this.#freePermit(section);
    ticket?.leave();
    this.#noteIdle();
    return isKnown;
  }

  /** A caller of this process that waits for a permit leaves it to others, as for a lock. */
  #freePermit({ lock, permit }: HeldSection): void {
    const isWaitedFor = this.#permits.isWaitedFor(lock);
    const ms = isWaitedFor ? this.#streaks.othersMs(lock) : 0;
    const free = () => this.#permits.free(lock, permit);
    if (ms > 0) this.#terms.timers.after(ms, free);
    else free();
  }

  /** Only a shutdown waits for it. */
  #inBackground(call: Promise<unknown>): void {
    const { callTimeoutMs: ms, timers } = this.#terms;
    const end = withinLimit(call, { ms, timers, over: () => undefined })
      // A lock that the store could not release is free after its ttl.
      .catch(() => undefined)
      .finally(() => {
        this.#background.delete(end);
        this.#noteIdle();
      });
    this.#background.add(end);
  }

  get #isIdle(): boolean {
    return this.#held.size + this.#waitingCount + this.#background.size === 0;
  }

  #noteIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

function over(waiting: Waiting, reason?: unknown): void {
  waiting.isOver = true;
  waiting.ticket.giveUp();
  waiting.stop?.abort(reason);
}

interface Ticket {
  /** True if fewer are before it in the queue than may hold the lock at once. */
  readonly isTurn: boolean;
  /** Resolves to true when it is its turn, or to false when it is given up. */
  readonly turn: Promise<boolean>;
  giveUp(): void;
  /** May be called more than once. */
  leave(): void;
}

interface Place {
  readonly permits: number;
  /** Lets a caller go on, or tells it to stop waiting. */
  wake(isTurn: boolean): void;
}

/**
 * Queues the callers of one process for the same lock, in the order in which they came.
 *
 * Guarantee: as many of them as there are permits, one without, ask the store or hold the lock;
 * leaving lets the next one go.
 */
class LocalQueue {
  /**
   * In the order in which they came; a Set finds one that leaves at once, however many there are.
   */
  readonly #queues = new Map<string, Set<Place>>();
  readonly #going = new FewInATurn();

  enter(lock: string, permits: number): Ticket {
    const queue = this.#queues.get(lock) ?? new Set();
    this.#queues.set(lock, queue);
    let place: Place;
    const turn = new Promise<boolean>((wake) => (place = { permits, wake }));
    queue.add(place!);
    if (isTurn(queue, place!)) place!.wake(true);
    return {
      turn,
      giveUp: () => place.wake(false),
      leave: () => this.#leave(lock, queue, place),
      get isTurn() {
        return isTurn(queue, place);
      },
    };
  }

  #leave(lock: string, queue: Set<Place>, own: Place): void {
    if (!queue.delete(own)) return;
    let at = 0;
    for (const place of queue) {
      if (at++ >= place.permits) break;
      const others = this.#going.next();
      if (others === undefined) place.wake(true);
      else void others.then(() => place.wake(true));
    }
    if (queue.size === 0 && this.#queues.get(lock) === queue) this.#queues.delete(lock);
  }
}

/** A turn of the event loop is over soon after them, even if none of them waits for a store. */
const TURN_COUNT = 16;

/** Lets thousands that come at once go on turn by turn, in the order in which they came. */
class FewInATurn {
  #leftCount = 0;
  /** The turn of those that come now; undefined for this one. */
  #own: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** Resolves in the turn of the caller; undefined if it is this one. */
  next(): Promise<void> | undefined {
    if (this.#leftCount === 0) this.#begin();
    this.#leftCount--;
    return this.#own;
  }

  #begin(): void {
    const next = (this.#next ?? Promise.resolve()).then(turn);
    [this.#leftCount, this.#own, this.#next] = [TURN_COUNT, this.#next, next];
    void next.then(() => {
      if (this.#next === next) [this.#leftCount, this.#next] = [0, undefined];
    });
  }
}

function isTurn(queue: ReadonlySet<Place>, own: Place): boolean {
  let at = 0;
  for (const place of queue) {
    if (at++ >= own.permits) return false;
    if (place === own) return true;
  }
  return false;
}

/*
 * The share of a lock that this process leaves to others. A process that releases a lock and wants
 * it again would otherwise ask sooner than processes that wait for the release.
 *
 * Guarantee: after half a second a process leaves the lock to others for a tenth of the time that
 * it had it, but no longer than they need to ask.
 */

/** A delay this short disturbs no one, and a pause after it costs little. */
const STREAK_MS = 500;
const SHARE = 1 / 10;
/** Others ask within this time of a release: those who are notified, and those who poll. */
const SHARE_MS_MAX = { notified: 25, polling: 1000 };
const COUNT_MAX = 1024;

interface Streak {
  readonly hadMs: number;
  readonly released: Stopwatch;
}

class OwnStreaks {
  readonly #clocks: TwoClocks;
  readonly #shareMsMax: number;
  readonly #streaks = new Map<string, Streak>();

  /** @param isNotified whether waiting processes are notified of a release */
  constructor(clocks: TwoClocks, isNotified: boolean) {
    this.#clocks = clocks;
    this.#shareMsMax = SHARE_MS_MAX[isNotified ? 'notified' : 'polling'];
  }

  noteReleased(lock: string, heldMs: number): void {
    const { hadMs = 0 } = this.#streaks.get(lock) ?? {};
    if (this.#streaks.size >= COUNT_MAX) this.#streaks.clear();
    this.#streaks.set(lock, { hadMs: hadMs + heldMs, released: started(this.#clocks) });
  }

  /** The time for which a caller lets others go first; once for each streak. */
  othersMs(lock: string): number {
    const streak = this.#streaks.get(lock);
    if (streak === undefined) return 0;
    const { hadMs, released } = streak;
    const leftMs = Math.ceil(Math.min(hadMs * SHARE, this.#shareMsMax) - released());
    if (leftMs > 0 && hadMs < STREAK_MS) return 0;
    this.#streaks.delete(lock);
    return leftMs;
  }
}
