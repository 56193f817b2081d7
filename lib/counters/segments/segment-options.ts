/**
 * The options of segments, with defaults and errors.
 *
 * Guarantee: it reports every error at once, and no message shows a store, a client, or a possible
 * URL.
 */
import { later, nameFaults, readOptions, refuse, whole, type OptionTable } from '../../options.js';
import { bigFaults, storeFaults, type CounterStore } from '../counter-store.js';

/** The highest ID in use, as a database returns it: undefined or null for an empty table. */
export type HighestId = bigint | number | string | null | undefined;

/** Names the counter, and configures how its numbers are taken. */
export interface SegmentOptions {
  /** The location of the counter: a URL, or a store such as `sqlCounters({ dataSource })`. */
  readonly store?: CounterStore | string | undefined;
  /**
   * Several stores instead of one: store k of N supplies every N-th number, from k on. The stores
   * record their order, so it must not change.
   */
  readonly stores?: readonly (CounterStore | string)[] | undefined;
  /** The name of the counter, e.g. `order`: 1 to 128 characters without spaces. */
  readonly counter: string;
  /**
   * Creates a missing counter. A function returns the highest ID in use, and the counter starts
   * `lossGap` above it: `() => orders.maximum('id')`. A number is the start itself. It guarantees
   * that no number from there on was ever used, so a store that can lose data refuses it. Default:
   * no creation; use `snowflake counters create`.
   */
  readonly startAt?: bigint | number | (() => HighestId | Promise<HighestId>) | undefined;
  /** How long the buffered numbers last at the current rate of use. Default 30 s. */
  readonly lastsMs?: number | undefined;
  /** The minimum count to take at a time. Default 1000, or `stepMax` if that is less. */
  readonly stepMin?: number | undefined;
  /** The maximum count to take at a time; a crash loses up to three times as many. Default 10^6. */
  readonly stepMax?: number | undefined;
  /**
   * How far the counter jumps after its store lost data. Within the time whose writes a store may
   * lose, all processes together get at most half of it. Default: 10 x stepMax, at least
   * 10,000,000, which is more than 1024 processes buffer at 222,000 numbers a second.
   */
  readonly lossGap?: bigint | number | undefined;
}

/** The completed options. */
export type SegmentTerms = ReturnType<typeof segmentTerms>;

const STEP_MAX = 1_000_000_000;
/** The fleet size for which the default `lossGap` is sufficient. */
const PROCESS_COUNT = 1024;
const USED_PER_MS = 222;
const STEPS_BUFFERED = 3;
const LOSS_GAP_MIN = 10_000_000;

export const SEGMENTS = {
  store: [later, undefined],
  stores: [later, undefined],
  counter: [nameFaults],
  startAt: [later, undefined],
  lastsMs: [whole(1000, 3_600_000), 30_000],
  stepMin: [whole(1, STEP_MAX), undefined],
  stepMax: [whole(1, STEP_MAX), 1_000_000],
  lossGap: [(name, value) => bigFaults(name, value, 2n), undefined],
} satisfies OptionTable<SegmentOptions>;

export function givenStores({ store, stores }: SegmentOptions): readonly unknown[] {
  return stores === undefined ? [store] : stores;
}

/**
 * @param stores the opened stores of the options
 * @param found the errors of stores that could not be opened
 * @throws SnowflakeError CONFIG_INVALID with every error in `details.faults`
 */
export function segmentTerms(
  options: SegmentOptions,
  stores = givenStores(options) as readonly CounterStore[],
  found: readonly string[] = [],
) {
  const { terms, faults } = readOptions(options, SEGMENTS, 'SegmentsModule');
  const { counter, startAt, lastsMs, stepMax } = terms;
  refuse([
    ...faults,
    ...bothFaults(options),
    ...(found.length > 0 ? found : storeFaults(options.stores ? 'stores' : 'store', stores)),
    ...startFaults(startAt, stores),
  ]);
  const { stepMin = Math.min(1000, stepMax) } = terms;
  const { lossGap = defaultLossGap(lastsMs, stepMin, stepMax) } = terms;
  if (stepMin > stepMax) {
    refuse([`Expected \`stepMin\` to be at most \`stepMax\` (${stepMax}), got ${stepMin}.`]);
  }
  if (BigInt(lossGap) < 2n * BigInt(stepMin)) {
    refuse([`Expected \`lossGap\` to be at least twice \`stepMin\` (${stepMin}), got ${lossGap}.`]);
  }
  const start = typeof startAt === 'number' ? BigInt(startAt) : startAt;
  return { stores, counter, startAt: start, lastsMs, stepMin, stepMax, lossGap: BigInt(lossGap) };
}

/** The default exceeds what a fleet buffers, however small its steps. */
function defaultLossGap(lastsMs: number, stepMin: number, stepMax: number): number {
  const byRate = 1.5 * lastsMs * USED_PER_MS;
  const bySteps = PROCESS_COUNT * STEPS_BUFFERED * stepMin;
  const lossGap = Math.ceil(Math.max(LOSS_GAP_MIN, byRate, bySteps, 10 * stepMax));
  return Number.isSafeInteger(lossGap) ? lossGap : LOSS_GAP_MIN;
}

function bothFaults({ store, stores }: SegmentOptions): string[] {
  if (store === undefined || stores === undefined) return [];
  return ['`store` and `stores` exclude each other: give one of them.'];
}

/**
 * A configured number becomes outdated: after a flush, the next process to start would recreate the
 * counter from it.
 */
function startFaults(startAt: unknown, stores: readonly CounterStore[]): string[] {
  if (startAt === undefined || typeof startAt === 'function') return [];
  const faults = bigFaults('startAt', startAt, 0n);
  const canLose = Array.isArray(stores) && stores.some((store) => store?.lossWindowMs > 0);
  if (faults.length > 0 || !canLose) return faults;
  return [
    'A fixed `startAt` is refused with a store that can lose data: once the counter is lost, a ' +
      'restarted process would create it again and repeat its numbers. Give a function that ' +
      'reads the highest id in use, `startAt: () => orders.maximum("id")`, or leave it out and ' +
      'run `snowflake counters create` once.',
  ];
}
