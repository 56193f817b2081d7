/**
 * The options of IDs generated in a store, with defaults and errors.
 *
 * Guarantee: it reports every error at once, and no message shows a store, a client, or a possible
 * URL.
 */
import { timeExhausted, type CallWords } from '../../core/generator/id-source.js';
import { IdWords } from '../../core/id-words.js';
import { BitLayout, isLayout, layoutFaults } from '../../core/layout/bit-layout.js';
import { epochText } from '../../core/layout/layout-fields.js';
import { layouts } from '../../core/layout/presets.js';
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import {
  nameFaults,
  optionFaults,
  readOptions,
  refuse,
  whole,
  type OptionTable,
} from '../../options.js';
import { storeFaults, type CounterStore } from '../counter-store.js';

/** How many IDs to prefetch, and how long they stay usable. */
export interface PrefetchOptions {
  /** How many IDs to take at a time, 1 to 1,000,000. The buffer holds up to three times as many. */
  readonly count: number;
  /** The largest age of a buffered ID, 10 ms to an hour. */
  readonly staleMs: number;
}

/** The IDs to generate, in any store. */
export interface IdOptions {
  /**
   * The name of the IDs, e.g. `order`: 1 to 128 characters without spaces. Two tags may share one
   * name.
   */
  readonly tag: string;
  /**
   * The layout of the IDs, with ticks of 1 ms. Each call fills every field except time and
   * sequence. Default layouts.redisIdGenerator(). The store records the layout and refuses another.
   */
  readonly layout?: BitLayout | undefined;
  /** How far IDs may run ahead of the store's clock, 1 ms to an hour. Default 1000. */
  readonly aheadMs?: number | undefined;
  /**
   * Prefetches IDs for nextId() and other calls that cannot wait. Prefetched IDs rise within the
   * process; IDs of nextIdAsync() rise across all processes. Default: none, and nextId() refuses.
   */
  readonly prefetch?: PrefetchOptions | undefined;
}

export interface CountedOptions extends IdOptions {
  /** One or several stores. The stores record their order, so it must not change. */
  readonly stores: readonly CounterStore[];
}

/** The completed options; in the layout, every other field is a call field. */
export type CountedTerms = ReturnType<typeof countedTerms>;

const HOUR_MS = 3_600_000;

export const IDS = {
  stores: [storeFaults],
  tag: [nameFaults],
  layout: [(_, layout) => [...layoutFaults(layout), ...unitFaults(layout)], undefined],
  aheadMs: [whole(1, HOUR_MS), 1000],
  prefetch: [prefetchFaults, undefined],
} satisfies OptionTable<CountedOptions>;
const PREFETCH = {
  count: [whole(1, 1_000_000)],
  staleMs: [whole(10, HOUR_MS)],
} satisfies OptionTable<PrefetchOptions>;

/** @throws SnowflakeError CONFIG_INVALID with every error in `details.faults` */
export function countedTerms(options: CountedOptions) {
  const { terms, faults } = readOptions(options, IDS, 'RedisIdsModule');
  const { stores, layout = layouts.redisIdGenerator() } = terms;
  if (faults.length === 0 && perMsOf(layout, stores.length) < 1) {
    faults.push(
      `Expected at most ${layout.sequence.max + 1} stores, as many as the layout ` +
        `${layout.fingerprint} has sequences in a millisecond, got ${stores.length}.`,
    );
  }
  refuse(faults);
  return { ...terms, layout: byCall(layout) };
}

/**
 * Returns the same layout with call fields for all fields except time and sequence, since no
 * process leases them.
 */
function byCall({ fields, epochMs, unitMs }: BitLayout): BitLayout {
  return new BitLayout({
    epoch: epochText(epochMs),
    unitMs,
    fields: fields.map(({ name, bits, role }) =>
      role === 'timestamp' || role === 'sequence' ? [name, bits] : [name, bits, 'call'],
    ),
  });
}

function prefetchFaults(name: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) {
    return [`Expected \`${name}\` to be { count, staleMs }, got ${format(value)}.`];
  }
  return optionFaults(value as PrefetchOptions, PREFETCH, '`prefetch`', 'prefetch.');
}

function unitFaults(layout: unknown): string[] {
  if (!isLayout(layout) || layout.unitMs === 1) return [];
  return [
    `Expected a \`layout\` in units of 1 ms, got ${layout.fingerprint}. A position of the ` +
      `counter is a millisecond and a number within it, so ids of a longer unit would repeat.`,
  ];
}

/*
 * The IDs of a range of positions. A position is a time and a number within its millisecond. Of N
 * stores, store k supplies every N-th sequence, from k - 1 on:
 *
 *     position = ms * perMs + n          id = ms - epoch | fields of the call | n * N + k - 1
 *
 * Guarantee: an ID belongs to only one position of one store, whatever the fields. Within a run,
 * IDs with the same fields rise.
 */

/** The positions of one ms fit 22 bits in every store. */
const PER_MS_MAX = 4_194_304;

/** One of several stores: it converts positions to IDs. */
export class PositionSpace {
  readonly perMs: number;

  /** @param place the position of the store, from 1 to `storeCount` */
  constructor(
    readonly layout: BitLayout,
    readonly place: number,
    readonly storeCount: number,
  ) {
    this.perMs = perMsOf(layout, storeCount);
  }

  /** @throws SnowflakeError if the time is outside the layout's lifetime */
  run(first: bigint, end: bigint): PositionRun {
    const { layout } = this;
    const perMs = BigInt(this.perMs);
    const startMs = Number(first / perMs);
    const { epochMs, fingerprint } = layout;
    if (startMs < epochMs) {
      throw new SnowflakeError(
        'CLOCK_UNUSABLE',
        `The clock of the store reads ${startMs} ms, before the epoch ${epochMs} of layout ` +
          `${fingerprint}, so no id was generated. Set the clock of the store's host.`,
        { details: { storeMs: startMs, epochMs } },
      );
    }
    const isOver = (position: bigint) =>
      layout.tickOf(Number(position / perMs)) > layout.timestamp.max;
    if (isOver(first)) throw timeExhausted(layout);
    // Positions after the end of the layout's time are not IDs.
    const last = isOver(end - 1n) ? BigInt(epochMs + layout.lifetimeMs) * perMs : end;
    return new PositionRun(this, startMs, Number(first % perMs), Number(last - first));
  }
}

/** The number of positions of a store in each ms; less than 1 if there are too many stores. */
function perMsOf({ sequence }: BitLayout, storeCount: number): number {
  return Math.min(PER_MS_MAX, Math.floor((sequence.max + 1) / storeCount));
}

/** The positions of one grant, the lowest first; each is used only once. */
export class PositionRun {
  private readonly out = new IdWords();
  private high = 0;
  private low = 0;

  constructor(
    private readonly space: PositionSpace,
    private ms: number,
    private number: number,
    /** The number of positions left. */
    public left: number,
  ) {
    this.enterMs();
  }

  /** Generates one ID. The caller ensures that one is left. */
  next({ high, low }: CallWords): bigint {
    const { out, space } = this;
    const { sequence } = space.layout;
    const value = this.number * space.storeCount + space.place - 1;
    out.set(this.high + high + sequence.highOf(value), this.low + low + sequence.lowOf(value));
    this.left--;
    if (++this.number === space.perMs) {
      this.number = 0;
      this.ms++;
      this.enterMs();
    }
    return out.id;
  }

  /** Splits off the first `count` positions; the caller ensures that this many are left. */
  split(count: number): PositionRun {
    const taken = new PositionRun(this.space, this.ms, this.number, count);
    const { perMs } = this.space;
    this.left -= count;
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
