/**
 * The timing options of the lease and their dependencies.
 *
 * Guarantee: no value costs uniqueness, and every value or combination with which the lease would
 * fail in operation is reported with a reason.
 */
import { format } from '../messages.js';
import { checkedOptions, choice, whole, type OptionTable, type Row } from '../options.js';

export interface LeaseOptions {
  /** How far ahead of the store's clock IDs may go. 10 s to 10 min, default 60 s. */
  readonly ttlMs: number;
  /** How often RefreshAlive renews, randomized by 20 % in each process. Default 10 s. */
  readonly refreshAliveIntervalMs: number;
  /** How long one call to the support may take. Default 2 s. */
  readonly callTimeoutMs: number;
  /** The end of a range, reserved for when the store is unavailable. Default 10 s. */
  readonly reserveMs: number;
  /** The skew of the host's clock from the store's at which `onClockSkew` applies. Default 5 s. */
  readonly maxClockSkewMs: number;
  /** Follow the store's clock, refuse all IDs, or only report the skew. Default 'anchor'. */
  readonly onClockSkew: 'anchor' | 'reject' | 'warn';
  /** If a clock is set back further than this, IDs move to another worker ID. Default 5 s. */
  readonly maxDriftMs: number;
  /**
   * The start on a new registry, which may replace a lost one. With 'runAhead' it serves after a
   * second, with IDs up to one ttl ahead. With 'wait' it serves exact times after one ttl.
   */
  readonly onFreshRegistry: 'runAhead' | 'wait';
  /** If every worker ID is leased at start: wait for one until startTimeoutMs, or fail at once. */
  readonly onNoWorkerFree: 'wait' | 'fail';
  /** How long the start may wait for a worker ID. Default 30 s. */
  readonly startTimeoutMs: number;
}

/**
 * A leased range must hold one second of IDs, in whole units, so that an application can boot. Each
 * end of a range may lose up to a unit minus a millisecond.
 */
export function minRangeMsOf(unitMs: number): number {
  return 1000 + 2 * (unitMs - 1);
}

/** The former value 'trust' would be right at one moment only, but stay configured. */
const TRUST_FAULT =
  "`onFreshRegistry: 'trust'` is gone: left in a deployment it issued duplicate ids after the first " +
  'loss of data. Leave the option out; for exact times from the first id on run `snowflake ' +
  "registry create` one leaseTtlMs before the first start, or use 'wait'. In tests a " +
  '`new MemorySupport()` starts at once with exact times.';

const DAY_MS = 86_400_000;
const freshChoices = choice('runAhead', 'wait');

/** The maximum of the times, ms; more than a day can only be a mistake. */
export const LEASE = {
  ttlMs: [whole(10_000, 600_000), 60_000],
  refreshAliveIntervalMs: [whole(100, 300_000), 10_000],
  callTimeoutMs: [whole(10, 60_000), 2000],
  reserveMs: [whole(0, 599_000), 10_000],
  maxClockSkewMs: [whole(1, DAY_MS), 5000],
  onClockSkew: [choice('anchor', 'reject', 'warn'), 'anchor'],
  maxDriftMs: [whole(1, DAY_MS), 5000],
  onFreshRegistry: [
    (name, value) => (value === 'trust' ? [TRUST_FAULT] : freshChoices(name, value)),
    'runAhead',
  ],
  onNoWorkerFree: [choice('wait', 'fail'), 'wait'],
  startTimeoutMs: [whole(0, DAY_MS), 30_000],
} satisfies OptionTable<LeaseOptions>;

export const LEASE_DEFAULTS = checkedOptions<Partial<LeaseOptions>, typeof LEASE>({}, LEASE, '');

/**
 * Errors in the combination of options that are valid separately. A lease must outlast two missed
 * renewals, a failover, and the shortest range worth leasing, which is 0 without leases.
 */
export function relationFaults(
  options: LeaseOptions,
  { lossWindowMs, minRangeMs }: { readonly lossWindowMs: number; readonly minRangeMs: number },
): string[] {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  const isWrong = ([name, [check]]: [string, Row]) => check(name, given[name]).length > 0;
  if (Object.entries<Row>(LEASE).some(isWrong)) return [];
  const { ttlMs, reserveMs, refreshAliveIntervalMs, callTimeoutMs, startTimeoutMs } = options;
  const faults: string[] = [];
  if (reserveMs >= ttlMs) {
    faults.push(
      `Expected \`reserveMs\` to be less than \`leaseTtlMs\` (${ttlMs}), got ${format(reserveMs)}.`,
    );
  }
  const leastMs = 2 * refreshAliveIntervalMs + callTimeoutMs + lossWindowMs + minRangeMs;
  if (ttlMs <= leastMs) {
    faults.push(
      `Expected \`leaseTtlMs\` to exceed ${leastMs}, which is 2 x refreshAliveIntervalMs ` +
        `(${refreshAliveIntervalMs}) + callTimeoutMs (${callTimeoutMs}) + the time a failover ` +
        `takes (${lossWindowMs}) + the shortest range worth leasing (${minRangeMs}: 1000 and what ` +
        `units of the layout cut off, or 0 without a registry), got ${format(ttlMs)}.`,
    );
  }
  // A new registry gives exact times after one quarantine; a start that waits must last longer.
  const freshMs = ttlMs + lossWindowMs;
  if (options.onFreshRegistry === 'wait' && startTimeoutMs <= freshMs) {
    faults.push(
      `Expected \`startTimeoutMs\` to exceed ${freshMs} with \`onFreshRegistry: 'wait'\`, which ` +
        `is leaseTtlMs (${ttlMs}) + the time a failover takes (${lossWindowMs}), got ` +
        `${format(startTimeoutMs)}.`,
    );
  }
  return faults;
}
