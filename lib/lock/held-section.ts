/**
 * A held lock: extended regularly, and dropped at its deadline whatever the store does. One file
 * contains everything that can end it.
 *
 * Guarantee: the deadline counts from the moment before the request was sent. `leftMs` and
 * `assertHeld` read the clocks directly, so they are right even if a paused process missed its
 * timers.
 */
import { started, type Stopwatch } from '../core/clock.js';
import type { SnowflakeError } from '../errors.js';
import { refused } from '../options.js';
import { RetryDelay, type TimerHandle } from '../time/timers.js';
import type { HeldFrom, HoldParts } from './lock-attempt.js';
import { lockLost, unavailable, type LossReason } from './lock-events.js';
import { noteFaults, permitName, type HeldLock } from './lock-store.js';

/** The argument of a section that runs under a lock. */
export interface LockSection {
  readonly lock: string;
  /**
   * The number of the permit, from 1 to the `permits` of the lock; 1 without permits. Concurrent
   * holders of a lock have different numbers.
   */
  readonly permit: number;
  /** The fencing token of this permit: store it with all data, and reject lower tokens. */
  readonly token: bigint;
  /**
   * Aborted with LOCK_LOST as soon as the lock is no longer held; pass it to fetch, for example.
   */
  readonly signal: AbortSignal;
  /** The minimum time that the lock remains held; 0 if it is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST; call assertHeld() before any step that requires the lock */
  assertHeld(): void;
  /** The most recent note of any holder, including this one; undefined if there is none. */
  readonly note: string | undefined;
  /**
   * Replaces the note: 1 to 4000 characters, which the next holder receives. The store keeps the
   * note for 400 days after the lock ends, unless it loses data.
   *
   * @throws SnowflakeError LOCK_LOST if the note was not written; STORE_UNAVAILABLE if this is
   *   unknown; ARGUMENT_INVALID
   */
  writeNote(note: string): Promise<void>;
}

/** The argument of a section that runs under several locks. */
export interface LockSections {
  /** The names without duplicates, in the order of acquisition. */
  readonly locks: readonly string[];
  /** The fencing token of each lock, by name. */
  readonly tokens: ReadonlyMap<string, bigint>;
  /** Aborted with LOCK_LOST as soon as any of the locks is no longer held. */
  readonly signal: AbortSignal;
  /** The minimum time that all locks remain held; 0 if one is lost. */
  readonly leftMs: number;
  /** @throws SnowflakeError LOCK_LOST for the first lock that is no longer held */
  assertHeld(): void;
}

/** A lock that remains held until it is released or lost. */
export interface AcquiredLock extends LockSection {
  /** The store's time at the grant, Unix ms; undefined if the store does not return it. */
  readonly grantedAtMs: number | undefined;
  /** Never throws: if the store is unreachable, the lock is free after its ttl. */
  release(): Promise<void>;
  /** Releases the lock, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Several locks that remain held until they are released or one is lost. */
export interface AcquiredLocks extends LockSections {
  /** Never throws: if the store is unreachable, the locks are free after their ttl. */
  release(): Promise<void>;
  /** Releases the locks, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

interface SectionParts extends HoldParts {
  /** Called once, with the time that the lock was held if it was released and not lost. */
  readonly onEnd: (section: HeldSection, heldMs?: number) => void;
}

/** A section that runs for this multiple of its ttl may hang. */
const LONG_COUNT = 10;
/** The lock is extended after this fraction of its ttl. */
const EXTEND_AFTER = 1 / 3;

export class HeldSection implements AcquiredLock {
  readonly lock: string;
  readonly permit: number;
  readonly token: bigint;
  readonly grantedAtMs: number | undefined;
  readonly #parts: SectionParts;
  /** The lock that represents its permit. */
  readonly #own: HeldLock;
  readonly #era: number;
  readonly #retry: RetryDelay;
  /** The time since the lock was acquired. */
  readonly #held: Stopwatch;
  #deadline: { readonly ttlMs: number; readonly passed: Stopwatch };
  /** Fires at the end of the lock or at the next extension, whichever is first. */
  #timer: TimerHandle;
  /** By the monotonic clock; Infinity during a request to the store, and after the last request. */
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
    this.token = answer.token;
    this.#own = { lock: permitName(parts.lock, permit), holder, token: this.token };
    this.#era = answer.era;
    this.#held = passed;
    this.#note = answer.note;
    const { nowMs = 0, timeMs = nowMs } = answer;
    // A lock clock that is behind its store's clock stays behind, which delays no job.
    this.grantedAtMs = Math.max(nowMs, timeMs) || undefined;
    this.#deadline = { ttlMs, passed };
    this.#longMs = parts.hold.ttlMs * LONG_COUNT;
    this.#retry = new RetryDelay(parts.calls.terms.random);
    this.#extendAfter(ttlMs * EXTEND_AFTER - passed());
  }

  /** Most sections never read the signal. */
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

  /** The time that its section may still run. */
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
    let isConfirmed = false;
    try {
      await calls.run({ call: 'release', lock }, () => {
        const keepMs = Math.max(0, hold.holdAtLeastMs - this.heldMs);
        const { clocks } = calls.seen;
        return calls.store.release({ ...this.#own, clocks, ...(keepMs > 0 && { keepMs }) });
      });
      isConfirmed = true;
    } catch {
      // A lock that the store could not release is free after its ttl.
    }
    onEnd(this, heldMs);
    events.notify({ kind: 'released', lock, heldMs, isConfirmed });
  }

  /** No other code would release it. */
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
   * Stops extending the lock. If the process still runs at the end of its time, the section is
   * aborted.
   */
  abandon(): void {
    if (this.#isOver) return;
    this.#isAbandoned = true;
    this.#extendAfter(Infinity);
  }

  #extendAfter(ms: number): void {
    const { monotonic } = this.#parts.calls.terms;
    const { ttlMs, passed } = this.#deadline;
    // The last request has extended the lock for as long as its section may run.
    const isLast = ttlMs - passed() > this.#allowedMs - 1;
    this.#extendAtMs = monotonic.now() + (isLast ? Infinity : ms);
    this.#watch();
  }

  #watch(): void {
    const { timers, monotonic } = this.#parts.calls.terms;
    timers.cancel(this.#timer);
    const ms = Math.max(1, Math.min(this.leftMs, Math.ceil(this.#extendAtMs - monotonic.now())));
    // A repeated timer does not keep an otherwise finished process alive.
    this.#timer = timers[this.#isAbandoned ? 'every' : 'after'](ms, () => this.#look());
  }

  #look(): void {
    if (this.leftMs <= 0) return this.#runOut();
    if (this.#parts.calls.terms.monotonic.now() < this.#extendAtMs) return this.#watch();
    this.#extendAfter(Infinity);
    void this.#extend();
  }

  async #extend(): Promise<void> {
    const { calls, events, lock, hold } = this.#parts;
    const { heldMs } = this;
    if (heldMs >= this.#longMs) {
      this.#longMs *= 2;
      events.notify({ kind: 'long', lock, heldMs });
    }
    const passed = started(calls.terms);
    // After a failure, requests repeat until the deadline, which no failure changes.
    const isAnswered = await this.#askForMore().catch(() => false);
    if (this.#isOver || this.#isAbandoned) return;
    if (isAnswered) this.#retry.reset();
    const againMs = isAnswered ? hold.ttlMs * EXTEND_AFTER - passed() : this.#retry.next();
    this.#extendAfter(againMs);
  }

  #askForMore(note?: string): Promise<boolean> {
    const { calls, lock, hold } = this.#parts;
    const own = { ...this.#own, era: this.#era, ...(note !== undefined && { note }) };
    return calls.run({ call: 'extend', lock }, async (passed) => {
      if (this.#isOver) return false;
      const { highest, clocks } = calls.seen;
      // The time of a late response counts from the moment of its request.
      const ttlMs = Math.max(1, Math.ceil(Math.min(hold.ttlMs, this.#allowedMs)));
      const answer = await calls.store.extend({ ...own, ttlMs, highest, clocks });
      calls.seen.observe(answer);
      if (answer.status !== 'ok') this.#lose('store');
      // A response after the deadline is too late: `leftMs` has already reported the lock as lost.
      else if (this.leftMs <= 0) this.#runOut();
      else if (answer.ttlMs - passed() > this.leftMs) {
        this.#deadline = { ttlMs: answer.ttlMs, passed };
      }
      return true;
    });
  }

  #runOut(): void {
    this.#lose(this.#allowedMs <= 0 ? 'limit' : 'time');
  }

  #lose(reason: LossReason): void {
    if (this.#isOver) return;
    this.#stop();
    const { events, lock, onEnd } = this.#parts;
    this.#loss = lockLost(lock, this.token, reason);
    // Another process may hold the lock by now, so the next caller here may try too.
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
 * Several locks held together.
 *
 * Guarantee: the group counts as held only while every lock is held.
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
 * The handles of callers that must release their locks.
 *
 * Guarantee: a lock whose handle is garbage-collected is not extended until the process ends. It is
 * dropped, with a warning.
 */

export class Handles {
  readonly #forgotten = new FinalizationRegistry((held: HeldSection | HeldSections) => {
    for (const section of held.sections) section.forget();
  });

  /** Returns a handle that is garbage-collected once the caller drops it. */
  of<H extends HeldSection | HeldSections>(held: H): H {
    // Methods run on `held`, since they read its private fields, and each keeps the handle alive.
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
