/**
 * One of the stores of segments. It converts positions to numbers and determines the counter's
 * start. A missing counter is recreated only above every number in use.
 */
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { plainCause, format } from '../../messages.js';
import { withinLimit } from '../../time/timers.js';
import { CounterClient, type Ask } from '../counter-client.js';
import type { TakeAnswer, TakeGrant } from '../counter-store.js';
import type { Segment } from './segment-generator.js';
import type { HighestId, SegmentTerms } from './segment-options.js';

/** The numbers of one grant. */
export interface GrantedSegment extends Segment {
  readonly grant: string;
  readonly store: NumberedStore;
}

export class NumberedStore extends CounterClient<GrantedSegment, SegmentTerms> {
  private readonly space = new NumberSpace(this.parts.place, this.parts.storeCount);

  /** Returns the last numbers of a grant. After a later grant to any process, they are lost. */
  async giveBack({ grant }: GrantedSegment, left: number): Promise<void> {
    const given = (async () => this.store.giveBack?.(grant, BigInt(left)))();
    // Lost numbers are harmless.
    await given.catch(() => undefined);
  }

  protected override async answer(ask: Ask): Promise<TakeAnswer> {
    const { startAt, lossGap } = this.terms;
    const isFixed = typeof startAt === 'bigint' && this.have === 0n;
    const start = isFixed ? { startAt: this.space.positionFrom(startAt) } : {};
    const answer = await ask({ kind: 'dense', lossGap, ...start });
    if (answer?.status !== 'absent' || typeof startAt !== 'function') return answer;
    return ask({ kind: 'dense', lossGap, startAt: await this.startAbove(startAt) });
  }

  protected override rangeOf({ first, end, grant }: TakeGrant): GrantedSegment {
    const segment = this.space.segmentOf(first, end);
    if (segment === undefined) throw this.refused({ status: 'full' });
    return { ...segment, grant, store: this };
  }

  /**
   * Other processes may have buffered numbers above the highest stored one, so the loss gap is
   * added.
   */
  private async startAbove(highest: () => HighestId | Promise<HighestId>): Promise<bigint> {
    const { timers, callTimeoutMs } = this.parts;
    const over = (): never => {
      throw startFailed(`it gave no id within ${callTimeoutMs} ms`);
    };
    const asked = (async () => highest())();
    const id = await withinLimit(asked, { timers, ms: callTimeoutMs, over }).catch((error) => {
      throw isSnowflakeError(error) ? error : startFailed(plainCause(error).message);
    });
    return this.space.positionFrom(afterHighest(id)) + this.terms.lossGap;
  }
}

/** The first number above the highest ID in use. */
function afterHighest(id: HighestId): bigint {
  if (id === null || id === undefined) return 1n;
  const isWhole = typeof id === 'bigint' || Number.isSafeInteger(id) || isDecimalId(String(id));
  if (isWhole && BigInt(id) >= 0n) return BigInt(id) + 1n;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected the function \`startAt\` to give the highest id in use, as bigint or decimal text, ` +
      `or null for an empty table, got ${format(id)}.`,
  );
}

function startFailed(text: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', `The function \`startAt\` failed: ${text}`);
}

/*
 * Converts positions of a counter to numbers. With one store they are equal. Each of N stores
 * supplies every N-th number, like database masters with an offset and an increment.
 *
 * Guarantee: a number belongs to only one position of one store.
 */

export class NumberSpace {
  private readonly step: bigint;

  /** @param place the position of the store, from 1 to `storeCount` */
  constructor(
    private readonly place: number,
    private readonly storeCount: number,
  ) {
    this.step = BigInt(storeCount);
  }

  /** Returns the number of a position; position 1 has the number `place`. */
  numberOf(position: bigint): bigint {
    return (position - 1n) * this.step + BigInt(this.place);
  }

  /** Returns the first position whose number is at least `number`. */
  positionFrom(number: bigint): bigint {
    const distance = number - BigInt(this.place);
    const whole = distance / this.step;
    // Bigint division rounds towards zero.
    return 1n + (distance > 0n && distance % this.step !== 0n ? whole + 1n : whole);
  }

  /** Returns the numbers of the positions from `first` to `end`, up to the largest ID. */
  segmentOf(first: bigint, end: bigint): Segment | undefined {
    const [least, over] = [this.positionFrom(0n), this.positionFrom(ID_MAX + 1n)];
    const from = first > least ? first : least;
    const to = end < over ? end : over;
    if (to <= from) return undefined;
    return { first: this.numberOf(from), count: Number(to - from), step: this.storeCount };
  }
}
