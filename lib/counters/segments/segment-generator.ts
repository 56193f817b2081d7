/**
 * The generator of dense numbers. It counts through its segments one after another, in two 32-bit
 * words. All calls continue the same run.
 *
 * Guarantee: every number comes from an added segment, and without duplicates. `close` removes the
 * unused numbers for good. No clock is read, and only the ID is allocated.
 */
import {
  checkedCount,
  noFields,
  numberTooLarge,
  type CallFields,
  type IdSource,
} from '../../core/generator/id-source.js';
import { KeptIds, type Moment } from '../../core/generator/snowflake-generator.js';
import { HIGH_WORD, IdWords, LOW_WORD } from '../../core/id-words.js';
import { DecimalText } from '../../core/text/decimal.js';
import type { SnowflakeError } from '../../errors.js';

/** The numbers first, first + step, first + 2 * step ..., which belong only to this process. */
export interface Segment {
  readonly first: bigint;
  /** From 1 to 2^31 - 1. */
  readonly count: number;
  readonly step: number;
}

/** The unused end of a segment: its last `left` numbers. */
export interface SegmentRest<S extends Segment> {
  readonly segment: S;
  readonly left: number;
}

const WORD = 2 ** 32;
/** The high word of 2^53, the first integer beyond exact numbers. */
const NUMBER_HIGH_END = 2 ** 21;

/** Generates IDs from segments. Applications inject IdMaker instead. */
export class SegmentGenerator<S extends Segment = Segment> implements IdSource {
  /** The number of calls that found nothing buffered. */
  spentCount = 0;
  private readonly out = new IdWords();
  /** The current run, of numbers that differ only in the low word, and its progress. */
  private madeCount = 0;
  private runCount = 0;
  private step = 1;
  /** The words of the run's first number; the low word is a signed integer, which wraps. */
  private high = 0;
  private low = 0;
  /** The same number as a double, if that is exact. */
  private first = 0;

  private readonly chain: SegmentRest<S>[] = [];
  /** The count of numbers in the chain, without the current run. */
  private queuedCount = 0;
  private issuedBefore = 0;
  private lowMark = 0;
  private isLowNotified = false;
  private closedTimes = 0;
  private readonly decimal = new DecimalText();
  private readonly kept = new KeptIds();

  /**
   * Calls `low` when the buffer falls to the mark, and only once until more numbers are added.
   * `spent` returns the error for a caller that finds nothing buffered.
   */
  constructor(private readonly supply: { low(): void; spent(): SnowflakeError }) {}

  /** The count of numbers available without another segment. */
  get buffered(): number {
    return this.queuedCount + this.runCount - this.madeCount;
  }

  get issuedCount(): number {
    return this.issuedBefore + this.madeCount;
  }

  /** The buffer level at which `low` is called. */
  set mark(count: number) {
    this.lowMark = count;
    this.isLowNotified = false;
    // The current run was sized for another mark.
    this.leaveRun();
  }

  add(segment: S): void {
    this.chain.push({ segment, left: segment.count });
    this.queuedCount += segment.count;
    this.isLowNotified = false;
  }

  /** Removes and returns the unused numbers, the oldest first. */
  close(): readonly SegmentRest<S>[] {
    this.leaveRun();
    this.queuedCount = 0;
    this.closedTimes++;
    return this.chain.splice(0).filter(({ left }) => left > 0);
  }

  /**
   * Generates a number. @throws the error of the supply if nothing is buffered; ARGUMENT_INVALID
   */
  nextId(fields?: CallFields): bigint {
    if (fields !== undefined) refuseFields(fields);
    if (this.madeCount === this.runCount) this.enterRun();
    this.out.words[LOW_WORD] = this.low + Math.imul(this.madeCount++, this.step);
    return this.out.id;
  }

  nextIdAtOnce(fields?: CallFields): bigint {
    return this.nextId(fields);
  }

  nextIdString(fields?: CallFields): string {
    if (fields !== undefined) refuseFields(fields);
    if (this.madeCount === this.runCount) this.enterRun();
    return this.textOf(this.madeCount++);
  }

  /** Generates one number below 2^53. @throws as nextId does; CONFIG_INVALID from 2^53 on */
  nextIdNumber(fields?: CallFields): number {
    if (fields !== undefined) refuseFields(fields);
    if (this.madeCount === this.runCount) this.enterRun();
    if (this.high >= NUMBER_HIGH_END) throw numberTooLarge();
    return this.first + this.madeCount++ * this.step;
  }

  /** Generates `count` numbers, rising within each segment. An error keeps the earlier ones. */
  nextIds(count: number, fields?: CallFields): bigint[] {
    if (fields !== undefined) refuseFields(fields);
    const ids = this.kept.take(checkedCount(count), this.moment);
    let at = ids.length;
    ids.length = count;
    const { out } = this;
    try {
      while (at < count) {
        const from = this.run(count - at);
        for (let made = from; made < this.madeCount; made++, at++) {
          out.words[LOW_WORD] = this.low + Math.imul(made, this.step);
          ids[at] = out.id;
        }
      }
    } catch (error) {
      this.kept.keep(ids.slice(0, at), this.moment);
      throw error;
    }
    return ids;
  }

  nextIdStrings(count: number, fields?: CallFields): string[] {
    if (fields !== undefined) refuseFields(fields);
    const ids = this.kept.take(checkedCount(count), this.moment).map(String);
    let at = ids.length;
    ids.length = count;
    try {
      while (at < count) {
        for (let made = this.run(count - at); made < this.madeCount; made++) {
          ids[at++] = this.textOf(made);
        }
      }
    } catch (error) {
      this.kept.keep(ids.slice(0, at).map(BigInt), this.moment);
      throw error;
    }
    return ids;
  }

  /** Fills an array. Numbers generated before an error stay in it and are not generated again. */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    if (fields !== undefined) refuseFields(fields);
    const words = new Uint32Array(target.buffer, target.byteOffset, target.length * 2);
    for (let at = 0; at < words.length;) {
      const made = this.run((words.length - at) / 2);
      const { high, step } = this;
      const end = at + 2 * (this.madeCount - made);
      // A signed integer that wraps gives the same word, in half the time that a double takes.
      for (let low = (this.low + Math.imul(made, step)) | 0; at < end; low = (low + step) | 0) {
        words[at + HIGH_WORD] = high;
        words[at + LOW_WORD] = low;
        at += 2;
      }
    }
  }

  private textOf(made: number): string {
    return this.decimal.of(this.high, (this.low + Math.imul(made, this.step)) >>> 0);
  }

  private get moment(): Moment {
    return { rangeNumber: this.closedTimes, issuedCount: this.issuedCount };
  }

  /** Takes up to `count` numbers of a run: from the returned index to `madeCount`, exclusive. */
  private run(count: number): number {
    if (this.madeCount === this.runCount) this.enterRun();
    const from = this.madeCount;
    this.madeCount = Math.min(this.runCount, from + count);
    return from;
  }

  /** A run ends with its segment, with its high word, or at the mark of the supply. */
  private enterRun(): void {
    this.settle();
    const { chain, queuedCount, lowMark } = this;
    if (chain[0]?.left === 0) chain.shift();
    if (queuedCount <= lowMark && !this.isLowNotified) {
      this.isLowNotified = true;
      this.supply.low();
    }
    const rest = chain[0];
    if (rest === undefined) {
      this.spentCount++;
      throw this.supply.spent();
    }
    const { segment, left } = rest;
    const first = new IdWords();
    first.id = segment.first + BigInt((segment.count - left) * segment.step);
    this.high = this.out.words[HIGH_WORD] = first.high;
    this.low = first.low | 0;
    this.first = first.high * WORD + first.low;
    this.step = segment.step;
    const inWord = Math.floor((WORD - 1 - first.low) / segment.step) + 1;
    const beforeMark = queuedCount > lowMark ? queuedCount - lowMark : left;
    this.runCount = Math.min(left, inWord, beforeMark);
    this.queuedCount -= this.runCount;
    this.shorten(this.runCount);
  }

  /** Returns the rest of a run to the chain. */
  private leaveRun(): void {
    const left = this.runCount - this.madeCount;
    this.settle();
    if (left === 0) return;
    this.queuedCount += left;
    this.shorten(-left);
  }

  /** Counts the numbers generated from the current run, and ends it. */
  private settle(): void {
    this.issuedBefore += this.madeCount;
    this.runCount = this.madeCount = 0;
  }

  private shorten(by: number): void {
    const { segment, left } = this.chain[0]!;
    this.chain[0] = { segment, left: left - by };
  }
}

function refuseFields(fields: CallFields): void {
  const names = Object.keys(fields);
  if (names.length > 0) throw noFields(names[0]!);
}
