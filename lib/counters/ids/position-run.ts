/**
 * Ids of a range of positions. A position is a time and a number within its millisecond; of N
 * stores store k gives every N-th sequence, from k - 1 on:
 *
 *     position = ms * perMs + n          id = ms - epoch | fields of the call | n * N + k - 1
 *
 * Promise: no id belongs to two positions, nor to two stores, whatever the fields; within a run
 * they rise where the fields stay the same.
 */
import type { CallWords } from '../../core/generator/call-words.js';
import { timeExhausted } from '../../core/generator/generator-errors.js';
import { IdWords } from '../../core/id-words.js';
import type { BitLayout } from '../../core/layout/bit-layout.js';
import { beforeEpochOfLayout } from './counted-texts.js';

/** What a store counts fits 22 bits per ms. */
const PER_MS_MAX = 4_194_304;

/** One of several stores, and what its positions are. */
export class PositionSpace {
  readonly perMs: number;

  /** @param place which of the stores, from 1 to `storeCount` */
  constructor(
    readonly layout: BitLayout,
    readonly place: number,
    readonly storeCount: number,
  ) {
    this.perMs = perMsOf(layout, storeCount);
  }

  /** As the store keeps it, so that another order or number of stores is refused. */
  get stores(): string {
    return `${this.place}/${this.storeCount}`;
  }

  /** @throws SnowflakeError where the layout has no such time, or not any more */
  run(first: bigint, end: bigint): PositionRun {
    const { layout } = this;
    const perMs = BigInt(this.perMs);
    const startMs = Number(first / perMs);
    if (startMs < layout.epochMs) throw beforeEpochOfLayout(layout, startMs);
    const isOver = (position: bigint) =>
      layout.tickOf(Number(position / perMs)) > layout.timestamp.max;
    if (isOver(first)) throw timeExhausted(layout);
    // Of a range across the end the rest is no id any more.
    const last = isOver(end - 1n) ? BigInt(layout.epochMs + layout.lifetimeMs) * perMs : end;
    return new PositionRun(this, startMs, Number(first % perMs), Number(last - first));
  }
}

/** How many positions a store has in each ms; less than 1 where there are too many stores. */
export function perMsOf({ sequence }: BitLayout, storeCount: number): number {
  return Math.min(PER_MS_MAX, Math.floor((sequence.max + 1) / storeCount));
}

/** The positions of one grant, the lowest first; each is taken once. */
export class PositionRun {
  private readonly out = new IdWords();
  private high = 0;
  private low = 0;

  constructor(
    private readonly space: PositionSpace,
    private ms: number,
    private number: number,
    private leftCount: number,
  ) {
    this.enterMs();
  }

  get left(): number {
    return this.leftCount;
  }

  /** One id. Only while something is left. */
  next({ high, low }: CallWords): bigint {
    const { out, space } = this;
    const { sequence } = space.layout;
    const value = this.number * space.storeCount + space.place - 1;
    out.set(this.high + high + sequence.highOf(value), this.low + low + sequence.lowOf(value));
    this.leftCount--;
    if (++this.number === space.perMs) {
      this.number = 0;
      this.ms++;
      this.enterMs();
    }
    return out.id;
  }

  /** The first `count` of them as a run of their own; at most as many as are left. */
  split(count: number): PositionRun {
    const taken = new PositionRun(this.space, this.ms, this.number, count);
    const { perMs } = this.space;
    this.leftCount -= count;
    this.ms += Math.floor((this.number + count) / perMs);
    this.number = (this.number + count) % perMs;
    this.enterMs();
    return taken;
  }

  private enterMs(): void {
    const { layout } = this.space;
    const tick = layout.tickOf(this.ms);
    this.high = layout.timestamp.highOf(tick);
    this.low = layout.timestamp.lowOf(tick);
  }
}
