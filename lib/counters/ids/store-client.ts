/**
 * One of the stores that ids are made in: it gets one call at a time, and a rest after a failure.
 *
 * Guarantee: a store that hangs, refuses or waits costs only its own calls; the others are asked
 * meanwhile.
 */
import type { SnowflakeError } from '../../errors.js';
import { RetryDelay, type TimerHandle } from '../../time/timers.js';
import { CounterClient, type CounterClientLimits } from '../counter-client.js';
import type { CounterStore, TakeAnswer } from '../counter-store.js';
import {
  PositionSpace,
  WAIT_ADVICE,
  type CountedTerms,
  type PositionRun,
} from './store-ids-options.js';

interface StoreClientParts extends CounterClientLimits {
  readonly terms: CountedTerms;
  readonly random: () => number;
}

/** So short a wait is not reported: it is over before an operator could act. */
const SHORT_WAIT_MS = 100;

/** A timer takes no more than 2^31 ms, and a store may come to its senses before. */
const WAIT_MS_MAX = 60_000;

export class StoreClient {
  /** The last call failed with this; undefined after a short wait. */
  fault: SnowflakeError | undefined;
  private readonly client: CounterClient;
  private readonly space: PositionSpace;
  private readonly delay: RetryDelay;
  private isBusy = false;
  private timer: TimerHandle;

  /** @param place the position of the store among all, from 1 on */
  constructor(
    readonly store: CounterStore,
    place: number,
    private readonly parts: StoreClientParts,
  ) {
    const { terms, random } = parts;
    this.client = new CounterClient(store, {
      ...parts,
      counter: terms.tag,
      waitAdvice: WAIT_ADVICE,
    });
    this.space = new PositionSpace(terms.layout, place, terms.stores.length);
    this.delay = new RetryDelay(random);
  }

  get location(): string {
    return this.client.location;
  }

  get isAsking(): boolean {
    return this.isBusy;
  }

  get isIdle(): boolean {
    return !this.isBusy && this.timer === undefined;
  }

  /** True while a call is out that did not return within its limit. */
  get isSilent(): boolean {
    return this.client.isSilent;
  }

  /**
   * @param late takes what is granted after the time limit
   * @throws SnowflakeError why there are none, which is its `fault` until the next grant
   */
  async take(count: number, late: (run: PositionRun) => void): Promise<PositionRun> {
    this.isBusy = true;
    try {
      const answer = await this.ask(BigInt(count), late);
      const run = this.runOf(answer, BigInt(count));
      this.fault = undefined;
      this.delay.reset();
      return run;
    } catch (error) {
      // The store grants as far ahead as it may, so it is not away.
      this.fault = isShort(waitMsOf(error)) ? undefined : (error as SnowflakeError);
      throw error;
    } finally {
      this.isBusy = false;
    }
  }

  /** Waits as long as the store said, or longer each time. @param done is called at the end */
  rest(error: SnowflakeError, done: () => void): void {
    const waitMs = waitMsOf(error);
    const ms =
      waitMs === undefined ? this.delay.next() : Math.min(Math.max(1, waitMs), WAIT_MS_MAX);
    this.timer = this.parts.timers.after(ms, () => {
      this.timer = undefined;
      done();
    });
  }

  wakeUp(): void {
    this.parts.timers.cancel(this.timer);
    this.timer = undefined;
  }

  private ask(count: bigint, late: (run: PositionRun) => void): Promise<TakeAnswer> {
    const { tag: counter, aheadMs, layout } = this.parts.terms;
    const { stores, perMs } = this.space;
    const { have, era } = this.client;
    const about = layout.fingerprint;
    return this.client.ask(
      { kind: 'clock', counter, count, have, era, stores, perMs, aheadMs, about },
      (answer) => late(this.runOf(answer, count)),
    );
  }

  private runOf(answer: TakeAnswer, count: bigint): PositionRun {
    const { first, end } = this.client.checkGrant(answer, count);
    return this.space.run(first, end);
  }
}

function waitMsOf(error: unknown): number | undefined {
  const waitMs = (error as SnowflakeError).details['waitMs'];
  return typeof waitMs === 'number' ? waitMs : undefined;
}

function isShort(waitMs = Infinity): boolean {
  return waitMs <= SHORT_WAIT_MS;
}
