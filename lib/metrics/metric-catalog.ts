/**
 * All metrics, as tables in one file: both names, the meaning, and how the value is read.
 *
 * An exporter turns each OpenTelemetry name into the Prometheus name, with the same labels, so one
 * dashboard serves both. The unit is in the name, since some exporters add none, and those that do
 * add it only once. docs/operating/monitoring.md says what to watch.
 */
import type { GeneratorState } from '../generator.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { RenewalOutcome } from '../lease/keeper.js';
import type { RegionStatus } from '../lease/region-claim.js';
import type { OnceJobStatus } from '../cron/cron-once.js';
import type { DistributedLock, LockStatus } from '../lock/distributed-lock.js';
import { hasWorkerId, type IdMakerStatus } from '../nest/id-maker.js';
import { methodFaults, nameFaults, refuse, unknownNames } from '../options.js';
import {
  secondsOf,
  type Family,
  type GeneratorReading,
  type MetricOf,
  type ReaderOf,
} from './metric.js';

type Metric = MetricOf<GeneratorReading>;

const STATES: { readonly [state in LeaseState]: 0 } = {
  unassigned: 0,
  active: 0,
  degraded: 0,
  stretched: 0,
  exhausted: 0,
  fenced: 0,
  switching: 0,
  released: 0,
};

/**
 * They are exported from the start, since a rate needs a first 0. The two other answers only come
 * from an acquisition.
 */
const ANSWERS: { readonly [answer in Exclude<RenewalOutcome, 'none-free' | 'wait'>]: 0 } = {
  ok: 0,
  hold: 0,
  fenced: 0,
  unknown: 0,
  moved: 0,
  cloned: 0,
  'layout-mismatch': 0,
  'other-version': 0,
  error: 0,
};

const BUFFER_STATES: { readonly [state in GeneratorState]: 0 } = {
  unassigned: 0,
  active: 0,
  degraded: 0,
  exhausted: 0,
  released: 0,
};

const BUFFER_ANSWERS = { ok: 0, wait: 0, absent: 0, mismatch: 0, full: 0, error: 0 };

function secondsBetween(from: Date | undefined, to: Date | undefined): number | undefined {
  return from && to && (to.getTime() - from.getTime()) / 1000;
}

/** The two registries of a move from one store to another are one family. */
function registryIn(status: IdMakerStatus) {
  if (status.kind !== 'lease' || status.incarnation === undefined) return undefined;
  const { incarnation, storeMove: { key, side } = { key: incarnation, side: '' } } = status;
  return { [incarnation]: { [key]: { [side]: 1 } } };
}

const IDS: readonly Metric[] = [
  {
    prometheus: 'snowflake_ids_issued_total',
    openTelemetry: 'snowflake.ids.issued',
    kind: 'counter',
    unit: '{id}',
    help: 'Ids made',
    aggregator: 'sum',
    read: ({ status }) => status.issuedCount,
  },
  {
    prometheus: 'snowflake_ids_ahead_seconds',
    openTelemetry: 'snowflake.ids.ahead.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'How far the time of the last id is ahead of the clock',
    aggregator: 'max',
    read: ({ status }) => secondsOf(status.aheadMs),
  },
  {
    prometheus: 'snowflake_waits_total',
    openTelemetry: 'snowflake.waits',
    kind: 'counter',
    unit: '{wait}',
    help: 'How often an id waited because the tick and run-ahead or the buffered ids were used up',
    aggregator: 'sum',
    read: ({ status }) => status.waitCount,
  },
  {
    prometheus: 'snowflake_layout_remaining_seconds',
    openTelemetry: 'snowflake.layout.remaining.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'Time until the timestamp bits of the layout run out',
    aggregator: 'min',
    read: ({ status, layout }) => secondsBetween(status.readAt, layout?.lastDate),
  },
];

const CLOCK: readonly Metric[] = [
  {
    prometheus: 'snowflake_clock_rollbacks_total',
    openTelemetry: 'snowflake.clock.rollbacks',
    kind: 'counter',
    unit: '{rollback}',
    help: 'How often the clock was found to have been set back',
    aggregator: 'sum',
    read: ({ status }) => status.rollbackCount,
  },
  {
    prometheus: 'snowflake_clock_skew_seconds',
    openTelemetry: 'snowflake.clock.skew.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'Clock of the store minus clock of the host, at the last renewal',
    aggregator: 'max',
    read: ({ status }) => secondsOf(status.clockSkewMs),
  },
];

const LEASE: readonly Metric[] = [
  {
    prometheus: 'snowflake_lease_state',
    openTelemetry: 'snowflake.lease.state',
    kind: 'gauge',
    unit: '',
    help: 'State of the lease: 1 for the current state, 0 for all others',
    labels: ['state'],
    aggregator: 'sum',
    read: ({ status }) => (hasWorkerId(status) ? { ...STATES, [status.state]: 1 } : undefined),
  },
  {
    prometheus: 'snowflake_lease_remaining_seconds',
    openTelemetry: 'snowflake.lease.remaining.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'Time until the leased range ends, negative once it has ended; absent if it has no end',
    aggregator: 'min',
    read: ({ status }) => secondsBetween(status.readAt, status.leaseEndsAt),
  },
  {
    prometheus: 'snowflake_worker_id',
    openTelemetry: 'snowflake.worker.id',
    kind: 'gauge',
    unit: '',
    help: 'Worker id held; absent without one',
    aggregator: 'omit',
    read: ({ status }) => status.workerId,
  },
  {
    prometheus: 'snowflake_registry_info',
    openTelemetry: 'snowflake.registry.info',
    kind: 'gauge',
    unit: '',
    help: 'Incarnation of the registry, always 1; all of an id space have one family',
    labels: ['incarnation', 'family', 'side'],
    aggregator: 'max',
    read: ({ status }) => registryIn(status),
  },
];

/** 1 or 0; absent without the option `regions`. */
function isRegion(status: IdMakerStatus, state: RegionStatus['state']): number | undefined {
  const region = status.kind === 'lease' ? status.region : undefined;
  return region && Number(region.state === state);
}

const REGION: readonly Metric[] = [
  {
    prometheus: 'snowflake_region_conflict',
    openTelemetry: 'snowflake.region.conflict',
    kind: 'gauge',
    unit: '',
    help: '1 while another region has the number of this one; absent without `regions`',
    aggregator: 'max',
    read: ({ status }) => isRegion(status, 'conflict'),
  },
  {
    prometheus: 'snowflake_region_unchecked',
    openTelemetry: 'snowflake.region.unchecked',
    kind: 'gauge',
    unit: '',
    help: '1 while the registry of regions does not say whether another one has the number',
    aggregator: 'max',
    read: ({ status }) => isRegion(status, 'unchecked'),
  },
];

const RENEWALS: readonly Metric[] = [
  {
    prometheus: 'snowflake_renewals_total',
    openTelemetry: 'snowflake.renewals',
    kind: 'counter',
    unit: '{renewal}',
    help: 'Renewals by the answer of the store; error where there was none',
    labels: ['answer'],
    aggregator: 'sum',
    read: ({ status: { renewals } }) => renewals && { ...ANSWERS, ...renewals.countByAnswer },
  },
  {
    prometheus: 'snowflake_renewal_duration_seconds',
    openTelemetry: 'snowflake.renewal.duration.seconds',
    kind: 'histogram',
    unit: 's',
    help: 'How long a renewal took; a timeout counts as its limit',
    aggregator: 'sum',
    read: () => undefined,
    durations: ({ status }) => status.renewals,
  },
  {
    prometheus: 'snowflake_last_renewal_timestamp_seconds',
    openTelemetry: 'snowflake.last_renewal.timestamp.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'When the store last extended the lease, Unix time',
    aggregator: 'min',
    read: ({ status }) => secondsOf(status.renewals?.lastAt?.getTime()),
  },
];

/** Metrics of generators without a worker id, whose ids come from a store. */
const BUFFER: readonly Metric[] = [
  {
    prometheus: 'snowflake_buffer_state',
    openTelemetry: 'snowflake.buffer.state',
    kind: 'gauge',
    unit: '',
    help: 'State of a generator without a worker id: 1 for the current state, 0 for all others',
    labels: ['state'],
    aggregator: 'sum',
    read: ({ status }) =>
      hasWorkerId(status) ? undefined : { ...BUFFER_STATES, [status.state]: 1 },
  },
  {
    prometheus: 'snowflake_buffer_ids',
    openTelemetry: 'snowflake.buffer.ids',
    kind: 'gauge',
    unit: '{id}',
    help: 'Ids that can be made without the store',
    aggregator: 'sum',
    read: ({ status }) => (hasWorkerId(status) ? undefined : status.buffered),
  },
  {
    prometheus: 'snowflake_buffer_remaining_seconds',
    openTelemetry: 'snowflake.buffer.remaining.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'How long the buffered ids last at the current rate, or until they are too old',
    aggregator: 'min',
    read: ({ status }) => (hasWorkerId(status) ? undefined : secondsOf(status.bufferedMs)),
  },
  {
    prometheus: 'snowflake_buffer_calls_total',
    openTelemetry: 'snowflake.buffer.calls',
    kind: 'counter',
    unit: '{call}',
    help: 'Calls for more ids by the answer of the store; error where there was none',
    labels: ['answer'],
    aggregator: 'sum',
    read: ({ status }) =>
      hasWorkerId(status) ? undefined : { ...BUFFER_ANSWERS, ...status.calls.countByAnswer },
  },
];

const WORKERS: readonly Metric[] = [
  {
    prometheus: 'snowflake_workers_in_use',
    openTelemetry: 'snowflake.workers.in_use',
    kind: 'gauge',
    unit: '{worker}',
    help: 'Worker ids of the layout that cannot be leased now',
    labels: ['layout'],
    aggregator: 'max',
    asksStore: true,
    read: ({ workers, layout }) => workers && { [layout!.fingerprint]: workers.inUse },
  },
  {
    prometheus: 'snowflake_workers_free',
    openTelemetry: 'snowflake.workers.free',
    kind: 'gauge',
    unit: '{worker}',
    help: 'Worker ids of the layout that can be leased now',
    labels: ['layout'],
    aggregator: 'min',
    asksStore: true,
    read: ({ workers, layout }) => workers && { [layout!.fingerprint]: workers.free },
  },
];

export const METRICS: readonly Metric[] = [
  ...IDS,
  ...CLOCK,
  ...LEASE,
  ...REGION,
  ...RENEWALS,
  ...BUFFER,
  ...WORKERS,
];

export const GENERATOR_METRICS: Family<GeneratorReading> = {
  labels: ['generator', 'space'],
  metrics: METRICS,
};

/*
 * Metrics of locks: those a process holds, waits for, got and has lost.
 *
 * Guarantee: they are read from what the process knows; the store is not asked. No lock is named,
 * since names come and go; jobs of `@CronOnce` are, since they stay.
 */

/** The locks to measure. */
export interface MeasuredLocks {
  /** The value of the label `locks`, to distinguish several. Default 'default'. */
  readonly name?: string | undefined;
  readonly locks: Pick<DistributedLock, 'status'>;
  /** The jobs of `@CronOnce`, if they are to be measured: the CronJobs of the application. */
  readonly jobs?: { status(): readonly OnceJobStatus[] } | undefined;
}

export interface LockReading extends LockStatus {
  readonly jobs: readonly OnceJobStatus[];
}

/** @throws SnowflakeError CONFIG_INVALID for locks that cannot be measured */
export function lockReader(measured: MeasuredLocks): ReaderOf<LockReading> {
  const strangers = unknownNames(measured, 'name, locks, jobs', 'What is measured');
  const { name = 'default', locks, jobs } = measured;
  const hasLocks = 'status' in Object(locks);
  refuse([
    ...strangers,
    ...nameFaults('name', name),
    ...(hasLocks ? [] : [`Expected \`locks\` to be a DistributedLock, got ${typeof locks}.`]),
    ...(jobs === undefined ? [] : methodFaults('jobs', jobs, ['status'])),
  ]);
  return {
    labels: () => ({ locks: name }),
    read: () => ({ ...locks.status, jobs: jobs?.status() ?? [] }),
  };
}

/** A value of each job; the label is not `job`, which is what Prometheus calls its targets. */
const ofJobs =
  <Value>(read: (status: OnceJobStatus) => Value) =>
  ({ jobs }: LockReading): Record<string, Value> =>
    Object.fromEntries(jobs.map((status) => [status.job, read(status)]));

const JOBS: readonly MetricOf<LockReading>[] = [
  {
    prometheus: 'snowflake_cron_due_timestamp_seconds',
    openTelemetry: 'snowflake.cron.due.timestamp.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'When the first tick of the job that is not done is due, as far as this process knows',
    labels: ['cron_job'],
    aggregator: 'max',
    read: ofJobs(({ dueMs }) => secondsOf(dueMs)),
  },
  {
    prometheus: 'snowflake_cron_running_seconds',
    openTelemetry: 'snowflake.cron.running.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'How long the job has been running in this process; absent where it is not',
    labels: ['cron_job'],
    aggregator: 'max',
    read: ofJobs(({ runningMs }) => secondsOf(runningMs)),
  },
  {
    prometheus: 'snowflake_cron_runs_total',
    openTelemetry: 'snowflake.cron.runs',
    kind: 'counter',
    unit: '{run}',
    help: 'Runs of the job by outcome that this process ended, or found without their process',
    labels: ['cron_job', 'outcome'],
    aggregator: 'sum',
    read: ofJobs(({ runCounts }) => runCounts),
  },
  {
    prometheus: 'snowflake_cron_skipped_total',
    openTelemetry: 'snowflake.cron.skipped',
    kind: 'counter',
    unit: '{tick}',
    help: 'Ticks of the job that this process left out, because they were too late',
    labels: ['cron_job'],
    aggregator: 'sum',
    read: ofJobs(({ skippedCount }) => skippedCount),
  },
  {
    prometheus: 'snowflake_cron_shared',
    openTelemetry: 'snowflake.cron.shared',
    kind: 'gauge',
    unit: '{application}',
    help: '1 if another application has a job of this name in the same store of locks',
    labels: ['cron_job'],
    aggregator: 'max',
    read: ofJobs(({ sharedWith }) => (sharedWith === undefined ? 0 : 1)),
  },
];

const LOCKS: readonly MetricOf<LockReading>[] = [
  {
    prometheus: 'snowflake_locks_held',
    openTelemetry: 'snowflake.locks.held',
    kind: 'gauge',
    unit: '{lock}',
    help: 'Locks that this process holds',
    aggregator: 'sum',
    read: ({ held }) => held.length,
  },
  {
    prometheus: 'snowflake_locks_longest_held_seconds',
    openTelemetry: 'snowflake.locks.longest_held.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'How long the longest-held lock has been held; absent where none is held',
    aggregator: 'max',
    read: ({ held }) =>
      held.length === 0 ? undefined : Math.max(...held.map(({ heldMs }) => heldMs)) / 1000,
  },
  {
    prometheus: 'snowflake_locks_waiting',
    openTelemetry: 'snowflake.locks.waiting',
    kind: 'gauge',
    unit: '{caller}',
    help: 'Callers of this process that wait for a lock, or for the answer of the store',
    aggregator: 'sum',
    read: ({ waitingCount }) => waitingCount,
  },
  {
    prometheus: 'snowflake_locks_attempts_total',
    openTelemetry: 'snowflake.locks.attempts',
    kind: 'counter',
    unit: '{attempt}',
    help: 'Attempts to hold a lock by outcome: refused where somebody else held it for too long',
    labels: ['outcome'],
    aggregator: 'sum',
    read: ({ counts: { acquired, refused, unavailable } }) => ({ acquired, refused, unavailable }),
  },
  {
    prometheus: 'snowflake_locks_waited_seconds_total',
    openTelemetry: 'snowflake.locks.waited.seconds',
    kind: 'counter',
    unit: 's',
    help: 'All the time that attempts took, whatever the outcome',
    aggregator: 'sum',
    read: ({ waitedMs }) => waitedMs / 1000,
  },
  {
    prometheus: 'snowflake_locks_lost_total',
    openTelemetry: 'snowflake.locks.lost',
    kind: 'counter',
    unit: '{lock}',
    help: 'Locks that were lost while they were held',
    aggregator: 'sum',
    read: ({ counts }) => counts.lost,
  },
];

export const LOCK_METRICS: Family<LockReading> = {
  labels: ['locks'],
  metrics: [...LOCKS, ...JOBS],
};
