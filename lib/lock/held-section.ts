/**
 * A lock while it is held: extended from time to time, and given up at its deadline whatever the
 * store does. Everything that can end it is in one file.
 *
 * Guarantee: the deadline counts from before the answered request left; `leftMs` and `assertHeld`
 * read the clocks themselves, even if no timer has fired since the process stood still.
 */
import { started, type Stopwatch } from '../core/clock.js';
import type { SnowflakeError } from '../errors.js';
import { refused } from '../options.js';
import { RetryDelay, type TimerHandle } from '../time/timers.js';
import type { HeldFrom, HoldParts } from './lock-attempt.js';
import { lockLost, unavailable, type LossReason } from './lock-events.js';
import { noteFaults, permitName, type ExtendAnswer } from './lock-store.js';

/** The section that runs under a lock gets this. */
export interface LockSection {
  readonly lock: string;
  /**
   * The number of the permit, from 1 to the `permits` of the lock; 1 without. Callers that hold the
   * lock at the same time have different ones.
   */
  readonly permit: number;
  /** The fencing token of this permit: write it with all data, and refuse a lower one. */
  readonly token: bigint;
  /** Aborted with LOCK_LOST as soon as the lock is no longer held; for fetch and the like. */
  readonly signal: AbortSignal;
  /** The least time for which the lock is still held; 0 if it is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST; call it before a step that must not come too late */
  assertHeld(): void;
  /** The note that a holder wrote last, this one included; undefined without one. */
  readonly note: string | undefined;
  /**
   * Replaces the note: 1 to 4000 characters, which the next holder finds. It outlives the lock by
   * 400 days, and does not outlive a loss of the store's data.
   *
   * @throws SnowflakeError LOCK_LOST, and it was not written; STORE_UNAVAILABLE if that is unknown;
   *   ARGUMENT_INVALID
   */
  writeNote(note: string): Promise<void>;
}

/** The section that runs under several locks at once gets this. */
export interface LockSections {
  /** Each name once, in the order in which they were taken. */
  readonly locks: readonly string[];
  /** The fencing token of each lock, by its name. */
  readonly tokens: ReadonlyMap<string, bigint>;
  /** Aborted with LOCK_LOST as soon as one of them is no longer held. */
  readonly signal: AbortSignal;
  /** The least time for which all are still held; 0 if one is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST of the first that is no longer held */
  assertHeld(): void;
}

/** A lock that is held until it is released, or lost. */
export interface AcquiredLock extends LockSection {
  /** The time of the store when it was granted, in Unix ms; undefined if it does not tell it. */
  readonly grantedAtMs: number | undefined;
  /** Never throws: if the store cannot be reached, the lock is free after its ttl. */
  release(): Promise<void>;
  /** Releases it, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Several locks that are held until they are released, or one is lost. */
export interface AcquiredLocks extends LockSections {
  /** Never throws: if the store cannot be reached, they are free after their ttl. */
  release(): Promise<void>;
  /** Releases them, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface SectionParts extends HoldParts {
  /** Is called once, with the time for which it was held if it was released and not lost. */
  readonly onEnd: (section: HeldSection, heldMs?: number) => void;
}

/** A section that runs for this many times its ttl may hang. */
const LONG_COUNT = 10;
/** The lock is extended when this part of its time is over. */
const EXTEND_AFTER = 1 / 3;

export class HeldSection implements AcquiredLock {
  readonly lock: string;
  readonly permit: number;
  readonly token: bigint;
  readonly grantedAtMs: number | undefined;
  readonly #parts: SectionParts;
  /** The lock that is its permit. */
  readonly #name: string;
  readonly #holder: string;
  readonly #era: number;
  readonly #retry: RetryDelay;
  /** The time since it was acquired. */
  readonly #held: Stopwatch;
  #deadline: { readonly ttlMs: number; readonly passed: Stopwatch };
  /** Comes at its end or for the next extension, whichever is first. */
  #timer: TimerHandle;
  /** By the clock that nobody sets; Infinity while the store is asked, and after the last one. */
  #extendAtMs = Infinity;
  #longMs: number;
  #isOver = false;
  #isAbandoned = false;
  #loss: SnowflakeError | undefined;
  #abort: AbortController | undefined;
  #note: string | undefined;
  #released: Promise<void> | undefined;

  constructor(parts: SectionParts, { permit, holder, passed, answer }: HeldFrom) {
    const { ttlMs } = answer;
    this.#parts = parts;
    this.lock = parts.lock;
    this.permit = permit;
    this.#name = permitName(parts.lock, permit);
    this.token = answer.token;
    this.#holder = holder;
    this.#era = answer.era;
    this.#held = passed;
    this.#note = answer.note;
    const { nowMs = 0, timeMs = nowMs } = answer;
    // A clock of locks that is behind its store's stays so, which delays no job.
    this.grantedAtMs = Math.max(nowMs, timeMs) || undefined;
    this.#deadline = { ttlMs, passed };
    this.#longMs = parts.hold.ttlMs * LONG_COUNT;
    this.#retry = new RetryDelay(parts.calls.terms.random);
    this.#extendAfter(ttlMs * EXTEND_AFTER - passed());
  }

  /** Most sections never look at it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#loss !== undefined) this.#abort.abort(this.#loss);
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

  get sections(): readonly HeldSection[] {
    return [this];
  }

  get heldMs(): number {
    return Math.floor(this.#held());
  }

  readonly assertHeld = (): void => {
    if (this.leftMs > 0) return;
    this.#runOut();
    throw this.#loss ?? lockLost(this.lock, this.token, 'released');
  };

  get note(): string | undefined {
    return this.#note;
  }

  readonly writeNote = async (note: string): Promise<void> => {
    const faults = noteFaults(note);
    if (faults.length > 0) throw refused(faults, '', 'ARGUMENT_INVALID');
    this.assertHeld();
    await this.#askForMore(note).catch((error: unknown) => {
      throw unavailable(this.lock, error);
    });
    this.assertHeld();
    this.#note = note;
  };

  readonly release = (): Promise<void> => (this.#released ??= this.#release());

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  async #release(): Promise<void> {
    if (this.#isOver) return;
    this.#stop();
    const { calls, events, lock, hold, onEnd } = this.#parts;
    const { heldMs } = this;
    const request = { lock: this.#name, holder: this.#holder, token: this.token };
    let isConfirmed = false;
    try {
      await calls.run({ call: 'release', lock }, () => {
        const keepMs = Math.max(0, hold.holdAtLeastMs - this.heldMs);
        const { clocks } = calls.seen;
        return calls.store.release({ ...request, clocks, ...(keepMs > 0 && { keepMs }) });
      });
      isConfirmed = true;
    } catch {
      // A lock that the store could not release is free after its ttl.
    }
    onEnd(this, heldMs);
    events.notify({ kind: 'released', lock, heldMs, isConfirmed });
  }

  /** Nobody is left to release it. */
  forget(): void {
    if (this.#isOver) return;
    process.emitWarning(
      `The lock ${this.lock} was acquired, and nobody can release it any more: what acquire() ` +
        `returned was not kept. It is extended no more, so that others get it within its ttl. ` +
        `Release it in a finally block, or write \`await using\`.`,
      'Snowflake',
    );
    this.abandon();
  }

  /**
   * Stops extending it; the section learns of its end when its time is over, if the process still
   * runs then.
   */
  abandon(): void {
    if (this.#isOver) return;
    this.#isAbandoned = true;
    this.#extendAfter(Infinity);
  }

  #extendAfter(ms: number): void {
    const { monotonic } = this.#parts.calls.terms;
    this.#extendAtMs = monotonic.now() + (this.#isLast ? Infinity : ms);
    this.#watch();
  }

  #watch(): void {
    const { timers, monotonic } = this.#parts.calls.terms;
    timers.cancel(this.#timer);
    const ms = Math.min(this.leftMs, Math.ceil(this.#extendAtMs - monotonic.now()));
    const come = () => this.#look();
    // A repeated timer keeps no process alive that has ended everything else.
    const isRepeated = this.#isAbandoned;
    this.#timer = timers[isRepeated ? 'every' : 'after'](Math.max(1, ms), come);
  }

  #look(): void {
    if (this.leftMs <= 0) return this.#runOut();
    if (this.#parts.calls.terms.monotonic.now() < this.#extendAtMs) return this.#watch();
    this.#extendAfter(Infinity);
    void this.#extend();
  }

  /** True where it is held for as long as it may be: more time would only be kept from others. */
  get #isLast(): boolean {
    const { ttlMs, passed } = this.#deadline;
    return ttlMs - passed() > this.#allowedMs - 1;
  }

  async #extend(): Promise<void> {
    const { calls, events, lock, hold } = this.#parts;
    const { heldMs } = this;
    if (heldMs >= this.#longMs) {
      this.#longMs *= 2;
      events.notify({ kind: 'long', lock, heldMs });
    }
    const passed = started(calls.terms);
    // After a failure the store is asked again until the deadline, which no failure moves.
    const isAnswered = await this.#askForMore().catch(() => false);
    if (this.#isOver || this.#isAbandoned) return;
    if (isAnswered) this.#retry.reset();
    const againMs = isAnswered ? hold.ttlMs * EXTEND_AFTER - passed() : this.#retry.next();
    this.#extendAfter(againMs);
  }

  #askForMore(note?: string): Promise<boolean> {
    const { calls, lock, hold } = this.#parts;
    const own = { lock: this.#name, holder: this.#holder, token: this.token, era: this.#era };
    const more = note !== undefined && { note };
    return calls.run({ call: 'extend', lock }, async (passed) => {
      if (this.#isOver) return false;
      const { highest, clocks } = calls.seen;
      // However late an answer comes, it holds from the moment of the request.
      const ttlMs = Math.max(1, Math.ceil(Math.min(hold.ttlMs, this.#allowedMs)));
      const answer = await calls.store.extend({ ...own, ttlMs, ...more, highest, clocks });
      calls.seen.observe(answer);
      this.#apply(answer, passed);
      return true;
    });
  }

  #apply(answer: ExtendAnswer, passed: Stopwatch): void {
    if (this.#isOver) return;
    if (answer.status !== 'ok') return this.#lose('store');
    // After the deadline an answer comes too late: `leftMs` has already said that the lock is lost.
    if (this.leftMs <= 0) return this.#runOut();
    const { ttlMs } = answer;
    if (ttlMs - passed() <= this.leftMs) return;
    this.#deadline = { ttlMs, passed };
  }

  #runOut(): void {
    this.#lose(this.#allowedMs <= 0 ? 'limit' : 'time');
  }

  #lose(reason: LossReason): void {
    if (this.#isOver) return;
    this.#stop();
    const { events, lock, onEnd } = this.#parts;
    this.#loss = lockLost(lock, this.token, reason);
    // Another process may have it by now, and so may the next caller here.
    onEnd(this);
    events.notify({ kind: 'lost', lock, reason });
    this.#abort?.abort(this.#loss);
  }

  #stop(): void {
    this.#isOver = true;
    this.#parts.calls.terms.timers.cancel(this.#timer);
  }
}

/*
 * Several locks that are held at once.
 *
 * Guarantee: it is held no longer than each of them.
 */

export class HeldSections implements AcquiredLocks {
  readonly sections: readonly HeldSection[];
  readonly locks: readonly string[];
  readonly tokens: ReadonlyMap<string, bigint>;
  #signal: AbortSignal | undefined;

  constructor(sections: readonly HeldSection[]) {
    this.sections = sections;
    this.locks = sections.map(({ lock }) => lock);
    this.tokens = new Map(sections.map(({ lock, token }) => [lock, token]));
  }

  get signal(): AbortSignal {
    return (this.#signal ??= AbortSignal.any(this.sections.map(({ signal }) => signal)));
  }

  get leftMs(): number {
    return Math.min(...this.sections.map(({ leftMs }) => leftMs));
  }

  readonly assertHeld = (): void => {
    for (const section of this.sections) section.assertHeld();
  };

  readonly release = async (): Promise<void> => {
    await Promise.all(this.sections.map((section) => section.release()));
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/*
 * What callers get that have to release what they hold.
 *
 * Guarantee: what nobody refers to any more, so that nobody can release it, is not extended until
 * the process ends: it is given up, with a warning.
 */

export class Handles {
  readonly #forgotten = new FinalizationRegistry((held: HeldSection | HeldSections) => {
    for (const section of held.sections) section.forget();
  });

  /** The same, which is collected once the caller has lost it. */
  of<H extends HeldSection | HeldSections>(held: H): H {
    // Its methods read what is private to `held`, and keep it as long as one of them is kept.
    const handle = new Proxy(held, {
      get: (_, name) => {
        const member: unknown = Reflect.get(held, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => Reflect.apply(member, handle && held, args) as unknown;
      },
    });
    this.#forgotten.register(handle, held);
    return handle;
  }
}
