/**
 * A keeper's client for one of a counter's stores, with a timeout and the store's earlier
 * responses.
 *
 * Guarantee: it ignores positions below the highest one that this process has received, so a store
 * that moved back causes no duplicate position. Every failure is a SnowflakeError.
 */
import { monotonicClock } from '../core/clock.js';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import type { GeneratorEnvironment } from '../generator.js';
import { format, formatName, plainCause } from '../messages.js';
import type { CallRecord } from '../time/call-record.js';
import { RetryDelay, withinLimit, type TimerHandle } from '../time/timers.js';
import {
  POSITION_MAX,
  type CounterStore,
  type TakeAnswer,
  type TakeGrant,
  type TakeRequest,
} from './counter-store.js';

/** The store's position among all stores of its counter, and what every call needs. */
export interface CounterClientParts extends GeneratorEnvironment {
  readonly calls: CallRecord;
  readonly counter: string;
  /** Advice for a store that often responds with 'wait'. */
  readonly waitAdvice: string;
  /** The position of the store among all, from 1 to `storeCount`. */
  readonly place: number;
  readonly storeCount: number;
}

/** The common part of all requests. */
type Known = 'counter' | 'count' | 'have' | 'era' | 'stores';
type Own<Request> = Request extends TakeRequest ? Omit<Request, Known> : never;

/** Calls the store, and adds the common part of the request. */
export type Ask = (own: Own<TakeRequest>) => Promise<TakeAnswer>;

/** A shorter wait ends before an operator could act, so it does not count as an outage. */
const SHORT_WAIT_MS = 100;

/** Timers accept at most 2^31 ms, and a store may recover earlier. */
const WAIT_MS_MAX = 60_000;

/**
 * @typeParam R the IDs of one grant
 * @typeParam T the completed options of the IDs
 */
export abstract class CounterClient<R, T = unknown> {
  /** The error of the last call; undefined after a short wait. */
  fault: SnowflakeError | undefined;
  /** True until the call gets a response or reaches its time limit. */
  isAsking = false;
  /** The highest end received, as the contract requires. */
  protected have = 0n;
  private era = 0;
  /** How far the counter's clock is ahead of the monotonic clock. */
  private aheadMs: number | undefined;
  /** The number of calls that have not returned yet. */
  private outCount = 0;
  private resting: TimerHandle;
  private readonly delay: RetryDelay;

  constructor(
    readonly store: CounterStore,
    protected readonly parts: CounterClientParts,
    protected readonly terms: T,
  ) {
    this.delay = new RetryDelay(parts.random);
  }

  protected abstract answer(ask: Ask): Promise<TakeAnswer>;
  /** The IDs of a grant. @throws SnowflakeError if there are none */
  protected abstract rangeOf(grant: TakeGrant): R;

  get isIdle(): boolean {
    return !this.isAsking && this.resting === undefined;
  }

  /** True while a call is overdue: out for longer than its limit. */
  get isSilent(): boolean {
    return this.outCount > Number(this.isAsking);
  }

  get location(): string {
    return this.store.location ?? 'the store of counters';
  }

  /** The minimum time that the counter's clock has reached, as the contract requires. */
  protected get reckonedMs(): number | undefined {
    return this.aheadMs === undefined ? undefined : Math.ceil(this.monotonicMs + this.aheadMs);
  }

  /**
   * Takes up to `count` positions; only one call at a time.
   * @param late receives a grant that arrives after the time limit
   * @throws SnowflakeError why there are none, which is its `fault` until the next grant
   */
  async take(count: number, late: (range: R) => void): Promise<R> {
    const wanted = BigInt(count);
    const take = (answer: TakeAnswer) => {
      const range = this.rangeOf(this.checkGrant(answer, wanted));
      this.fault = undefined;
      this.delay.reset();
      return range;
    };
    this.isAsking = true;
    try {
      return take(
        await this.answer((own) => this.ask(own, wanted, (answer) => late(take(answer)))),
      );
    } catch (error) {
      const isShort = waitMsOf(error) <= SHORT_WAIT_MS;
      this.fault = isShort ? undefined : (error as SnowflakeError);
      throw error;
    } finally {
      this.isAsking = false;
    }
  }

  /** Waits as long as the store requested, or longer each time. @param done called at the end */
  rest(error: SnowflakeError, done: () => void): void {
    const waitMs = waitMsOf(error);
    const ms = waitMs === Infinity ? this.delay.next() : Math.min(Math.max(1, waitMs), WAIT_MS_MAX);
    this.resting = this.parts.timers.after(ms, () => {
      this.resting = undefined;
      done();
    });
  }

  wakeUp(): void {
    this.parts.timers.cancel(this.resting);
    this.resting = undefined;
  }

  /** Returns the store's response if it arrives within the limit; `late` receives a later one. */
  private async ask(
    own: Own<TakeRequest>,
    count: bigint,
    late: (answer: TakeAnswer) => void,
  ): Promise<TakeAnswer> {
    const { calls, clock, timers, callTimeoutMs, counter, place, storeCount } = this.parts;
    const { have, era } = this;
    const request = { ...own, counter, count, have, era, stores: `${place}/${storeCount}` };
    const sentAtMs = clock.now();
    const askedAtMs = this.monotonicMs;
    this.outCount++;
    // This promise also carries the error of a store that throws synchronously.
    const asked = (async () => this.observed(await this.store.take(request), askedAtMs))();
    const returned = () => void this.outCount--;
    asked.then(returned, returned);
    const limit = {
      timers,
      ms: callTimeoutMs,
      over: (): never => {
        throw silent(this.location, callTimeoutMs);
      },
      late: (answer: TakeAnswer) => {
        calls.noteLate(String(answer?.status), clock.now());
        late(answer);
      },
    };
    try {
      const answer = await withinLimit(asked, limit);
      calls.note(String(answer?.status), sentAtMs, clock.now());
      return answer;
    } catch (error) {
      calls.note('error', sentAtMs, clock.now());
      if (isSnowflakeError(error)) throw error;
      // A custom store may pass on its client's error, including passwords.
      const cause = plainCause(error);
      throw new SnowflakeError('STORE_UNAVAILABLE', `The store failed: ${cause.message}`, {
        cause,
      });
    }
  }

  /** The grant, checked against the request. @throws SnowflakeError with the reason if refused */
  private checkGrant(answer: TakeAnswer, count: bigint): TakeGrant {
    if (answer?.status !== 'ok') throw this.refused(answer);
    const { first, end } = answer;
    const { have } = this;
    if (typeof first !== 'bigint' || typeof end !== 'bigint' || first < 0n || end > POSITION_MAX) {
      throw this.wrong('it holds no range of positions');
    }
    const isWanted = first < end && end - first <= count;
    if (!isWanted) throw this.wrong('its range is empty or longer than asked for');
    if (end > have) this.have = end;
    if (answer.era > this.era) this.era = answer.era;
    if (first < have) throw this.wrong(`it begins below ${have}, where the last ended`);
    return answer;
  }

  protected refused(answer: Exclude<TakeAnswer, { status: 'ok' }>): SnowflakeError {
    const { counter, waitAdvice } = this.parts;
    const isKnown = ['wait', 'absent', 'mismatch', 'full'].includes(answer?.status);
    if (isKnown) return refusal({ counter, location: this.location }, answer, waitAdvice);
    return this.wrong(`its status is ${format(answer?.status)}`);
  }

  /**
   * Uses the time of the request, to cover everything granted before. After a loss, the clock may
   * be lower. Only a grant shows that the counter's jump is permanent.
   */
  private observed(answer: TakeAnswer, askedAtMs: number): TakeAnswer {
    const { status, nowMs } = (answer ?? {}) as { status?: string; nowMs?: unknown };
    if (!Number.isSafeInteger(nowMs)) return answer;
    const aheadMs = Number(nowMs) - askedAtMs;
    if (status === 'ok' || aheadMs > (this.aheadMs ?? -Infinity)) this.aheadMs = aheadMs;
    return answer;
  }

  private get monotonicMs(): number {
    return (this.parts.monotonic ?? monotonicClock).now();
  }

  /** The store violates its contract, so no part of the response is used. */
  private wrong(what: string): SnowflakeError {
    return new SnowflakeError(
      'STORE_UNAVAILABLE',
      `The answer of ${formatName(this.location)} for the counter ` +
        `${formatName(this.parts.counter)} was not used: ${what}.`,
    );
  }
}

function waitMsOf(error: unknown): number {
  const waitMs = (error as SnowflakeError).details['waitMs'];
  return typeof waitMs === 'number' ? waitMs : Infinity;
}

/*
 * Errors of a counter store that grants no positions, with cause and remedy.
 *
 * Guarantee: such an error uses up no number. Each name stays on one line.
 */

/** Explains a response without numbers. @param advice advice for frequent waits */
export function refusal(
  { counter, location }: { readonly counter: string; readonly location: string },
  answer: Exclude<TakeAnswer, { status: 'ok' }>,
  advice: string,
): SnowflakeError {
  const which = `the counter ${formatName(counter)} in ${formatName(location)}`;
  switch (answer.status) {
    case 'absent':
      return new SnowflakeError(
        'COUNTER_ABSENT',
        `There is no such counter: ${which}. It was never created, or the store has lost it. It ` +
          `is not created again automatically, because its numbers could repeat. Run \`snowflake ` +
          `counters create\` with a start above every number in use, or give ` +
          `\`startAt: () => the highest id in use\`.`,
      );
    case 'mismatch':
      return new SnowflakeError(
        'COUNTER_MISMATCH',
        `The store keeps ${which} as ${formatName(answer.stored)}, another kind, layout or ` +
          `place among several stores, so no number was taken. Give what the counter was ` +
          `created with, the stores in the same order and number, or use another counter.`,
        { details: { stored: formatName(answer.stored) } },
      );
    case 'full':
      return new SnowflakeError(
        'COUNTER_FULL',
        `No number is left: ${which} has reached its end at 2^63 - 1.`,
      );
    case 'wait':
      return new SnowflakeError(
        'STORE_UNAVAILABLE',
        `The store grants nothing of ${which} for another ${answer.waitMs} ms. The counter is ` +
          `new, its store has lost data, or the most that may be granted at once is used up. ` +
          advice,
        { details: { waitMs: answer.waitMs } },
      );
  }
}

export function silent(location: string, timeoutMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `${formatName(location)} did not answer within ${timeoutMs} ms, so no numbers were taken. ` +
      'Check that the store is up and reachable from this host.',
    { details: { timeoutMs } },
  );
}
