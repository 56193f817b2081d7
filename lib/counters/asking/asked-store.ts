/**
 * One of the stores of a counter, as a keeper asks it: within a time limit, with what it answered
 * before.
 *
 * Promise: of an answer nothing is used that lies below what this process was ever answered, so a
 * store that went back gives it no position twice; every failure is a SnowflakeError.
 */
import type { Clock } from '../../core/clock.js';
import type { SnowflakeError } from '../../errors.js';
import type { CallRecord } from '../../patience/call-record.js';
import type { Timers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';
import { shown } from '../../shown.js';
import { POSITION_MAX } from '../counter-store.js';
import type { CounterStore, TakeAnswer, TakeGrant, TakeRequest } from '../counter-store.js';
import { asSnowflakeError, refusal, silent, wrongAnswer } from './store-texts.js';

export interface AskingLimits {
  readonly calls: CallRecord;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly callTimeoutMs: number;
}

export interface AskedParts extends AskingLimits {
  readonly counter: string;
  /** What helps where the store often says to wait. */
  readonly waitCure: string;
}

export class AskedStore {
  /** The highest end answered, as the contract wants it. */
  private answeredEnd = 0n;
  private answeredEra = 0;
  private silentCount = 0;

  constructor(
    readonly store: CounterStore,
    private readonly parts: AskedParts,
  ) {}

  /** True while a call is out that did not return within its limit. */
  get isSilent(): boolean {
    return this.silentCount > 0;
  }

  get place(): string {
    return this.store.place ?? 'the store of counters';
  }

  get have(): bigint {
    return this.answeredEnd;
  }

  /** The highest answered, as the contract wants it. */
  get era(): number {
    return this.answeredEra;
  }

  /**
   * Whatever the store answers within the limit.
   * @param late takes what is granted after it
   * @throws SnowflakeError why there is no answer
   */
  async ask(request: TakeRequest, late: (answer: TakeAnswer) => void): Promise<TakeAnswer> {
    const { calls, clock, timers, callTimeoutMs } = this.parts;
    const sentAtMs = clock.now();
    // Also what throws at once, or returns no promise, comes out of this one.
    const asked = (async () => this.store.take(request))();
    let isLate = false;
    const over = () => {
      isLate = true;
      this.silentCount++;
      throw silent(this.where, callTimeoutMs);
    };
    const handOn = async () => {
      const answer = await asked;
      if (!isLate) return;
      calls.noteLate(String(answer?.status), clock.now());
      late(answer);
    };
    // An error is this call's; that of a late answer, or of taking it in, is nobody's any more.
    void handOn()
      .catch(() => undefined)
      .then(() => isLate && this.silentCount--);
    try {
      const answer = await withinLimit(asked, { timers, ms: callTimeoutMs, over });
      calls.note(String(answer?.status), sentAtMs, clock.now());
      return answer;
    } catch (error) {
      calls.note('error', sentAtMs, clock.now());
      throw asSnowflakeError(error);
    }
  }

  /** The grant, checked against what was asked for. @throws SnowflakeError why there is none */
  granted(answer: TakeAnswer, count: bigint): TakeGrant {
    if (answer?.status !== 'ok') throw this.refused(answer);
    const { first, end } = answer;
    const { have } = this;
    if (typeof first !== 'bigint' || typeof end !== 'bigint' || first < 0n || end > POSITION_MAX) {
      throw wrongAnswer(this.where, 'it holds no range of positions');
    }
    const isWanted = first < end && end - first <= count;
    if (!isWanted) throw wrongAnswer(this.where, 'its range is empty or longer than asked for');
    if (end > have) this.answeredEnd = end;
    if (answer.era > this.era) this.answeredEra = answer.era;
    if (first < have)
      throw wrongAnswer(this.where, `it begins below ${have}, where the last ended`);
    return answer;
  }

  refused(answer: Exclude<TakeAnswer, { status: 'ok' }>): SnowflakeError {
    const isKnown = ['wait', 'absent', 'mismatch', 'full'].includes(answer?.status);
    if (isKnown) return refusal(this.where, answer, this.parts.waitCure);
    return wrongAnswer(this.where, `its status is ${shown(answer?.status)}`);
  }

  private get where() {
    return { counter: this.parts.counter, place: this.place };
  }
}
