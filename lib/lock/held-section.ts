/**
 * A lock while it is held: extended from time to time, and given up at its deadline whatever the
 * store does. Everything that can end it is in one file.
 *
 * Guarantee: the deadline counts from before the answered request left; `leftMs` and `assertHeld`
 * read the clocks themselves, even if no timer has fired since the process stood still.
 */
import { RetryDelay, withinLimit, type TimerHandle } from '../time/timers.js';
import { started, type HeldFrom, type SeenTokens, type Stopwatch } from './lock-attempt.js';
import { lockLost, tooSlow, type LossReason } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import type { ExtendAnswer, LockStore } from './lock-store.js';

/** The section that runs under a lock gets this. */
export interface LockSection {
  readonly lock: string;
  /** The fencing token: write it with all data, and refuse data with a lower one. */
  readonly token: bigint;
  /** Aborted with LOCK_LOST as soon as the lock is no longer held; for fetch and the like. */
  readonly signal: AbortSignal;
  /** The least time for which the lock is still held; 0 if it is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST; call it before a step that must not come too late */
  assertHeld(): void;
}

interface SectionParts {
  readonly store: LockStore;
  readonly terms: LockTerms;
  readonly seen: SeenTokens;
  readonly lock: string;
  readonly hold: HoldTerms;
  /** Is called when the lock is held for ten times its ttl, and each time that has doubled. */
  readonly onLong: (section: HeldSection) => void;
}

/** A section that runs for this many times its ttl may hang. */
const LONG_COUNT = 10;
/** The lock is extended when this part of its time is over. */
const EXTEND_AFTER = 1 / 3;

export class HeldSection implements LockSection {
  readonly lock: string;
  readonly token: bigint;
  readonly #parts: SectionParts;
  readonly #holder: string;
  readonly #era: number;
  readonly #abort = new AbortController();
  readonly #retry: RetryDelay;
  /** The time since it was acquired. */
  readonly #held: Stopwatch;
  #deadline: { readonly ttlMs: number; readonly passed: Stopwatch };
  #end: TimerHandle;
  #next: TimerHandle;
  #longMs: number;
  #isOver = false;
  #isAbandoned = false;
  #released: Promise<boolean> | undefined;

  constructor(parts: SectionParts, { holder, token, era, ttlMs, passed }: HeldFrom) {
    this.#parts = parts;
    this.lock = parts.lock;
    this.token = token;
    this.#holder = holder;
    this.#era = era;
    this.#held = passed;
    this.#deadline = { ttlMs, passed };
    this.#longMs = parts.hold.ttlMs * LONG_COUNT;
    this.#retry = new RetryDelay(parts.terms.random);
    this.#watchDeadline();
    this.#extendAfter(ttlMs * EXTEND_AFTER - passed());
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get leftMs(): number {
    if (this.#isOver) return 0;
    const { ttlMs, passed } = this.#deadline;
    return Math.max(0, Math.floor(Math.min(ttlMs - passed(), this.#allowedMs)));
  }

  /** The time for which its section may still run. */
  get #allowedMs(): number {
    return this.#parts.hold.holdAtMostMs - this.#held();
  }

  get heldMs(): number {
    return Math.floor(this.#held());
  }

  /** True until it is released or lost. */
  get isHeld(): boolean {
    return this.leftMs > 0;
  }

  assertHeld(): void {
    if (this.leftMs > 0) return;
    this.#runOut();
    this.signal.throwIfAborted();
    throw lockLost(this.lock, this.token, 'released');
  }

  /** @returns whether the store has confirmed it */
  release(): Promise<boolean> {
    return (this.#released ??= this.#release());
  }

  async #release(): Promise<boolean> {
    this.#stop();
    const { lock, store, hold, terms } = this.#parts;
    const keepMs = Math.max(0, hold.holdAtLeastMs - this.heldMs);
    const request = { lock, holder: this.#holder, token: this.token };
    const { callTimeoutMs: ms, timers } = terms;
    const call = (async () => {
      await store.release({ ...request, ...(keepMs > 0 && { keepMs }) });
      return true;
    })();
    // A lock that the store could not release is free after its ttl.
    return withinLimit(call, { ms, timers, over: () => false }).catch(() => false);
  }

  /**
   * Stops extending it; the section learns of its end when its time is over, if the process still
   * runs then.
   */
  abandon(): void {
    if (this.#isOver) return;
    this.#parts.terms.timers.cancel(this.#next);
    this.#isAbandoned = true;
    this.#watchDeadline();
  }

  #watchDeadline(): void {
    const { timers } = this.#parts.terms;
    timers.cancel(this.#end);
    const look = () => {
      if (this.leftMs > 0) this.#watchDeadline();
      else this.#runOut();
    };
    const ms = Math.max(1, this.leftMs);
    // A repeated timer keeps no process alive that has ended everything else.
    this.#end = this.#isAbandoned ? timers.every(ms, look) : timers.after(ms, look);
  }

  #extendAfter(ms: number): void {
    const { timers } = this.#parts.terms;
    timers.cancel(this.#next);
    this.#next = timers.after(Math.max(1, Math.ceil(ms)), () => void this.#extend());
  }

  async #extend(): Promise<void> {
    const { lock, store, hold, terms, seen, onLong } = this.#parts;
    if (this.leftMs <= 0) return this.#runOut();
    if (this.heldMs >= this.#longMs) {
      this.#longMs *= 2;
      onLong(this);
    }
    const passed = started(terms);
    const own = { holder: this.#holder, token: this.token, era: this.#era };
    const request = { lock, ...own, ttlMs: hold.ttlMs, highest: seen.highest };
    const call = (async () => {
      // However late an answer comes, it holds from the moment of the request.
      this.#apply(await store.extend(request), passed);
      return true;
    })();
    const { callTimeoutMs: ms, timers } = terms;
    const over = (): never => {
      throw tooSlow(lock, ms);
    };
    // After a failure the store is asked again until the deadline, which no failure moves.
    const isAnswered = await withinLimit(call, { ms, timers, over }).catch(() => false);
    if (this.#isOver || this.#isAbandoned) return;
    if (isAnswered) this.#retry.reset();
    const againMs = isAnswered ? hold.ttlMs * EXTEND_AFTER - passed() : this.#retry.next();
    this.#extendAfter(againMs);
  }

  #apply(answer: ExtendAnswer, passed: Stopwatch): void {
    if (this.#isOver) return;
    if (answer.status !== 'ok') return this.#lose('store');
    // After the deadline an answer comes too late: `leftMs` has already said that the lock is lost.
    if (this.leftMs <= 0) return this.#runOut();
    const { ttlMs } = answer;
    if (ttlMs - passed() <= this.leftMs) return;
    this.#deadline = { ttlMs, passed };
    this.#watchDeadline();
  }

  #runOut(): void {
    this.#lose(this.#allowedMs <= 0 ? 'limit' : 'time');
  }

  #lose(reason: LossReason): void {
    if (this.#isOver) return;
    this.#stop();
    this.#abort.abort(lockLost(this.lock, this.token, reason));
  }

  #stop(): void {
    this.#isOver = true;
    const { timers } = this.#parts.terms;
    timers.cancel(this.#end);
    timers.cancel(this.#next);
  }
}
