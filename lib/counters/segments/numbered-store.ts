/**
 * One of the stores of segments: its positions as numbers, and where its counter begins. A counter
 * that is missing is created again only above every number in use.
 */
import type { Segment } from '../../core/generator/segment-generator.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { isSnowflakeError } from '../../errors.js';
import { withinLimit } from '../../patience/within-limit.js';
import { plainCause, shown } from '../../shown.js';
import { AskedStore, type AskingLimits } from '../asking/asked-store.js';
import type { CounterStore, TakeAnswer } from '../counter-store.js';
import type { NumberSpace } from './number-space.js';
import type { HighestId, SegmentTerms } from './segment-options.js';
import { noHighestId, startFailed } from './segment-texts.js';

/** The numbers of one grant. */
export interface GrantedSegment extends Segment {
  readonly grant: string;
  readonly store: NumberedStore;
}

export interface AskingParts extends AskingLimits {
  readonly terms: SegmentTerms;
  /** Takes what is granted after the time limit. */
  readonly late: (segment: GrantedSegment) => void;
}

const WAIT_CURE = 'If this lasts, raise `skip`.';

export class NumberedStore {
  private readonly asked: AskedStore;

  constructor(
    readonly store: CounterStore,
    private readonly space: NumberSpace,
    private readonly parts: AskingParts,
  ) {
    const { counter } = parts.terms;
    this.asked = new AskedStore(store, { ...parts, counter, waitCure: WAIT_CURE });
  }

  /** True while a call is out that did not return within its limit. */
  get isSilent(): boolean {
    return this.asked.isSilent;
  }

  get place(): string {
    return this.asked.place;
  }

  /** @throws SnowflakeError why there are none */
  async take(count: number): Promise<GrantedSegment> {
    const { startAt } = this.parts.terms;
    const fixed = typeof startAt === 'bigint' && this.asked.have === 0n ? startAt : undefined;
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

  private ask(count: number, startAt: bigint | undefined): Promise<TakeAnswer> {
    const { counter, skip } = this.parts.terms;
    const { have, era } = this.asked;
    const { stores } = this.space;
    const known = { have, era, skip, stores };
    const request = { kind: 'dense', counter, count: BigInt(count), ...known } as const;
    return this.asked.ask(startAt === undefined ? request : { ...request, startAt }, (answer) =>
      this.parts.late(this.granted(answer, count)),
    );
  }

  private granted(answer: TakeAnswer, count: number): GrantedSegment {
    const { first, end, grant } = this.asked.granted(answer, BigInt(count));
    const segment = this.space.segmentOf(first, end);
    if (segment === undefined) throw this.asked.refused({ status: 'full' });
    return { ...segment, grant, store: this };
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
  const isWhole = typeof id === 'bigint' || Number.isSafeInteger(id) || isDecimalId(String(id));
  if (!isWhole || BigInt(id) < 0n) throw noHighestId(shown(id));
  return BigInt(id) + 1n;
}
