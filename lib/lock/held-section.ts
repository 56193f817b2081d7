/**
 * A lock while it is held: extended from time to time, and given up at its deadline whatever the
 * store does. All that can end it is in one file.
 *
 * Guarantee: the deadline counts from before the request left that the store answered; `leftMs` and
 * `assertHeld` look at the clocks themselves, also where no timer has fired since the process stood
 * still.
 */
import { RetryDelay, withinLimit, type TimerHandle } from '../time/timers.js';
import { started, type HeldFrom, type SeenTokens, type Stopwatch } from './lock-attempt.js';
import { lockLost, tooSlow, type LossReason } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import type { ExtendAnswer, LockStore } from './lock-store.js';

/** What is handed to whoever runs under a lock. */
export interface LockSection {
  readonly lock: string;
  /** The fencing token: write it with whatever is written, and refuse what has a lower one. */
  readonly token: bigint;
  /** Aborted with LOCK_LOST as soon as the lock is no longer held; for fetch and the like. */
  readonly signal: AbortSignal;
  /** For how long the lock is held at least; 0 where it is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST; to be called before what must not come too late */
  assertHeld(): void;
}

interface SectionParts {
  readonly store: LockStore;
  readonly terms: LockTerms;
  readonly seen: SeenTokens;
  readonly lock: string;
  readonly hold: HoldTerms;
  /** Told that it is held for ten times its ttl, and each time that has doubled. */
  readonly onLong: (section: HeldSection) => void;
}

/** After so many times its ttl a section may hang. */
const LONG_COUNT = 10;
/** Extended when a third of its time is over. */
const EXTEND_AFTER = 1 / 3;

export class HeldSection implements LockSection {
  readonly lock: string;
  readonly token: bigint;
  readonly #parts: SectionParts;
  readonly #holder: string;
  readonly #era: number;
  readonly #abort = new AbortController();
  readonly #retry: RetryDelay;
  /** Since it was acquired. */
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

  /** For how long its section may still run. */
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

  /** @returns whether the store has heard of it */
  release(): Promise<boolean> {
    return (this.#released ??= this.#release());
  }

  async #release(): Promise<boolean> {
    this.#stop();
    const { lock, store, hold, terms } = this.#parts;
    const keepMs = Math.max(0, hold.holdAtLeastMs - this.heldMs);
    const request = { lock, holder: this.#holder, token: this.token };
    const { callTimeoutMs: ms, timers } = terms;
    const told = (async () => {
      await store.release({ ...request, ...(keepMs > 0 && { keepMs }) });
      return true;
    })();
    // A lock of which the store is not told is free after its ttl.
    return withinLimit(told, { ms, timers, over: () => false }).catch(() => false);
  }

  /** It is no longer extended, and whoever runs under it hears of its end when its time is over. */
  abandon(): void {
    this.#parts.terms.timers.cancel(this.#next);
    this.#isAbandoned = true;
  }

  #watchDeadline(): void {
    const { timers } = this.#parts.terms;
    timers.cancel(this.#end);
    this.#end = timers.after(Math.max(1, this.leftMs), () => {
      if (this.leftMs > 0) this.#watchDeadline();
      else this.#runOut();
    });
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
    const asked = (async () => {
      // However late an answer comes, it is true of the moment at which it was asked for.
      this.#heard(await store.extend(request), passed);
      return true;
    })();
    const { callTimeoutMs: ms, timers } = terms;
    const over = (): never => {
      throw tooSlow(lock, ms);
    };
    // It is asked again until the deadline, which no failure moves.
    const isAnswered = await withinLimit(asked, { ms, timers, over }).catch(() => false);
    if (this.#isOver || this.#isAbandoned) return;
    if (isAnswered) this.#retry.reset();
    const againMs = isAnswered ? hold.ttlMs * EXTEND_AFTER - passed() : this.#retry.next();
    this.#extendAfter(againMs);
  }

  #heard(answer: ExtendAnswer, passed: Stopwatch): void {
    if (this.#isOver) return;
    if (answer.status !== 'ok') return this.#lose('store');
    // What comes after the deadline comes too late: whoever looked then was told that it is lost.
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
