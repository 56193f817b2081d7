/**
 * The numbers of the lease and the relations between them.
 *
 * Promise: defaults that never cost uniqueness (nothing here can), and a worded fault for every
 * value or combination that would make the lease fail in operation.
 */
import { shown } from '../errors.js';

export interface LeaseOptions {
  /** How far ahead of the store's clock ids may go. 10 s to 10 min, default 60 s. */
  readonly ttlMs: number;
  /** How often RefreshAlive renews, spread by 20 % between processes. Default 10 s. */
  readonly refreshAliveIntervalMs: number;
  /** How long one call to the support may take. Default 2 s. */
  readonly callTimeoutMs: number;
  /** The end of a range kept for a time when the store is away. Default 10 s. */
  readonly reserveMs: number;
  /** A host clock further than this from the store's is handled by `onClockSkew`. Default 5 s. */
  readonly maxClockSkewMs: number;
  /** Follow the store's clock, refuse to make ids, or only say so. Default 'anchor'. */
  readonly onClockSkew: 'anchor' | 'reject' | 'warn';
  /** Ids further ahead of a clock that was set back move to another worker id. Default 5 s. */
  readonly maxDriftMs: number;
  /**
   * A registry that was never there cannot be told from one that was lost. 'runAhead': serve at
   * once, ids up to one ttl ahead. 'wait': exact times after one ttl. 'trust': it is new for sure.
   */
  readonly onFreshRegistry: 'runAhead' | 'wait' | 'trust';
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

/** Less than this is not worth a round trip; 50 ms are 204,800 ids. */
export const MIN_RANGE_MS = 50;

const CHOICES = {
  onClockSkew: ['anchor', 'reject', 'warn'],
  onFreshRegistry: ['runAhead', 'wait', 'trust'],
  onNoWorkerFree: ['wait', 'fail'],
} as const;

/** Inclusive bounds in ms. A day is the longest anybody may mean. */
const BOUNDS: { readonly [name in keyof LeaseOptions]?: readonly [min: number, max: number] } = {
  ttlMs: [10_000, 600_000],
  refreshAliveIntervalMs: [100, 300_000],
  callTimeoutMs: [10, 60_000],
  reserveMs: [0, 599_000],
  maxClockSkewMs: [1, 86_400_000],
  maxDriftMs: [1, 86_400_000],
  startTimeoutMs: [0, 86_400_000],
};

/** Option names as the module shows them, where they differ from ours. */
const SHOWN_NAMES: Readonly<Record<string, string>> = { ttlMs: 'leaseTtlMs' };

export function leaseFaults(options: LeaseOptions): string[] {
  const faults: string[] = [];
  for (const [name, [min, max]] of Object.entries(BOUNDS)) {
    const value = options[name as keyof LeaseOptions] as unknown;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max)
      continue;
    const label = SHOWN_NAMES[name] ?? name;
    faults.push(
      `Expected \`${label}\` to be an integer from ${min} to ${max}, got ${shown(value)}.`,
    );
  }
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = options[name as keyof typeof CHOICES];
    if ((choices as readonly unknown[]).includes(value)) continue;
    const list = choices.map((choice) => `'${choice}'`).join(', ');
    faults.push(`Expected \`${name}\` to be one of ${list}, got ${shown(value)}.`);
  }
  if (faults.length === 0 && options.reserveMs >= options.ttlMs) {
    faults.push(
      `Expected \`reserveMs\` to be less than \`leaseTtlMs\` (${options.ttlMs}), ` +
        `got ${shown(options.reserveMs)}.`,
    );
  }
  return faults;
}

/** A fresh registry gives exact times after one quarantine; a start that waits must last longer. */
export function waitFault(options: LeaseOptions, lossWindowMs: number): string | undefined {
  const least = options.ttlMs + lossWindowMs;
  if (options.onFreshRegistry !== 'wait' || options.startTimeoutMs > least) return undefined;
  return (
    `Expected \`startTimeoutMs\` to exceed ${least} with \`onFreshRegistry: 'wait'\`, which is ` +
    `leaseTtlMs (${options.ttlMs}) + the time a failover takes (${lossWindowMs}), got ` +
    `${shown(options.startTimeoutMs)}.`
  );
}

/** A lease must outlast two missed renewals and what a failover takes. */
export function renewalFault(options: LeaseOptions, lossWindowMs: number): string | undefined {
  const least = 2 * options.refreshAliveIntervalMs + options.callTimeoutMs + lossWindowMs;
  if (options.ttlMs > least) return undefined;
  return (
    `Expected \`leaseTtlMs\` to exceed ${least}, which is 2 x refreshAliveIntervalMs ` +
    `(${options.refreshAliveIntervalMs}) + callTimeoutMs (${options.callTimeoutMs}) + the time a ` +
    `failover takes (${lossWindowMs}), got ${shown(options.ttlMs)}.`
  );
}
