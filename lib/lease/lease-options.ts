/**
 * The timing options of the lease and their dependencies.
 *
 * Guarantee: no value costs uniqueness, and every value or combination that would make the lease
 * fail in operation is reported with a reason.
 */
import { format } from '../messages.js';
import { choiceFaults, wholeFaults } from '../options.js';

export interface LeaseOptions {
  /** How far ahead of the store's clock ids may go. 10 s to 10 min, default 60 s. */
  readonly ttlMs: number;
  /** How often RefreshAlive renews, spread by 20 % between processes. Default 10 s. */
  readonly refreshAliveIntervalMs: number;
  /** How long one call to the support may take. Default 2 s. */
  readonly callTimeoutMs: number;
  /** The end of a range, reserved for when the store is unavailable. Default 10 s. */
  readonly reserveMs: number;
  /** A host clock further than this from the store's is handled by `onClockSkew`. Default 5 s. */
  readonly maxClockSkewMs: number;
  /** Follow the store's clock, refuse to make ids, or only report the skew. Default 'anchor'. */
  readonly onClockSkew: 'anchor' | 'reject' | 'warn';
  /** Ids further ahead of a clock that was set back move to another worker id. Default 5 s. */
  readonly maxDriftMs: number;
  /**
   * A new registry looks like one that was lost. 'runAhead': serve after a second, ids up to one
   * ttl ahead. 'wait': exact times after one ttl.
   */
  readonly onFreshRegistry: 'runAhead' | 'wait';
  /** When every worker id is taken at start: wait for one until startTimeoutMs, or fail at once. */
  readonly onNoWorkerFree: 'wait' | 'fail';
  /** How long the start may wait for a worker id. Default 30 s. */
  readonly startTimeoutMs: number;
}

export const LEASE_DEFAULTS: LeaseOptions = {
  ttlMs: 60_000,
  refreshAliveIntervalMs: 10_000,
  callTimeoutMs: 2000,
  reserveMs: 10_000,
  maxClockSkewMs: 5000,
  onClockSkew: 'anchor',
  maxDriftMs: 5000,
  onFreshRegistry: 'runAhead',
  onNoWorkerFree: 'wait',
  startTimeoutMs: 30_000,
};

/**
 * A leased range must hold one second of ids, in whole units, so that an application can boot: at
 * either end up to a unit less a millisecond is cut off.
 */
export function minRangeMsOf(unitMs: number): number {
  return 1000 + 2 * (unitMs - 1);
}

const CHOICES = {
  onClockSkew: ['anchor', 'reject', 'warn'],
  onFreshRegistry: ['runAhead', 'wait'],
  onNoWorkerFree: ['wait', 'fail'],
} as const;

/** Inclusive bounds in ms. A longer time than a day can only be a mistake. */
const BOUNDS: { readonly [name in keyof LeaseOptions]?: readonly [min: number, max: number] } = {
  ttlMs: [10_000, 600_000],
  refreshAliveIntervalMs: [100, 300_000],
  callTimeoutMs: [10, 60_000],
  reserveMs: [0, 599_000],
  maxClockSkewMs: [1, 86_400_000],
  maxDriftMs: [1, 86_400_000],
  startTimeoutMs: [0, 86_400_000],
};

/** The former value 'trust' would be right for one moment and stay configured for good. */
const TRUST_FAULT =
  "`onFreshRegistry: 'trust'` is gone: left in a deployment it made ids twice after the first " +
  'loss of data. Leave the option out; for exact times from the first id on run `snowflake ' +
  "registry create` one leaseTtlMs before the first start, or use 'wait'. In tests a " +
  '`new MemorySupport()` starts at once with exact times.';

/** The names of options in the module, if they differ from ours. */
const MODULE_NAMES: Readonly<Record<string, string>> = { ttlMs: 'leaseTtlMs' };

export function leaseFaults(options: LeaseOptions): string[] {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  const faults = Object.entries(BOUNDS).flatMap(([name, bounds]) =>
    wholeFaults(MODULE_NAMES[name] ?? name, given[name], bounds),
  );
  for (const [name, choices] of Object.entries(CHOICES)) {
    const isTrust = name === 'onFreshRegistry' && given[name] === 'trust';
    faults.push(...(isTrust ? [TRUST_FAULT] : choiceFaults(name, given[name], choices)));
  }
  if (faults.length === 0 && options.reserveMs >= options.ttlMs) {
    faults.push(
      `Expected \`reserveMs\` to be less than \`leaseTtlMs\` (${options.ttlMs}), ` +
        `got ${format(options.reserveMs)}.`,
    );
  }
  return faults;
}

/** A lease needs room for these in addition to missed renewals. */
export interface LeaseRoom {
  /** The duration of a failover. */
  readonly lossWindowMs: number;
  /** The shortest range worth leasing; 0 without leases. */
  readonly minRangeMs: number;
}

/** Errors in the combination of options that are valid on their own. */
export function relationFaults(options: LeaseOptions, room: LeaseRoom): string[] {
  return [...renewalFaults(options, room), ...waitFaults(options, room)];
}

/** A lease must outlast two missed renewals, a failover, and the shortest range. */
function renewalFaults(options: LeaseOptions, room: LeaseRoom): string[] {
  const { refreshAliveIntervalMs, callTimeoutMs, ttlMs } = options;
  const { lossWindowMs, minRangeMs } = room;
  const least = 2 * refreshAliveIntervalMs + callTimeoutMs + lossWindowMs + minRangeMs;
  if (ttlMs > least) return [];
  return [
    `Expected \`leaseTtlMs\` to exceed ${least}, which is 2 x refreshAliveIntervalMs ` +
      `(${refreshAliveIntervalMs}) + callTimeoutMs (${callTimeoutMs}) + the time a failover ` +
      `takes (${lossWindowMs}) + the shortest range worth leasing (${minRangeMs}: 1000 and what ` +
      `units of the layout cut off, or 0 without a registry), got ${format(ttlMs)}.`,
  ];
}

/** A fresh registry gives exact times after one quarantine; a start that waits must last longer. */
function waitFaults(options: LeaseOptions, { lossWindowMs }: LeaseRoom): string[] {
  const least = options.ttlMs + lossWindowMs;
  if (options.onFreshRegistry !== 'wait' || options.startTimeoutMs > least) return [];
  return [
    `Expected \`startTimeoutMs\` to exceed ${least} with \`onFreshRegistry: 'wait'\`, which is ` +
      `leaseTtlMs (${options.ttlMs}) + the time a failover takes (${lossWindowMs}), got ` +
      `${format(options.startTimeoutMs)}.`,
  ];
}
