/**
 * The locks of one process, in one file: who waits for which, and which are held.
 *
 * Guarantee: one caller of a lock at a time, in the order in which they came; after a shutdown
 * nobody waits, and nothing is held but by sections that did not end in time.
 */
import { randomUUID } from 'node:crypto';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { pause, withinLimit } from '../time/timers.js';
import { HeldSection } from './held-section.js';
import {
  LockAttempt,
  SeenTokens,
  started,
  type Stopwatch,
  type TwoClocks,
} from './lock-attempt.js';
import { closing, LockEvents, lockHeld, type LockCounts, type LossReason } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import type { LockStore } from './lock-store.js';

export interface HoldingsStatus {
  readonly held: readonly {
    readonly lock: string;
    readonly token: bigint;
    readonly heldMs: number;
    readonly leftMs: number;
  }[];
  /** How many callers wait, for their turn or for the store. */
  readonly waitingCount: number;
  readonly counts: LockCounts;
  /** All the time that callers have waited, in vain or not. */
  readonly waitedMs: number;
}

/** A caller, in line or asking the store. */
interface Waiting {
  readonly location: Place;
  stop?: AbortController;
  isOver: boolean;
}

export class Holdings {
  readonly events = new LockEvents();
  readonly #store: LockStore;
  readonly #terms: LockTerms;
  readonly #queue = new LocalQueue();
  readonly #seen: SeenTokens;
  readonly #streaks: OwnStreaks;
  readonly #held = new Map<HeldSection, Place>();
  readonly #waiting = new Set<Waiting>();
  readonly #background = new Set<Promise<unknown>>();
  readonly #onIdle: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(store: LockStore, terms: LockTerms) {
    this.#store = store;
    this.#terms = terms;
    this.#seen = new SeenTokens(terms.monotonic);
    this.#streaks = new OwnStreaks(terms, store.untilReleased !== undefined);
  }

  get status(): HoldingsStatus {
    const held = [...this.#held.keys()].map(({ lock, token, heldMs, leftMs }) => {
      return { lock, token, heldMs, leftMs };
    });
    const { counts, waitedMs } = this.events;
    return { held, waitingCount: this.#waiting.size, counts, waitedMs };
  }

  /** @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, NOT_READY; the reason of the signal */
  async acquire(lock: string, hold: HoldTerms): Promise<HeldSection> {
    if (this.#closing !== undefined) throw closing(lock);
    hold.signal?.throwIfAborted();
    const waiting: Waiting = { location: this.#queue.enter(lock), isOver: false };
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

  /** Never throws: what the store cannot be told is free after its ttl. */
  async release(section: HeldSection): Promise<void> {
    if (!this.#held.has(section)) return;
    const { lock, heldMs } = section;
    const isTold = await section.release();
    this.#streaks.noteReleased(lock, heldMs);
    if (this.#forget(section)) this.events.tell({ kind: 'released', lock, heldMs, isTold });
  }

  /** Resolves when nobody holds or waits for a lock, or after `drainMs`. */
  async drain(): Promise<void> {
    if (this.#isIdle) return;
    const { drainMs: ms, timers } = this.#terms;
    const idle = new Promise<void>((resolve) => void this.#onIdle.push(resolve));
    await withinLimit(idle, { ms, timers, over: () => undefined });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#closed());
  }

  async #closed(): Promise<void> {
    for (const waiting of this.#waiting) over(waiting);
    await this.drain();
    for (const section of this.#held.keys()) section.abandon();
    await this.#store.close?.();
  }

  async #inTurn(lock: string, hold: HoldTerms, waiting: Waiting): Promise<HeldSection> {
    const waited = started(this.#terms);
    const { location } = waiting;
    const [store, terms, seen] = [this.#store, this.#terms, this.#seen];
    try {
      if (!location.isFirst) await this.#turn(lock, hold, { location, waited });
      // Only who asks the store has one: of those in line there may be many thousands.
      const { signal } = (waiting.stop = new AbortController());
      if (waiting.isOver) over(waiting);
      await this.#othersFirst(lock, Math.ceil(hold.waitMs - waited()), signal);
      const inBackground = (told: Promise<unknown>) => this.#inBackground(told);
      const onPause = (waitMs: number) => this.events.tell({ kind: 'paused', lock, waitMs });
      const onLong = ({ heldMs }: HeldSection) => this.events.tell({ kind: 'long', lock, heldMs });
      const parts = { store, terms, seen, onPause, inBackground, holder: randomUUID() };
      const from = await new LockAttempt({ ...parts, lock, hold, waited, signal }).run();
      const section = new HeldSection({ store, terms, seen, lock, hold, onLong }, from);
      this.#held.set(section, location);
      section.signal.addEventListener('abort', () => this.#lost(section), { once: true });
      this.events.tell({ kind: 'acquired', lock, waitedMs: Math.floor(waited()) });
      return section;
    } catch (error) {
      location.leave();
      const isHeld = isSnowflakeError(error) && error.code === 'LOCK_HELD';
      const kind = isHeld ? 'refused' : 'unavailable';
      // Who ends the waiting is not refused.
      if (!waiting.isOver) this.events.tell({ kind, lock, waitedMs: Math.floor(waited()) });
      throw error;
    }
  }

  async #turn(
    lock: string,
    hold: HoldTerms,
    { location, waited }: { readonly location: Place; readonly waited: Stopwatch },
  ): Promise<void> {
    const ms = Math.ceil(hold.waitMs - waited());
    const { timers, label } = this.#terms;
    const late = timers.after(Math.max(0, ms), () => location.giveUp());
    const isTurn = ms > 0 && (await location.turn);
    timers.cancel(late);
    if (isTurn) return;
    const holder = [...this.#held.keys()].find((section) => section.lock === lock);
    throw lockHeld(lock, { label, leftMs: holder?.leftMs ?? 0 }, hold.waitMs);
  }

  async #othersFirst(lock: string, leftMs: number, signal: AbortSignal): Promise<void> {
    const ms = Math.min(this.#streaks.othersMs(lock), leftMs);
    if (ms > 0) await pause(this.#terms.timers, ms, signal);
  }

  /** Others get it by now, and so may the next one here. */
  #lost(section: HeldSection): void {
    this.#forget(section);
    const { reason } = (section.signal.reason as SnowflakeError).details;
    this.events.tell({ kind: 'lost', lock: section.lock, reason: reason as LossReason });
  }

  /** @returns false where it was forgotten before */
  #forget(section: HeldSection): boolean {
    this.#held.get(section)?.leave();
    const isKnown = this.#held.delete(section);
    this.#noteIdle();
    return isKnown;
  }

  /** Nobody waits for it but a shutdown. */
  #inBackground(told: Promise<unknown>): void {
    const { callTimeoutMs: ms, timers } = this.#terms;
    const end = withinLimit(told, { ms, timers, over: () => undefined })
      // What the store is not told is free after its ttl.
      .catch(() => undefined)
      .finally(() => {
        this.#background.delete(end);
        this.#noteIdle();
      });
    this.#background.add(end);
  }

  get #isIdle(): boolean {
    return this.#held.size + this.#waiting.size + this.#background.size === 0;
  }

  #noteIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

function over(waiting: Waiting, reason?: unknown): void {
  waiting.isOver = true;
  waiting.location.giveUp();
  waiting.stop?.abort(reason);
}

/**
 * Whoever wants the same lock in one process: one after another, in the order in which they came.
 *
 * Guarantee: one of them at a time asks the store or holds the lock; who leaves lets the next one
 * go.
 */
interface Place {
  /** True where nobody is before it. */
  readonly isFirst: boolean;
  /** Resolves to true when nobody is before it any more, or to false when it is given up. */
  readonly turn: Promise<boolean>;
  giveUp(): void;
  /** Once or more often. */
  leave(): void;
}

/** Lets one of them go, or says that it waits no more. */
type Wake = (isTurn: boolean) => void;

class LocalQueue {
  /** In the order in which they came; whoever leaves is found at once, however many there are. */
  readonly #queues = new Map<string, Set<Wake>>();

  enter(lock: string): Place {
    const queue = this.#queues.get(lock) ?? new Set();
    this.#queues.set(lock, queue);
    let wake: Wake = () => {};
    const turn = new Promise<boolean>((resolve) => (wake = resolve));
    queue.add(wake);
    if (firstOf(queue) === wake) wake(true);
    return {
      turn,
      giveUp: () => wake(false),
      leave: () => this.#leave(lock, queue, wake),
      get isFirst() {
        return firstOf(queue) === wake;
      },
    };
  }

  #leave(lock: string, queue: Set<Wake>, wake: Wake): void {
    const wasFirst = firstOf(queue) === wake;
    if (!queue.delete(wake)) return;
    if (wasFirst) firstOf(queue)?.(true);
    if (queue.size === 0 && this.#queues.get(lock) === queue) this.#queues.delete(lock);
  }
}

function firstOf(queue: ReadonlySet<Wake>): Wake | undefined {
  const [first] = queue;
  return first;
}

/*
 * For how long this process has had each lock over and over. Whoever releases a lock and wants it
 * again asks sooner than those who hear of it, or find out by asking.
 *
 * Guarantee: after half a second a process leaves the lock to others for a tenth of the time that
 * it had it, or for as long as others take who are told of a release.
 */

/** Shorter than anybody minds, and long enough that a pause costs little. */
const STREAK_MS = 500;
const SHARE = 1 / 10;
/** What others take who are told; who is not asks once in so long. */
const SHARE_MS_MAX = { told: 25, untold: 1000 };
const COUNT_MAX = 1024;

interface Streak {
  readonly hadMs: number;
  readonly released: Stopwatch;
}

class OwnStreaks {
  readonly #clocks: TwoClocks;
  readonly #shareMsMax: number;
  readonly #streaks = new Map<string, Streak>();

  /** @param isTold whether who waits is told of a release */
  constructor(clocks: TwoClocks, isTold: boolean) {
    this.#clocks = clocks;
    this.#shareMsMax = SHARE_MS_MAX[isTold ? 'told' : 'untold'];
  }

  noteReleased(lock: string, heldMs: number): void {
    const { hadMs = 0 } = this.#streaks.get(lock) ?? {};
    if (this.#streaks.size >= COUNT_MAX) this.#streaks.clear();
    this.#streaks.set(lock, { hadMs: hadMs + heldMs, released: started(this.#clocks) });
  }

  /** For how long whoever asks now lets others go first; once for each streak. */
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
