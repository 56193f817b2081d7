/**
 * One of the stores, as the keeper asks it: within a time limit, with what it answered before.
 *
 * Promise: of an answer nothing is used that lies below what this process was ever answered, so a
 * store that went back gives it no number twice; every failure is a SnowflakeError.
 */
import type { Segment } from '../../core/generator/segment-generator.js';
import type { Clock } from '../../core/clock.js';
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import type { CallRecord } from '../../patience/call-record.js';
import type { Timers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';
import { plainCause, shown } from '../../shown.js';
import { POSITION_MAX, type CounterStore, type TakeAnswer } from '../counter-store.js';
import type { NumberSpace } from './number-space.js';
import type { HighestId, SegmentTerms } from './segment-options.js';
import { noHighestId, refusal, silent, startFailed, wrongAnswer } from './segment-texts.js';

/** The numbers of one grant. */
export interface GrantedSegment extends Segment {
  readonly grant: string;
  readonly store: NumberedStore;
}

export interface AskingParts {
  readonly terms: SegmentTerms;
  readonly calls: CallRecord;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly callTimeoutMs: number;
  /** Takes what is granted after the time limit. */
  readonly late: (segment: GrantedSegment) => void;
}

export class NumberedStore {
  /** The highest end answered, as the contract wants it. */
  private have = 0n;
  private silentCount = 0;

  constructor(
    readonly store: CounterStore,
    private readonly space: NumberSpace,
    private readonly parts: AskingParts,
  ) {}

  /** True while a call is out that did not return within its limit. */
  get isSilent(): boolean {
    return this.silentCount > 0;
  }

  get place(): string {
    return this.store.place ?? 'the store of counters';
  }

  /** @throws SnowflakeError why there are none */
  async take(count: number): Promise<GrantedSegment> {
    const { startAt } = this.parts.terms;
    const fixed = typeof startAt === 'bigint' && this.have === 0n ? startAt : undefined;
    const start = fixed === undefined ? undefined : this.space.positionFrom(fixed);
    const answer = await this.ask(count, start);
    const isLost = answer?.status === 'absent' && typeof startAt === 'function';
    if (!isLost) return this.granted(answer, count);
    return this.granted(await this.ask(count, await this.startAbove(startAt)), count);
  }

  /** Takes the last numbers of a grant back, if nobody took since. */
  async giveBack({ grant }: GrantedSegment, left: number): Promise<void> {
    await this.store.giveBack?.(grant, BigInt(left));
  }

  private async ask(count: number, startAt: bigint | undefined): Promise<TakeAnswer> {
    const { terms, calls, clock, timers, callTimeoutMs } = this.parts;
    const { counter, skip } = terms;
    const { have } = this;
    const { stores } = this.space;
    const request = { kind: 'dense', counter, count: BigInt(count), have, skip, stores } as const;
    const sentAtMs = clock.now();
    // Also what throws at once, or returns no promise, comes out of this one.
    const ask = async () =>
      this.store.take(startAt === undefined ? request : { ...request, startAt });
    const asked = ask();
    let isLate = false;
    const over = () => {
      isLate = true;
      this.silentCount++;
      throw silent(this.where, callTimeoutMs);
    };
    const handOn = async () => {
      const answer = await asked;
      if (isLate) this.hearLate(answer, count);
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

  private hearLate(answer: TakeAnswer, count: number): void {
    const { calls, clock, late } = this.parts;
    calls.noteLate(answer.status, clock.now());
    late(this.granted(answer, count));
  }

  private granted(answer: TakeAnswer, count: number): GrantedSegment {
    if (answer?.status !== 'ok') throw this.refused(answer);
    const { first, end, grant } = answer;
    const { have } = this;
    if (typeof first !== 'bigint' || typeof end !== 'bigint' || first < 0n || end > POSITION_MAX) {
      throw wrongAnswer(this.where, 'it holds no range of positions');
    }
    const isWanted = first < end && end - first <= BigInt(count);
    if (!isWanted) throw wrongAnswer(this.where, 'its range is empty or longer than asked for');
    if (end > have) this.have = end;
    if (first < have)
      throw wrongAnswer(this.where, `it begins below ${have}, where the last ended`);
    const segment = this.space.segmentOf(first, end);
    if (segment === undefined) throw refusal(this.where, { status: 'full' });
    return { ...segment, grant, store: this };
  }

  private refused(answer: Exclude<TakeAnswer, { status: 'ok' }>): SnowflakeError {
    const isKnown = ['wait', 'absent', 'mismatch', 'full'].includes(answer?.status);
    if (isKnown) return refusal(this.where, answer);
    return wrongAnswer(this.where, `its status is ${shown(answer?.status)}`);
  }

  private get where() {
    return { counter: this.parts.terms.counter, place: this.place };
  }

  /** Others may have numbers in hand that lie above the highest stored: hence the skip. */
  private async startAbove(highest: () => HighestId | Promise<HighestId>): Promise<bigint> {
    const { timers, callTimeoutMs, terms } = this.parts;
    const over = (): never => {
      throw startFailed(`it gave no id within ${callTimeoutMs} ms`);
    };
    const asked = (async () => highest())();
    const id = await withinLimit(asked, { timers, ms: callTimeoutMs, over }).catch((error) => {
      throw isSnowflakeError(error) ? error : startFailed(plainCause(error).message);
    });
    return this.space.positionFrom(afterHighest(id)) + terms.skip;
  }
}

/** The first number above the highest id in use. */
function afterHighest(id: HighestId): bigint {
  if (id === null || id === undefined) return 1n;
  const isWhole =
    typeof id === 'bigint' || Number.isSafeInteger(id) || /^\d{1,19}$/.test(String(id));
  if (!isWhole || BigInt(id) < 0n) throw noHighestId(shown(id));
  return BigInt(id) + 1n;
}

function asSnowflakeError(error: unknown): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  // A store of another maker may hand on the error of its client, passwords and all.
  const cause = plainCause(error);
  return new SnowflakeError('STORE_UNAVAILABLE', `The store failed: ${cause.message}`, { cause });
}
