/**
 * The generator: from a clock and a seat to ids.
 *
 * Promise: every id's tick lies in a range of the seat, (tick, sequence) strictly rises within a
 * range, and nothing is allocated but the id. A clock that stands still, jumps or runs back costs
 * accuracy of the time in the ids, never their uniqueness.
 */
import { SnowflakeError, shown } from '../errors.js';
import { checkedPart, type BitLayout } from './bit-layout.js';
import { systemClock, type Clock } from './clock.js';
import { DecimalText } from './decimal-text.js';
import { beforeEpoch, timeExhausted, unknownField } from './generator-errors.js';
import { HIGH_WORD, IdWords, LOW_WORD } from './id-words.js';
import type { LayoutField } from './layout-field.js';
import { RunAhead } from './run-ahead.js';
import type { SeatedRange, WorkerSeat } from './worker-seat.js';

/** Values of a layout's call fields, by name; those left out are 0. */
export type CallFields = Readonly<Record<string, number>>;

export interface GeneratorOptions {
  /** How far ids may run ahead of the clock when a tick's sequence is spent. Default 1000. */
  readonly aheadMsMax?: number;
  /**
   * Where the sequence of a new tick starts: at 0, or at random for even `id % n`. Default
   * 'zero'.
   */
  readonly sequenceStart?: 'zero' | 'random';
  readonly clock?: Clock;
  /** A number from 0 (inclusive) to 1 (exclusive). Default Math.random. */
  readonly random?: () => number;
}

export const AHEAD_MS_MAX_DEFAULT = 1000;

const NO_CALL_FIELDS = { high: 0, low: 0 } as const;

/**
 * Makes ids from a seat. Applications inject IdMaker instead; this is for code without Nest.
 *
 * @example
 * ```ts
 * import { SnowflakeGenerator, WorkerSeat, layouts } from 'nestjs-snowflake/core';
 *
 * const seat = new WorkerSeat(layouts.snowflake());
 * seat.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
 * const id = new SnowflakeGenerator(seat).nextId();
 * ```
 */
export class SnowflakeGenerator {
  readonly layout: BitLayout;
  private readonly clock: Clock;
  private readonly runAhead: RunAhead;
  private readonly random: (() => number) | undefined;
  private readonly out = new IdWords();
  private readonly full = new IdWords();
  private readonly decimal = new DecimalText();

  private readonly epochMs: number;
  private readonly unitMs: number;
  private readonly sequenceMax: number;
  private readonly sequenceField: LayoutField;
  /** True when the sequence touches the high word, which otherwise changes once per tick. */
  private readonly isWide: boolean;

  private range: SeatedRange | undefined;
  private tick = -Infinity;
  private sequence = 0;
  private sequenceFirst = 1;
  /** The words of an id of this tick with sequence 0, as 32-bit integers. */
  private high = 0;
  private low = 0;
  private workerHigh = 0;
  private workerLow = 0;
  private issuedBefore = 0;

  constructor(
    private readonly seat: WorkerSeat,
    options: GeneratorOptions = {},
  ) {
    const { layout } = seat;
    this.layout = layout;
    this.clock = options.clock ?? systemClock;
    const aheadMsMax = options.aheadMsMax ?? AHEAD_MS_MAX_DEFAULT;
    this.runAhead = new RunAhead(layout, this.clock, aheadMsMax);
    this.random = options.sequenceStart === 'random' ? (options.random ?? Math.random) : undefined;
    this.epochMs = layout.epochMs;
    this.unitMs = layout.unitMs;
    this.sequenceField = layout.sequence;
    this.sequenceMax = layout.sequence.max;
    this.isWide = layout.sequence.shift + layout.sequence.bits > 32;
  }

  /** Ids made so far. */
  get issuedCount(): number {
    return this.issuedBefore + this.sequence - this.sequenceFirst + 1;
  }

  /** How often an id had to wait for the clock because the run-ahead was spent. */
  get waitCount(): number {
    return this.runAhead.waitCount;
  }

  /** How often the clock was seen to go back. */
  get rollbackCount(): number {
    return this.runAhead.rollbackCount;
  }

  /**
   * One id.
   * @throws SnowflakeError NOT_READY, LEASE_LOST, SEQUENCE_SPENT, CLOCK_BACKWARDS (retryable),
   * TIME_EXHAUSTED, or ID_INVALID for a call field that does not fit.
   */
  nextId(fields?: CallFields): bigint {
    if (fields !== undefined || this.isWide) return this.nextInFull(fields).id;
    this.advance();
    this.out.words[LOW_WORD] = this.low | (this.sequence << this.sequenceField.shift);
    return this.out.id;
  }

  /** One id as decimal text, made without a bigint. Throws as nextId does. */
  nextIdString(fields?: CallFields): string {
    if (fields !== undefined || this.isWide) {
      const { high, low } = this.nextInFull(fields);
      return this.decimal.of(high, low);
    }
    this.advance();
    const low = (this.low | (this.sequence << this.sequenceField.shift)) >>> 0;
    return this.decimal.of(this.high, low);
  }

  /**
   * One id as a number, for layouts of at most 53 bits. Throws as nextId does.
   * @throws SnowflakeError CONFIG_INVALID on a wider layout.
   */
  nextIdNumber(fields?: CallFields): number {
    if (this.layout.totalBits > 53) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        `Ids of this layout have ${this.layout.totalBits} bits and do not fit in a number, which ` +
          `holds 53. Use nextId(), nextIdString(), or layouts.javascriptSafe().`,
      );
    }
    const { high, low } = this.nextInFull(fields);
    return high * 2 ** 32 + low;
  }

  /**
   * `count` ids, in rising order. Throws as nextId does; ids made before the error are lost.
   */
  nextIds(count: number, fields?: CallFields): bigint[] {
    if (!Number.isInteger(count) || count < 0) {
      throw new SnowflakeError(
        'ID_INVALID',
        `Expected \`count\` to be an integer from 0 up, got ${shown(count)}.`,
      );
    }
    const ids = new BigUint64Array(count);
    this.fill(ids, fields);
    return Array.from(ids);
  }

  /**
   * Fills an array with ids, in rising order; the clock is read once per tick. Throws as nextId.
   */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    const call = this.callWords(fields);
    const words = new Uint32Array(target.buffer, target.byteOffset, target.length * 2);
    const { sequenceField: field, isWide } = this;
    for (let at = 0; at < words.length;) {
      this.advance();
      const end = Math.min(this.sequenceMax + 1, this.sequence + (words.length - at) / 2);
      const high = this.high | call.high;
      const low = this.low | call.low;
      for (let sequence = this.sequence; sequence < end; sequence++, at += 2) {
        words[at + HIGH_WORD] = isWide ? high | field.highOf(sequence) : high;
        words[at + LOW_WORD] = low | (isWide ? field.lowOf(sequence) : sequence << field.shift);
      }
      this.sequence = end - 1;
    }
  }

  /** The general case: call fields, or a sequence that reaches into the high word. */
  private nextInFull(fields: CallFields | undefined): IdWords {
    const call = this.callWords(fields);
    this.advance();
    const { sequence, sequenceField: field } = this;
    this.full.set(
      this.high | call.high | field.highOf(sequence),
      this.low | call.low | field.lowOf(sequence),
    );
    return this.full;
  }

  private callWords(fields: CallFields | undefined): { high: number; low: number } {
    if (fields === undefined) return NO_CALL_FIELDS;
    const words = { high: 0, low: 0 };
    for (const [name, value] of Object.entries(fields)) {
      const field = this.layout.callFields.find((known) => known.name === name);
      if (field === undefined) throw unknownField(this.layout, name);
      words.high |= field.highOf(checkedPart(field, value));
      words.low |= field.lowOf(value);
    }
    return words;
  }

  /** Takes the next free (tick, sequence) pair. The usual case is the same tick, one further. */
  private advance(): void {
    const nowTick = Math.floor((this.clock.now() - this.epochMs) / this.unitMs);
    if (
      nowTick <= this.tick &&
      this.sequence < this.sequenceMax &&
      this.range === this.seat.current
    ) {
      this.sequence++;
    } else {
      this.leaveTick(nowTick);
    }
  }

  private leaveTick(nowTick: number): void {
    let range = this.seat.current ?? this.seat.refuse();
    let tick = this.firstTick(range, nowTick);
    const stays = range === this.range && tick === this.tick;
    if (stays) {
      if (this.sequence < this.sequenceMax) {
        this.sequence++;
        return;
      }
      tick++;
    }
    while (tick >= range.ceilingTick) {
      range = this.seat.moveOn();
      tick = this.firstTick(range, nowTick);
    }
    this.checkTime(tick);
    const overflows = stays && range === this.range;
    if (overflows) this.runAhead.take(tick, nowTick);
    else this.runAhead.observe(nowTick);
    this.enterTick(range, tick, overflows ? 0 : this.sequenceStart());
  }

  /** `max(clock, last, floor)`; another range begins behind the last tick, so that ids rise. */
  private firstTick(range: SeatedRange, nowTick: number): number {
    const next = range.rewinds ? -Infinity : this.tick + 1;
    const least = range === this.range ? this.tick : next;
    return Math.max(this.seat.follow(range, nowTick), range.floorTick, least);
  }

  private enterTick(range: SeatedRange, tick: number, sequence: number): void {
    this.issuedBefore = this.issuedCount;
    if (range !== this.range) this.enterRange(range);
    this.tick = tick;
    this.sequence = this.sequenceFirst = sequence;
    this.high = this.workerHigh | this.layout.timestamp.highOf(tick);
    this.low = this.workerLow | this.layout.timestamp.lowOf(tick);
    this.out.words[HIGH_WORD] = this.high;
    this.seat.reached(range, tick);
  }

  private enterRange(range: SeatedRange): void {
    this.range = range;
    const words = this.layout.workerWords(range.workerId);
    this.workerHigh = words.high;
    this.workerLow = words.low;
  }

  /** The lower half only: a tick that starts at random still has 2048 of 4096 numbers or more. */
  private sequenceStart(): number {
    if (this.random === undefined) return 0;
    return Math.floor((this.random() * (this.sequenceMax + 1)) / 2);
  }

  private checkTime(tick: number): void {
    if (tick > this.layout.timestamp.max) throw timeExhausted(this.layout);
    // Written so that a clock that answers NaN is refused too.
    if (!(tick >= 0)) throw beforeEpoch(this.layout, this.clock.now());
  }
}
