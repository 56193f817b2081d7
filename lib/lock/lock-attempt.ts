/**
 * One attempt to acquire a lock. It sends a request, waits for a release or a pause, and sends the
 * same request again, so a lost response is repeated. The file also contains what all store calls
 * of a process share: their queue, their time limits, and the observed tokens.
 *
 * Guarantee: a lock granted too late is not held. An attempt that ends without the lock sends a
 * release, in case the store granted the lock unnoticed.
 */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { started, type Stopwatch, type TwoClocks } from '../core/clock.js';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { STEP_MS } from '../rows/store-clock.js';
import { closedAfterLastCall } from '../time/call-record.js';
import { Alarm, pause, RetryDelay } from '../time/timers.js';
import type { Place } from './local-queue.js';
import { lockHeld, notYet, tooSlow, unavailable, type LockEvents } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import {
  permitName,
  type AcquireAnswer,
  type CallerClocks,
  type LockGrant,
  type LockRefusal,
  type LockStore,
  type StoreClocks,
} from './lock-store.js';

/** One lock of a process, and the terms of holding it. */
export interface HoldParts {
  readonly calls: LockCalls;
  readonly events: LockEvents;
  readonly lock: string;
  readonly hold: HoldTerms;
}

interface AttemptParts extends HoldParts {
  /** Decides which permit of the lock to request, and whether to keep waiting. */
  readonly place: Place;
  /** Measures the waiting time. */
  readonly waited: Stopwatch;
  /** Runs calls that no caller awaits. */
  readonly inBackground: (call: Promise<unknown>) => void;
}

/** A lock that is held from the moment its request was sent. */
export interface HeldFrom {
  readonly permit: number;
  readonly holder: string;
  readonly passed: Stopwatch;
  readonly answer: LockGrant;
}

/** The reason why the lock is not held yet, and when to send the next request. */
interface Refusal {
  readonly error: SnowflakeError;
  readonly againMs: number;
  /** True if the store will announce a release. */
  readonly isHeld?: boolean;
  /** True if waiting is useless. */
  readonly isFinal?: boolean;
}

/**
 * Polling finds a release that was announced before this attempt subscribed. Without announcements,
 * polling finds every release. Each pause is a fifth of the time without a change, so it finds the
 * end of a short section soon. No pause is shorter than two responses of the store.
 */
const POLLS = {
  notified: { firstMs: 50, growth: 2 },
  polling: { firstMs: 5, growth: 1.25 },
} as const;
const POLL_MS_MAX = 1000;

export class LockAttempt {
  readonly #parts: AttemptParts;
  readonly #holder = randomUUID();
  readonly #retry: RetryDelay;
  readonly #polls: (typeof POLLS)[keyof typeof POLLS];
  #pollMs: number;
  /** The end of the wait, later if the store grants nothing for a while. */
  #endMs: number;
  #lastToken: bigint | undefined;
  /** The duration of the last response. */
  #answerMs = 0;
  /** True while the store may have granted a lock without a received response. */
  #isUnsure = false;

  constructor(parts: AttemptParts) {
    const { store, terms } = parts.calls;
    this.#parts = parts;
    this.#endMs = parts.hold.waitMs;
    this.#retry = new RetryDelay(terms.random);
    this.#polls = POLLS[store.untilReleased ? 'notified' : 'polling'];
    this.#pollMs = this.#polls.firstMs;
  }

  /** @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, or an error of the store or the signal */
  async run(): Promise<HeldFrom> {
    const { place } = this.#parts;
    place.begin();
    try {
      for (;;) {
        place.throwIfOver();
        const { permit } = place;
        const outcome = permit === undefined ? this.#allHeld() : await this.#ask(permit);
        place.throwIfOver();
        // Another permit is left to request.
        if (outcome === undefined) continue;
        if (permit !== undefined) place.answered('error' in outcome ? outcome.error : undefined);
        if ('answer' in outcome) return outcome;
        await this.#wait(outcome);
      }
    } catch (error) {
      if (this.#isUnsure) this.#giveUp();
      throw error;
    }
  }

  #ask(permit: number): Promise<HeldFrom | Refusal | undefined> {
    const { calls, events, lock, hold, place } = this.#parts;
    const { seen, terms, store } = calls;
    const holder = this.#holder;
    const name = permitName(lock, permit);
    let passed: Stopwatch = () => 0;
    const ask = (since: Stopwatch) => {
      const { label, longestTtlMs: longestMs } = terms;
      const { era, highest, clocks } = seen;
      [passed, this.#isUnsure] = [since, true];
      const own = { lock: name, holder, label, ttlMs: hold.ttlMs, longestMs };
      return store.acquire({ ...own, have: seen.of(name), era, highest, clocks });
    };
    const answered = (answer: AcquireAnswer) => {
      this.#answerMs = passed();
      seen.observe(answer);
      const hostMs = terms.clock.now();
      const storeMs = answer.timeMs ?? hostMs;
      const isSkewed = Math.abs(storeMs - hostMs) > STEP_MS + this.#answerMs;
      if (isSkewed) events.notify({ kind: 'skewed', lock, storeMs, hostMs });
      if (answer.status !== 'ok') return this.#refusal(answer);
      seen.note(name, answer);
      if (passed() < answer.ttlMs) return { permit, holder, passed, answer };
      return { error: tooSlow(lock, answer.ttlMs), againMs: 0 };
    };
    return calls.run({ call: 'acquire', lock, place }, ask).then(answered, (error: unknown) => {
      const failure = unavailable(lock, error);
      const isFinal = isSnowflakeError(error) && !error.retryable;
      return { error: failure, againMs: this.#retry.next(), isFinal };
    });
  }

  #refusal(answer: Exclude<AcquireAnswer, LockGrant>): Refusal | undefined {
    this.#isUnsure = false;
    this.#retry.reset();
    if (answer.status === 'wait') return this.#pause(answer.waitMs);
    return this.#parts.place.refused(answer) ? this.#allHeld() : undefined;
  }

  #allHeld(): Refusal {
    const { calls, lock, hold, place } = this.#parts;
    // No request was sent if other callers here hold or request all permits.
    const { label } = calls.terms;
    const { refusal = { status: 'held', label, leftMs: hold.ttlMs } } = place;
    return {
      error: lockHeld(lock, refusal, hold.waitMs),
      againMs: this.#nextPollMs(refusal),
      isHeld: true,
    };
  }

  /**
   * No caller gets the lock until the pause ends, so waiting is useless if the pause exceeds the
   * wait.
   */
  #pause(waitMs: number): Refusal {
    const { lock, events, hold, waited } = this.#parts;
    events.notify({ kind: 'paused', lock, waitMs });
    const endMs = waited() + waitMs + Math.max(0, this.#leftMs);
    const isLonger = waitMs > this.#leftMs;
    const isFinal = isLonger && endMs > hold.waitMs + (hold.pauseMs ?? 0);
    if (isLonger && !isFinal) this.#endMs = endMs;
    return { error: notYet(lock, waitMs), againMs: waitMs, isFinal };
  }

  /** Polls less and less often while the same holder keeps the lock. */
  #nextPollMs({ leftMs, token }: LockRefusal): number {
    const { firstMs, growth } = this.#polls;
    if (token !== this.#lastToken) this.#pollMs = firstMs;
    this.#lastToken = token;
    const random = this.#parts.calls.terms.random();
    const jitteredMs = Math.max(this.#pollMs, 2 * this.#answerMs) * (0.5 + random);
    this.#pollMs = Math.min(POLL_MS_MAX, this.#pollMs * growth);
    return Math.ceil(Math.min(leftMs + 1, jitteredMs));
  }

  get #leftMs(): number {
    return this.#endMs - this.#parts.waited();
  }

  async #wait({ error, againMs, isHeld = false, isFinal = false }: Refusal): Promise<void> {
    if (isFinal || this.#leftMs <= 0) throw error;
    const ms = Math.max(1, Math.min(againMs, Math.ceil(this.#leftMs)));
    const { calls, place } = this.#parts;
    if (isHeld) await this.#untilReleased(ms);
    else await pause(calls.terms.timers, ms, place.signal);
  }

  async #untilReleased(ms: number): Promise<void> {
    const { calls, place } = this.#parts;
    const { store, terms } = calls;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, place.signal]);
    // Waits for the release of any permit.
    setMaxListeners(0, signal);
    const announced = async (name: string) => store.untilReleased?.(name, ms, signal) ?? never();
    // If announcements fail, polling remains.
    const released = place.untilReleased((name) => announced(name).catch(never), signal);
    const late = pause(terms.timers, ms, signal).then(() => undefined);
    try {
      place.begin(await Promise.race([released, late]));
    } finally {
      // Without a reason, `abort` would make an error with its stack.
      over.abort(null);
    }
  }

  #giveUp(): void {
    const { calls, lock, place, inBackground } = this.#parts;
    const request = { lock: permitName(lock, place.permit!), holder: this.#holder };
    const released = () => calls.store.release({ ...request, clocks: calls.seen.clocks });
    inBackground(calls.run({ call: 'release', lock }, released));
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/*
 * The queue that every store call of a process passes. It limits concurrent calls, because a client
 * sends calls one after another, and the last of thousands would be late before it is sent.
 *
 * Guarantee: the time of a call begins with its turn. Extends come before releases, and releases
 * before acquires. If a call times out, calls that have waited half as long fail with it. A slow
 * store gets fewer concurrent acquires, so it does not spend its time on responses that no caller
 * awaits.
 */

const CALL_COUNT_MAX = 64;
/** The remaining calls are reserved for held locks. */
const ACQUIRE_COUNT_MAX = 48;
/** A response within this fraction of the time limit allows one more concurrent call. */
const SOON = 1 / 2;

/** From the first in the queue to the last. */
const CALLS = ['extend', 'release', 'acquire'] as const;

/** The operation and its lock. */
interface Call {
  readonly call: (typeof CALLS)[number];
  readonly lock: string;
  /** Ends the wait for its turn; absent for a call that waits without a limit. */
  readonly place?: Place;
}

interface InLine {
  readonly lock: string;
  readonly waited: Stopwatch;
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

/** A call in progress. */
interface Asked {
  readonly passed: Stopwatch;
  readonly late: () => void;
}

export class LockCalls {
  /** For calls without a limit; `run` is for all others. */
  readonly store: LockStore;
  readonly seen: SeenTokens;
  readonly #waiting = new Map(CALLS.map((call) => [call, new Set<InLine>()] as const));
  /** The calls in progress, the oldest first. */
  readonly #asked = new Set<Asked>();
  readonly #alarm: Alarm;
  #isOver = false;
  /** Turns that are granted but not yet taken. */
  #givenCount = 0;
  /** Acquires start only below this many calls in progress. */
  #acquireMax = ACQUIRE_COUNT_MAX;

  constructor(
    store: LockStore,
    readonly terms: LockTerms,
  ) {
    this.store = closedAfterLastCall(store);
    this.seen = new SeenTokens(terms);
    this.#alarm = new Alarm(terms, () => this.#look());
  }

  /**
   * @param ask sends the request; a late response has no effect except on the stopwatch that it
   *   gets
   * @throws SnowflakeError STORE_UNAVAILABLE without a response in time; the store's error; the
   *   reason why its turn ended
   */
  run<T>(asked: Call, ask: (passed: Stopwatch) => Promise<T>): Promise<T> {
    if (this.#hasRoomFor(asked.call)) return this.#send(asked, ask);
    return this.#turn(asked).then(() => {
      this.#givenCount--;
      return this.#send(asked, ask);
    });
  }

  async close(): Promise<void> {
    this.#isOver = true;
    if (this.#asked.size === 0) this.#alarm.end();
    await this.store.close?.();
  }

  #send<T>({ call, lock }: Call, ask: (passed: Stopwatch) => Promise<T>): Promise<T> {
    const { callTimeoutMs: ms } = this.terms;
    const passed = started(this.terms);
    return new Promise((resolve, reject) => {
      const own = { passed, late: () => reject(tooSlow(lock, ms)) };
      const answered = (answer: T) => {
        const isSoon = call === 'acquire' && passed() <= ms * SOON;
        if (isSoon) this.#acquireMax = Math.min(ACQUIRE_COUNT_MAX, this.#acquireMax + 1);
        this.#leave(own);
        resolve(answer);
      };
      const failed = (error: Error) => {
        this.#leave(own);
        reject(error);
      };
      this.#asked.add(own);
      if (this.#asked.size === 1) this.#alarm.set(ms);
      ask(passed).then(answered, failed);
    });
  }

  #leave(own: Asked): void {
    if (!this.#asked.delete(own)) return;
    if (this.#asked.size === 0) this.#alarm.set(Infinity);
    if (this.#asked.size === 0 && this.#isOver) this.#alarm.end();
    this.#goOn();
  }

  /** Ends the calls whose time is over, so none is sent for a caller that has stopped waiting. */
  #look(): void {
    const { callTimeoutMs: ms } = this.terms;
    for (const own of this.#asked) {
      const leftMs = ms - own.passed();
      if (leftMs > 0) return this.#alarm.set(leftMs);
      this.#acquireMax = Math.max(1, Math.floor(this.#acquireMax / 2));
      for (const one of [...this.#waiting.values()].flatMap((line) => [...line])) {
        if (one.waited() >= ms / 2) one.fail(tooSlow(one.lock, ms));
      }
      // This happens in the timer's own turn, so a later response does not win.
      own.late();
      this.#leave(own);
    }
  }

  #hasRoomFor(call: Call['call']): boolean {
    const count = this.#asked.size + this.#givenCount;
    return count < (call === 'acquire' ? this.#acquireMax : CALL_COUNT_MAX);
  }

  async #turn({ call, lock, place }: Call): Promise<void> {
    const line = this.#waiting.get(call)!;
    const signal = place?.signal;
    let abort = () => {};
    const turn = new Promise<void>((go, reject) => {
      const fail = (error: unknown) => {
        // A caller that has left gets no turn, since it would never end the turn.
        line.delete(own);
        reject(error as Error);
      };
      const own = { lock, waited: started(this.terms), go, fail };
      line.add(own);
      abort = () => fail(signal!.reason);
    });
    signal?.addEventListener('abort', abort, { once: true });
    await turn.finally(() => signal?.removeEventListener('abort', abort));
  }

  #goOn(): void {
    for (const [call, line] of this.#waiting) {
      for (const one of line) {
        if (!this.#hasRoomFor(call)) break;
        line.delete(one);
        this.#givenCount++;
        one.go();
      }
    }
  }
}

/*
 * What this process has observed of its store. The highest token of each lock can prove a loss of
 * data. The largest loss count can prove a replaced server, and the clock of the last response a
 * step of the store's clock.
 *
 * Guarantee: the number of tokens is bounded. A dropped token proves nothing, and the next token is
 * higher because of its time.
 */

const TOKEN_COUNT_MAX = 1024;

export class SeenTokens {
  readonly #tokens = new Map<string, bigint>();
  #last: (StoreClocks & { readonly nowMs: number; readonly atMs: number }) | undefined;

  era: number | undefined;
  highest: bigint | undefined;

  constructor(private readonly host: TwoClocks) {}

  get clocks(): CallerClocks {
    const { clock, monotonic } = this.host;
    const wallMs = Math.max(0, Math.floor(clock.now()));
    if (this.#last === undefined) return { wallMs };
    const { nowMs, timeMs = nowMs, atMs } = this.#last;
    const elapsedMs = monotonic.now() - atMs;
    // A lock clock that is ahead of its host runs at half speed.
    const behindMs = Math.min(Math.max(0, nowMs - timeMs), elapsedMs / 2);
    return { wallMs, nowMs: Math.floor(nowMs + elapsedMs - behindMs) };
  }

  of(lock: string): bigint {
    return this.#tokens.get(lock) ?? 0n;
  }

  observe({ nowMs, timeMs }: StoreClocks): void {
    if (!Number.isFinite(nowMs)) return;
    this.#last = { nowMs: nowMs!, timeMs, atMs: this.host.monotonic.now() };
  }

  note(lock: string, { token, era }: Pick<LockGrant, 'token' | 'era'>): void {
    if (token > (this.highest ?? 0n)) this.highest = token;
    this.era = Math.max(this.era ?? 0, era);
    const known = this.of(lock);
    this.#tokens.delete(lock);
    this.#tokens.set(lock, token > known ? token : known);
    if (this.#tokens.size <= TOKEN_COUNT_MAX) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}
