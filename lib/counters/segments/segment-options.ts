/**
 * The options of segments, with defaults and errors.
 *
 * Guarantee: it reports every error at once, and prints no store, client or possible URL.
 */
import { SnowflakeError } from '../../errors.js';
import { formatName } from '../../messages.js';
import { later, nameFaults, readOptions, refuse, whole, type OptionTable } from '../../options.js';
import { bigFaults, storeFaults, type CounterStore } from '../counter-store.js';

/** The highest ID in use: as it comes from a database, undefined or null for an empty table. */
export type HighestId = bigint | number | string | null | undefined;

/** Names the counter, and says how its numbers are taken. */
export interface SegmentOptions {
  /** The counter lies there: a URL, or a store such as `sqlCounters({ dataSource })`. */
  readonly store?: CounterStore | string | undefined;
  /**
   * Several stores instead of one: store k of N gives every N-th number from k on. Their order is
   * kept in them, so it must stay as it is.
   */
  readonly stores?: readonly (CounterStore | string)[] | undefined;
  /** The name of the counter, e.g. `order`: 1 to 128 characters without spaces. */
  readonly counter: string;
  /**
   * Creates a counter that the store does not know. A function gives the highest ID in use, and the
   * counter starts `lossGap` above it: `() => orders.maximum('id')`. A number is the start itself.
   * It vouches that no number from there on was ever used, whenever the store may lose the counter,
   * and is refused where the store can lose data. Default: `snowflake counters create`.
   */
  readonly startAt?: bigint | number | (() => HighestId | Promise<HighestId>) | undefined;
  /** For how long numbers are buffered, by the rate at which they are used. Default 30 s. */
  readonly lastsMs?: number | undefined;
  /** The fewest that are taken at a time. Default 1000, or `stepMax` where that is less. */
  readonly stepMin?: number | undefined;
  /** The most that are taken at a time; a crash loses up to three times as many. Default 10^6. */
  readonly stepMax?: number | undefined;
  /**
   * How far the counter jumps after its store lost data; at most half of it is granted, to all
   * processes together, within the time of which a store may lose its writes. Default: 10 x
   * stepMax, and at least 10,000,000: more than 1024 processes buffer that use 222,000
   * numbers a second.
   */
  readonly lossGap?: bigint | number | undefined;
}

/** The options, completed. */
export type SegmentTerms = ReturnType<typeof segmentTerms>;

const STEP_MAX = 1_000_000_000;
/** The fleet for which the default of `lossGap` is enough. */
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
 * @param stores those of the options, open
 * @param found what is wrong with stores that could not be opened
 * @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults`
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

/** The default is more than a fleet buffers, however small its steps. */
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
 * A number is true for one moment and configured for good: after a flush, a process that is started
 * then would create the counter again from it.
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

/** What the keeper is given of them, and how its messages go on. */
export function segmentWords({ stores, counter }: SegmentTerms) {
  return {
    stores,
    counter,
    waitAdvice: 'If this lasts, raise `lossGap`.',
    granted: `Numbers of ${counter} are taken from`,
    notStarted: 'No numbers have been taken from the counter',
    stopped: 'The buffered numbers were given back',
    spent: `All buffered numbers of the counter ${formatName(counter)} are used`,
    cure: '`stepMax` or `lastsMs`',
  };
}

export function startFailed(text: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', `The function \`startAt\` failed: ${text}`);
}

export function noHighestId(got: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Expected the function \`startAt\` to give the highest id in use, as bigint or decimal text, ` +
      `or null for an empty table, got ${got}.`,
  );
}
