/**
 * One attempt to get a lock: it asks the store, waits for a release or a while, and asks again
 * under the same name, so that a lost answer is given again. What all attempts of a process share
 * is with it in one file: the line in which they ask, the tokens that they saw, the time.
 *
 * Guarantee: a lock granted too late is not held. An attempt that ends without the lock tells the
 * store, which may have granted it unnoticed.
 */
import type { Clock } from '../core/clock.js';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { comesWithin, pause, RetryDelay, withinLimit } from '../time/timers.js';
import { lockHeld, notYet, tooSlow, unavailable } from './lock-events.js';
import type { HoldTerms, LockTerms } from './lock-options.js';
import {
  permitName,
  type AcquireAnswer,
  type HighestToken,
  type LockGrant,
  type LockRefusal,
  type LockStore,
} from './lock-store.js';
import type { PermitSearch } from './permits.js';

interface AttemptParts {
  readonly store: LockStore;
  readonly terms: LockTerms;
  readonly seen: SeenTokens;
  readonly line: CallLine;
  readonly lock: string;
  readonly hold: HoldTerms;
  /** Says which permit of the lock to ask for. */
  readonly search: PermitSearch;
  /** Measures the time that may be waited. */
  readonly waited: Stopwatch;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  readonly holder: string;
  /** Is called once if the store grants nothing yet. */
  readonly onPause: (waitMs: number) => void;
  /** Takes over calls that no caller waits for. */
  readonly inBackground: (call: Promise<unknown>) => void;
}

/** A lock that is held from the moment the request left. */
export interface HeldFrom {
  readonly permit: number;
  readonly holder: string;
  readonly token: bigint;
  readonly era: number;
  readonly ttlMs: number;
  readonly passed: Stopwatch;
  readonly note: string | undefined;
  /** The time of the store when it granted the lock. */
  readonly timeMs: number | undefined;
}

/** The reason why the lock is not held yet, and when to ask again. */
interface Refusal {
  readonly error: SnowflakeError;
  readonly againMs: number;
  /** True if the store will announce a release. */
  readonly isHeld?: boolean;
  /** True if waiting cannot help. */
  readonly isFinal?: boolean;
}

/**
 * Polling finds a release that was announced before this attempt listened. Without announcements it
 * finds each: the pauses are a fifth of the time for which nothing has changed, so that what is
 * held for a short time is found soon; but no shorter than the store takes for two answers.
 */
const POLLS = {
  notified: { firstMs: 50, growth: 2 },
  polling: { firstMs: 5, growth: 1.25 },
} as const;
const POLL_MS_MAX = 1000;

export class LockAttempt {
  readonly #parts: AttemptParts;
  readonly #retry: RetryDelay;
  readonly #polls: (typeof POLLS)[keyof typeof POLLS];
  #pollMs: number;
  /** The end of the waiting, later if the store grants nothing for a while. */
  #endMs: number;
  #lastToken: bigint | undefined;
  /** How long the last answer took. */
  #answerMs = 0;
  /** True while the store may have granted a lock without our knowing. */
  #isUnsure = false;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#endMs = parts.hold.waitMs;
    this.#retry = new RetryDelay(parts.terms.random);
    this.#polls = POLLS[parts.store.untilReleased ? 'notified' : 'polling'];
    this.#pollMs = this.#polls.firstMs;
  }

  /** @throws SnowflakeError LOCK_HELD, STORE_UNAVAILABLE, or an error of the store or the signal */
  async run(): Promise<HeldFrom> {
    try {
      for (;;) {
        const outcome = await this.#ask();
        this.#parts.signal.throwIfAborted();
        // Another permit is left to be asked for.
        if (outcome === undefined) continue;
        if ('token' in outcome) {
          this.#parts.search.leave();
          return outcome;
        }
        await this.#wait(outcome);
      }
    } catch (error) {
      if (this.#isUnsure) this.#giveUp();
      this.#parts.search.end();
      throw error;
    }
  }

  async #ask(): Promise<HeldFrom | Refusal | undefined> {
    const { lock, holder, seen, line, terms, signal, search } = this.#parts;
    signal.throwIfAborted();
    const { permit } = search;
    if (permit === undefined) return this.#allHeld();
    const name = permitName(lock, permit);
    let leave: Leave | undefined;
    try {
      leave = await line.enter('acquire', lock, signal);
      const passed = started(terms);
      const askedAtMs = seen.nowMs;
      const answer = await this.#answer(name);
      this.#answerMs = passed();
      line.noteAnswered(this.#answerMs);
      if (answer.status !== 'ok') return this.#refusal(answer);
      const { token, era, ttlMs, note, timeMs } = answer;
      seen.note(name, answer, askedAtMs);
      if (passed() < ttlMs) return { permit, holder, token, era, ttlMs, passed, note, timeMs };
      return { error: tooSlow(lock, ttlMs), againMs: 0 };
    } catch (error) {
      const failure = unavailable(lock, error);
      const isFinal = isSnowflakeError(error) && !error.retryable;
      return { error: failure, againMs: this.#retry.next(), isFinal };
    } finally {
      leave?.();
    }
  }

  #answer(name: string): Promise<AcquireAnswer> {
    const { store, lock, hold, holder, terms, seen, line } = this.#parts;
    const { label, longestTtlMs: longestMs, callTimeoutMs: ms, timers } = terms;
    const have = seen.of(name);
    const { era, highest } = seen;
    const asked = { lock: name, holder, label, ttlMs: hold.ttlMs, longestMs, have, era, highest };
    const over = (): never => {
      line.noteLate();
      throw tooSlow(lock, ms);
    };
    this.#isUnsure = true;
    const answer = (async () => store.acquire(asked))();
    return withinLimit(answer, { ms, timers, over });
  }

  #refusal(answer: Exclude<AcquireAnswer, { readonly status: 'ok' }>): Refusal | undefined {
    this.#isUnsure = false;
    this.#retry.reset();
    if (answer.status === 'wait') return this.#pause(answer.waitMs);
    return this.#parts.search.refused(answer) ? this.#allHeld() : undefined;
  }

  #allHeld(): Refusal {
    const { lock, hold, search, terms } = this.#parts;
    // Nothing was asked where others of this process hold or ask for all.
    const { refusal = { status: 'held', label: terms.label, leftMs: hold.ttlMs } } = search;
    return {
      error: lockHeld(lock, refusal, hold.waitMs),
      againMs: this.#nextPollMs(refusal),
      isHeld: true,
    };
  }

  /**
   * Until the pause ends no caller gets the lock, so waiting is useless if it lasts longer than we
   * may wait.
   */
  #pause(waitMs: number): Refusal {
    const { lock, onPause } = this.#parts;
    onPause(waitMs);
    const isFinal = waitMs > this.#leftMs && !this.#isPauseAdded(waitMs);
    return { error: notYet(lock, waitMs), againMs: waitMs, isFinal };
  }

  #isPauseAdded(waitMs: number): boolean {
    const { hold, waited } = this.#parts;
    const endMs = waited() + waitMs + Math.max(0, this.#leftMs);
    const isAllowed = endMs <= hold.waitMs + (hold.pauseMs ?? 0);
    if (isAllowed) this.#endMs = endMs;
    return isAllowed;
  }

  /** Asks less and less often, as long as the same holder keeps the lock. */
  #nextPollMs({ leftMs, token }: LockRefusal): number {
    const { terms } = this.#parts;
    const { firstMs, growth } = this.#polls;
    if (token !== this.#lastToken) this.#pollMs = firstMs;
    this.#lastToken = token;
    const jitteredMs = Math.max(this.#pollMs, 2 * this.#answerMs) * (0.5 + terms.random());
    this.#pollMs = Math.min(POLL_MS_MAX, this.#pollMs * growth);
    return Math.ceil(Math.min(leftMs + 1, jitteredMs));
  }

  get #leftMs(): number {
    return this.#endMs - this.#parts.waited();
  }

  async #wait({ error, againMs, isHeld = false, isFinal = false }: Refusal): Promise<void> {
    if (isFinal || this.#leftMs <= 0) throw error;
    const ms = Math.max(1, Math.min(againMs, Math.ceil(this.#leftMs)));
    const { timers } = this.#parts.terms;
    if (isHeld) await this.#untilReleased(ms);
    else await pause(timers, ms, this.#parts.signal);
  }

  async #untilReleased(ms: number): Promise<void> {
    const { store, terms, signal, search } = this.#parts;
    let released: number | undefined;
    const begin = async (over: AbortSignal) => {
      const announced = async (name: string) => store.untilReleased?.(name, ms, over) ?? never();
      // If announcements fail, polling remains.
      released = await search.untilReleased((name) => announced(name).catch(never), over);
    };
    const isTold = await comesWithin(begin, { ms, timers: terms.timers, signal });
    search.begin(isTold ? released : undefined);
  }

  #giveUp(): void {
    const { store, line, lock, holder, inBackground, search } = this.#parts;
    const name = permitName(lock, search.permit!);
    const released = async () => {
      const leave = await line.enter('release', lock);
      await store.release({ lock: name, holder }).finally(leave);
    };
    inBackground(released());
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/*
 * The calls of one process to its store, of which only so many are under way at once: a client
 * sends them one after another, and the last of thousands would be late before it is sent.
 *
 * Guarantee: the time of a call begins with its turn. A lock that is held is extended before others
 * are released, and these before others are acquired. If the store does not answer a call, those
 * that have waited for half as long are told with it. A store that answers late is asked for fewer
 * locks at once, so that it does not spend its time on answers for which nobody waits any more.
 */

const CALL_COUNT_MAX = 64;
/** The rest is kept for locks that are held. */
const ACQUIRE_COUNT_MAX = 48;
/** An answer within this part of the time of a call is soon enough for one more at once. */
const SOON = 1 / 2;

/** From the first in line to the last. */
const CALLS = ['extend', 'release', 'acquire'] as const;
type Call = (typeof CALLS)[number];

/** Ends the turn of a call. */
type Leave = () => void;

interface InLine {
  readonly lock: string;
  readonly waited: Stopwatch;
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

export class CallLine {
  readonly #terms: LockTerms;
  readonly #waiting = {
    extend: new Set<InLine>(),
    release: new Set<InLine>(),
    acquire: new Set<InLine>(),
  };
  #count = 0;
  /** Locks are asked for up to so many calls under way. */
  #acquireMax = ACQUIRE_COUNT_MAX;

  constructor(terms: LockTerms) {
    this.#terms = terms;
  }

  /** @throws SnowflakeError STORE_UNAVAILABLE if nobody is answered; the reason of the signal */
  async enter(call: Call, lock: string, signal?: AbortSignal): Promise<Leave> {
    if (this.#hasRoomFor(call)) this.#count++;
    else await this.#turn(call, lock, signal);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      this.#goOn();
    };
  }

  /** A lock that was asked for was granted or refused after so long. */
  noteAnswered(afterMs: number): void {
    if (afterMs > this.#terms.callTimeoutMs * SOON) return;
    this.#acquireMax = Math.min(ACQUIRE_COUNT_MAX, this.#acquireMax + 1);
  }

  /** A call was not answered in time: the next ones are not sent after those who gave up. */
  noteLate(): void {
    this.#acquireMax = Math.max(1, Math.floor(this.#acquireMax / 2));
    const { callTimeoutMs: ms } = this.#terms;
    for (const one of CALLS.flatMap((call) => [...this.#waiting[call]])) {
      if (one.waited() >= ms / 2) one.fail(tooSlow(one.lock, ms));
    }
  }

  #hasRoomFor(call: Call): boolean {
    return this.#count < (call === 'acquire' ? this.#acquireMax : CALL_COUNT_MAX);
  }

  async #turn(call: Call, lock: string, signal?: AbortSignal): Promise<void> {
    const line = this.#waiting[call];
    let abort = () => {};
    const turn = new Promise<void>((go, reject) => {
      const fail = (error: unknown) => {
        // A caller that has left is not given a turn, since it would never end it.
        line.delete(own);
        reject(error as Error);
      };
      const own = { lock, waited: started(this.#terms), go, fail };
      line.add(own);
      abort = () => fail(signal!.reason);
    });
    signal?.addEventListener('abort', abort, { once: true });
    await turn.finally(() => signal?.removeEventListener('abort', abort));
  }

  #goOn(): void {
    for (const call of CALLS) {
      for (const one of this.#waiting[call]) {
        if (!this.#hasRoomFor(call)) break;
        this.#waiting[call].delete(one);
        this.#count++;
        one.go();
      }
    }
  }
}

/*
 * The highest token that this process got for each of its locks proves to a store that it has lost
 * data. The largest count of losses proves to a server that it was replaced. The highest token of
 * all proves that the store's clock was there.
 *
 * Guarantee: their number is bounded. A forgotten token proves nothing, and the next one is higher
 * by its time.
 */

const TOKEN_COUNT_MAX = 1024;

export class SeenTokens {
  readonly #tokens = new Map<string, bigint>();
  readonly #monotonic: Clock;
  #highest: { readonly token: bigint; readonly atMs: number } | undefined;

  era: number | undefined;

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** The time of a request, for note(). */
  get nowMs(): number {
    return this.#monotonic.now();
  }

  get highest(): HighestToken | undefined {
    if (this.#highest === undefined) return undefined;
    const { token, atMs } = this.#highest;
    return { token, ageMs: Math.max(0, Math.ceil(this.nowMs - atMs)) };
  }

  of(lock: string): bigint {
    return this.#tokens.get(lock) ?? 0n;
  }

  note(lock: string, { token, era }: Pick<LockGrant, 'token' | 'era'>, askedAtMs: number): void {
    if (token > (this.#highest?.token ?? 0n)) this.#highest = { token, atMs: askedAtMs };
    this.era = Math.max(this.era ?? 0, era);
    const known = this.of(lock);
    this.#tokens.delete(lock);
    this.#tokens.set(lock, token > known ? token : known);
    if (this.#tokens.size <= TOKEN_COUNT_MAX) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}

/*
 * Elapsed time, by two clocks.
 *
 * Guarantee: it is never less than either says. The monotonic clock may stand still while a machine
 * sleeps, and the wall clock may be set back; both at once is not expected.
 */

export interface TwoClocks {
  readonly clock: Clock;
  readonly monotonic: Clock;
}

/** Returns the ms since it was started. */
export type Stopwatch = () => number;

export function started({ clock, monotonic }: TwoClocks): Stopwatch {
  const [wallMs, monotonicMs] = [clock.now(), monotonic.now()];
  return () => Math.max(clock.now() - wallMs, monotonic.now() - monotonicMs, 0);
}
