/**
 * Turns a clock and a lease window into IDs. Calls on the fast path advance within one block of
 * sequence numbers.
 *
 * Guarantee: every ID's tick lies in a range of the lease window, (tick, sequence) strictly rises
 * within a range, and only the ID is allocated. A wrong clock only makes the time in IDs wrong.
 */
import { checkedOptions, choice, methods, typed, whole, type OptionTable } from '../../options.js';
import { systemClock, type Clock } from '../clock.js';
import { HIGH_WORD, IdWords, LOW_WORD } from '../id-words.js';
import type { BitLayout } from '../layout/bit-layout.js';
import { isSharedLease, joinWindow, notShared, type SharedLease } from '../window/shared-lease.js';
import type { WindowRange, LeaseWindow } from '../window/lease-window.js';
import { DecimalText } from '../text/decimal.js';
import { Block, BlockTaker } from './block-taker.js';
import {
  callWords,
  checkedCount,
  tooWideForNumber,
  withCallFields,
  type CallFields,
  type IdSource,
} from './id-source.js';

/** Options of a SnowflakeGenerator that is used without Nest. */
export interface GeneratorOptions {
  /**
   * How far IDs may run ahead of the clock when a tick's sequence is spent, ms. Default 1000, or 0
   * in an endless range, where only the clock prevents duplicates after a restart. 0 to 3,600,000.
   */
  readonly aheadMsMax?: number | undefined;
  /**
   * The start of the sequence in a new tick: 0, or a random number for even `id % n`. Default
   * 'zero'.
   */
  readonly sequenceStart?: 'zero' | 'random' | undefined;
  /** The source of time. Default: the host's wall clock. */
  readonly clock?: Clock | undefined;
  /** A number from 0 (inclusive) to 1 (exclusive). Default Math.random. */
  readonly random?: (() => number) | undefined;
}

export const GENERATOR = {
  aheadMsMax: [whole(0, 3_600_000), undefined],
  sequenceStart: [choice('zero', 'random'), 'zero'],
  clock: [methods('now'), systemClock],
  random: [typed('function'), Math.random],
} satisfies OptionTable<GeneratorOptions>;

/** A run is `count` IDs with the same high word; the low words begin at `low`, one step apart. */
interface Run {
  readonly high: number;
  readonly low: number;
  readonly count: number;
}

/**
 * Generates IDs from a lease window. Applications inject IdMaker instead; this is for code without
 * Nest.
 *
 * @example
 * ```ts
 * import { SnowflakeGenerator, LeaseWindow, layouts } from 'nestjs-snowflake/core';
 *
 * const window = new LeaseWindow(layouts.snowflake());
 * window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
 * const id = new SnowflakeGenerator(window).nextId();
 * ```
 */
export class SnowflakeGenerator implements IdSource {
  readonly layout: BitLayout;
  private readonly clock: Clock;
  private readonly taker: BlockTaker;
  private readonly block = new Block();
  private readonly out = new IdWords();
  private readonly full = new IdWords();
  private readonly decimal = new DecimalText();
  private readonly kept = new KeptIds();

  private readonly shift: number;
  /** True if the sequence extends into the high word, which otherwise changes once per tick. */
  private readonly isWide: boolean;

  /** The words of an ID of this tick with sequence 0, as 32-bit integers. */
  private high = 0;
  private low = 0;
  /** The time at which the clock has passed the tick; -Infinity before the first. */
  private tickEndMs = -Infinity;
  private range: WindowRange | undefined;
  private workerHigh = 0;
  private workerLow = 0;
  private issuedBefore = 0;

  constructor(
    private readonly window: LeaseWindow,
    options: GeneratorOptions = {},
  ) {
    const terms = checkedOptions(options, GENERATOR, 'SnowflakeGenerator');
    const { layout } = window;
    this.layout = layout;
    this.clock = terms.clock;
    const start = terms.sequenceStart === 'random' ? terms.random : undefined;
    this.taker = new BlockTaker(window, this.clock, terms.aheadMsMax, start);
    this.shift = layout.sequence.shift;
    this.isWide = layout.sequence.shift + layout.sequence.bits > 32;
  }

  /** The number of IDs generated so far. */
  get issuedCount(): number {
    return this.issuedBefore + this.block.sequence - this.block.first + 1;
  }

  /** How far the time of the last ID is ahead of the clock, ms; 0 if it is not ahead. */
  get aheadMs(): number {
    return Math.max(0, this.layout.msOf(this.block.tick) - this.clock.now());
  }

  /** The minimum number of IDs left in the leased range; undefined if the range is endless. */
  get idsLeft(): number | undefined {
    return this.window.idsLeft(this.clock.now());
  }

  /** How often an ID had to wait for the clock because the run-ahead was spent. */
  get waitCount(): number {
    return this.taker.runAhead.waitCount;
  }

  /** How often the clock moved backwards. */
  get rollbackCount(): number {
    return this.taker.runAhead.rollbackCount;
  }

  /**
   * Generates one ID.
   * @throws SnowflakeError NOT_READY, LEASE_LOST, SEQUENCE_SPENT, CLOCK_UNUSABLE (retryable),
   * TIME_EXHAUSTED, or ARGUMENT_INVALID for a call field that does not fit.
   */
  nextId(fields?: CallFields): bigint {
    if (fields !== undefined || this.isWide) return this.nextInFull(fields).id;
    this.advance();
    this.out.words[LOW_WORD] = this.low | (this.block.sequence << this.shift);
    return this.out.id;
  }

  /** Generates one ID as a decimal string, without a bigint. Throws as nextId does. */
  nextIdString(fields?: CallFields): string {
    if (fields !== undefined || this.isWide) {
      const { high, low } = this.nextInFull(fields);
      return this.decimal.of(high, low);
    }
    this.advance();
    const low = (this.low | (this.block.sequence << this.shift)) >>> 0;
    return this.decimal.of(this.high, low);
  }

  /**
   * Generates one ID as a number, for layouts of at most 53 bits. Throws as nextId does.
   * @throws SnowflakeError CONFIG_INVALID on a wider layout.
   */
  nextIdNumber(fields?: CallFields): number {
    const { totalBits } = this.layout;
    if (totalBits > 53) throw tooWideForNumber(totalBits);
    const { high, low } = this.nextInFull(fields);
    return high * 2 ** 32 + low;
  }

  /** Generates one ID, or throws SEQUENCE_SPENT at once if nextId() would wait for the clock. */
  nextIdAtOnce(fields?: CallFields): bigint {
    this.taker.runAhead.mayWait = false;
    try {
      return this.nextId(fields);
    } finally {
      this.taker.runAhead.mayWait = true;
    }
  }

  /**
   * Generates `count` IDs in rising order and reads the clock once per tick. Throws as nextId does,
   * and ARGUMENT_INVALID unless the count is an integer of at least 0. IDs generated before an
   * error are kept, and the next call returns them first.
   */
  nextIds(count: number, fields?: CallFields): bigint[] {
    const ids = this.keptFor(checkedCount(count), fields);
    let at = ids.length;
    ids.length = count;
    const { full } = this;
    const step = 1 << this.shift;
    try {
      while (at < count) {
        const run = this.nextRun(count - at, fields);
        full.set(run.high, run.low);
        for (const end = at + run.count; at < end; at++) {
          ids[at] = full.id;
          full.words[LOW_WORD]! += step;
        }
      }
    } catch (error) {
      this.kept.keep(ids.slice(0, at), this.moment);
      throw error;
    }
    return ids;
  }

  /** Generates `count` IDs as decimal strings, like nextIds(). */
  nextIdStrings(count: number, fields?: CallFields): string[] {
    const ids = this.keptFor(checkedCount(count), fields).map(String);
    let at = ids.length;
    ids.length = count;
    const step = 2 ** this.shift;
    try {
      while (at < count) {
        const run = this.nextRun(count - at, fields);
        const end = at + run.count;
        for (let { low } = run; at < end; at++, low += step) {
          ids[at] = this.decimal.of(run.high, low);
        }
      }
    } catch (error) {
      this.kept.keep(ids.slice(0, at).map(BigInt), this.moment);
      throw error;
    }
    return ids;
  }

  /**
   * Fills an array with IDs like nextIds(), without creating a bigint for each. Throws as nextId
   * does. IDs generated before an error stay in the array and are not generated again.
   */
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void {
    const words = new Uint32Array(target.buffer, target.byteOffset, target.length * 2);
    const step = 1 << this.shift;
    for (let at = 0; at < words.length;) {
      const { high, low: first, count } = this.nextRun((words.length - at) / 2, fields);
      const end = at + 2 * count;
      // A signed integer that wraps gives the same word, in half the time that a double takes.
      for (let low = first | 0; at < end; at += 2, low = (low + step) | 0) {
        words[at + HIGH_WORD] = high;
        words[at + LOW_WORD] = low;
      }
    }
  }

  private get moment(): Moment {
    return { rangeNumber: this.window.currentNumber, issuedCount: this.issuedCount };
  }

  /** Takes the IDs left over from a failed batch, with the call fields of this batch. */
  private keptFor(count: number, fields: CallFields | undefined): bigint[] {
    if (this.kept.isEmpty) return [];
    const ids = this.kept.take(count, this.moment);
    return ids.length === 0 ? ids : withCallFields(this.layout, ids, fields);
  }

  /** Takes up to `count` IDs that differ only in the low word, one step of the sequence each. */
  private nextRun(count: number, fields: CallFields | undefined): Run {
    const call = callWords(this.layout, fields);
    const { sequence: field } = this.layout;
    this.advance();
    const { block } = this;
    const first = block.sequence;
    if (!this.isWide) block.sequence = Math.min(block.last, first + count - 1);
    const high = this.high | call.high | field.highOf(first);
    const low = (this.low | call.low | field.lowOf(first)) >>> 0;
    return { high, low, count: block.sequence - first + 1 };
  }

  /** Handles the general case: call fields, or a sequence that reaches into the high word. */
  private nextInFull(fields: CallFields | undefined): IdWords {
    const call = callWords(this.layout, fields);
    this.advance();
    const { sequence } = this.block;
    const field = this.layout.sequence;
    this.full.set(
      this.high | call.high | field.highOf(sequence),
      this.low | call.low | field.lowOf(sequence),
    );
    return this.full;
  }

  /** Usually the tick is the same and the number is the next, which costs only comparisons. */
  private advance(): void {
    const nowMs = this.clock.now();
    const { block } = this;
    const isGood = nowMs < this.tickEndMs && block.number === this.window.currentNumber;
    if (isGood && block.sequence < block.last) block.sequence++;
    else this.leaveBlock(nowMs);
  }

  private leaveBlock(nowMs: number): void {
    const { block, layout } = this;
    this.issuedBefore = this.issuedCount;
    // This prevents double counting, even if the generator gets no block.
    block.first = block.sequence + 1;
    this.taker.advance(block, layout.tickOf(nowMs));
    this.tickEndMs = layout.msOf(block.tick + 1);
    this.enterRange(block.range!);
    this.high = this.workerHigh | layout.timestamp.highOf(block.tick);
    this.low = this.workerLow | layout.timestamp.lowOf(block.tick);
    this.out.words[HIGH_WORD] = this.high;
  }

  private enterRange(range: WindowRange): void {
    if (range === this.range) return;
    this.range = range;
    const words = this.layout.workerWords(range.workerId);
    this.workerHigh = words.high;
    this.workerLow = words.low;
  }
}

/*
 * The IDs that a failed batch took and did not deliver.
 *
 * Guarantee: the next batch begins with these IDs if no ID has been generated since and their range
 * is still in use. So IDs rise, and no leftover ID outlives a dropped lease.
 */

/** Shows whether IDs were generated between two batches, and whether the lease is the same. */
export interface Moment {
  /** The number of the range in use. */
  readonly rangeNumber: number;
  readonly issuedCount: number;
}

const NEVER: Moment = { rangeNumber: -1, issuedCount: -1 };

export class KeptIds {
  private ids: readonly bigint[] = [];
  private since = NEVER;

  get isEmpty(): boolean {
    return this.ids.length === 0;
  }

  keep(ids: readonly bigint[], now: Moment): void {
    this.ids = ids;
    this.since = now;
  }

  /** Takes up to `count` IDs and keeps the rest. */
  take(count: number, { rangeNumber, issuedCount }: Moment): bigint[] {
    const { since } = this;
    const isGood = since.rangeNumber === rangeNumber && since.issuedCount === issuedCount;
    const taken = isGood ? this.ids.slice(0, count) : [];
    this.ids = isGood ? this.ids.slice(count) : [];
    return taken;
  }
}

/**
 * A generator for a worker thread without Nest. It uses the lease of the thread that started it.
 * The worker thread calls no store: the starting thread renews and releases the lease.
 * @throws SnowflakeError CONFIG_INVALID for any value except `IdMaker.sharedLease`, which cannot
 * cross a process boundary.
 * @example
 * ```ts
 * import { workerData } from 'node:worker_threads';
 * import { joinSharedLease, type SharedLease } from 'nestjs-snowflake/core';
 *
 * const ids = joinSharedLease((workerData as { ids: SharedLease }).ids);
 * ids.nextIdString();
 * ```
 */
export function joinSharedLease(
  shared: SharedLease,
  clock: Clock = systemClock,
): SnowflakeGenerator {
  if (!isSharedLease(shared)) throw notShared(shared);
  const window = joinWindow(shared);
  const { aheadMsMax, sequenceStart } = shared;
  const options = { aheadMsMax, sequenceStart, clock: window.anchored(clock) };
  return new SnowflakeGenerator(window, options);
}
