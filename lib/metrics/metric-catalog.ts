/**
 * All metrics: a row has the name, the meaning, and how the value is read.
 *
 * An exporter turns each OpenTelemetry name into the Prometheus name, with the same labels, so one
 * dashboard serves both. The name contains the unit, because some exporters add none, and the
 * others never add it a second time. See docs/operating/monitoring.md for alerts.
 */
import type { GeneratorState } from '../generator.js';
import { LEASE_STATES } from '../lease/held-lease.js';
import type { RenewalOutcome } from '../lease/keeper.js';
import type { RegionStatus } from '../lease/region-claim.js';
import type { OnceJobStatus } from '../cron/cron-once.js';
import type { DistributedLock, LockStatus } from '../lock/distributed-lock.js';
import { hasWorkerId, type IdMakerStatus } from '../nest/id-maker.js';
import { checkedOptions, methods, nameFaults, type OptionTable } from '../options.js';
import {
  measured,
  secondsOf,
  type Family,
  type GeneratorReading,
  type MetricOf,
  type ReaderOf,
} from './metric.js';

type Row<Reading> = Omit<MetricOf<Reading>, 'prometheus' | 'openTelemetry' | 'unit'> &
  Partial<Pick<MetricOf<Reading>, 'unit'>>;

const rowOf =
  (kind: MetricOf<never>['kind'], aggregator: MetricOf<never>['aggregator']) =>
  <Reading>(
    help: string,
    read: MetricOf<Reading>['read'],
    facts: Partial<Row<Reading>> = {},
  ): Row<Reading> => ({ kind, aggregator, help, read, ...facts });

const counter = rowOf('counter', 'sum');
/** Gauges, by how the values of several cluster workers are combined. */
const sum = rowOf('gauge', 'sum');
const max = rowOf('gauge', 'max');
const min = rowOf('gauge', 'min');
const omit = rowOf('gauge', 'omit');

/** Both names, and the unit of seconds, follow from the row's name. */
function named<Reading>(rows: Readonly<Record<string, Row<Reading>>>): MetricOf<Reading>[] {
  return Object.entries(rows).map(([name, row]) => ({
    prometheus: `snowflake_${name.replaceAll('.', '_')}${row.kind === 'counter' ? '_total' : ''}`,
    openTelemetry: `snowflake.${name}`,
    unit: name.endsWith('.seconds') ? 's' : '',
    ...row,
  }));
}

const STATES = Object.fromEntries(Object.keys(LEASE_STATES).map((state) => [state, 0]));

/**
 * They are exported from the start, because a rate requires a first 0. The other two results only
 * come from an acquisition.
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

/** The two registries of a move between stores are one metric family. */
function registryIn(status: IdMakerStatus) {
  if (status.kind !== 'lease' || status.incarnation === undefined) return undefined;
  const { incarnation, storeMove: { key, side } = { key: incarnation, side: '' } } = status;
  return { [incarnation]: { [key]: { [side]: 1 } } };
}

/** 1 or 0; absent without the option `regions`. */
function isRegion(status: IdMakerStatus, state: RegionStatus['state']): number | undefined {
  const region = status.kind === 'lease' ? status.region : undefined;
  return region && Number(region.state === state);
}

export const GENERATOR_METRICS: Family<GeneratorReading> = {
  labels: ['generator', 'space'],
  metrics: named<GeneratorReading>({
    'ids.issued': counter('Ids made', ({ status }) => status.issuedCount, { unit: '{id}' }),
    'ids.ahead.seconds': max(
      'How far the time of the last id is ahead of the clock',
      ({ status }) => secondsOf(status.aheadMs),
    ),
    waits: counter(
      'How often an id waited because the tick and run-ahead or the buffered ids were used up',
      ({ status }) => status.waitCount,
      { unit: '{wait}' },
    ),
    'layout.remaining.seconds': min(
      'Time until the timestamp bits of the layout run out',
      ({ status, layout }) => secondsBetween(status.readAt, layout?.lastDate),
    ),
    'clock.rollbacks': counter(
      'How often the clock was found to have been set back',
      ({ status }) => status.rollbackCount,
      { unit: '{rollback}' },
    ),
    'clock.skew.seconds': max(
      'Clock of the store minus clock of the host, at the last renewal',
      ({ status }) => secondsOf(status.clockSkewMs),
    ),
    'lease.state': sum(
      'State of the lease: 1 for the current state, 0 for all others',
      ({ status }) => (hasWorkerId(status) ? { ...STATES, [status.state]: 1 } : undefined),
      { labels: ['state'] },
    ),
    'lease.remaining.seconds': min(
      'Time until the leased range ends, negative once it has ended; absent if it has no end',
      ({ status }) => secondsBetween(status.readAt, status.leaseEndsAt),
    ),
    'worker.id': omit('Worker id held; absent without one', ({ status }) => status.workerId),
    'registry.info': max(
      'Incarnation of the registry, always 1; all of an id space have one family',
      ({ status }) => registryIn(status),
      { labels: ['incarnation', 'family', 'side'] },
    ),
    'region.conflict': max(
      '1 while another region has the number of this one; absent without `regions`',
      ({ status }) => isRegion(status, 'conflict'),
    ),
    'region.unchecked': max(
      '1 while the registry of regions does not say whether another one has the number',
      ({ status }) => isRegion(status, 'unchecked'),
    ),
    renewals: counter(
      'Renewals by the answer of the store; error where there was none',
      ({ status: { renewals } }) => renewals && { ...ANSWERS, ...renewals.countByAnswer },
      { unit: '{renewal}', labels: ['answer'] },
    ),
    'renewal.duration.seconds': sum(
      'How long a renewal took; a timeout counts as its limit',
      () => undefined,
      { kind: 'histogram', durations: ({ status }) => status.renewals },
    ),
    'last_renewal.timestamp.seconds': min(
      'When the store last extended the lease, Unix time',
      ({ status }) => secondsOf(status.renewals?.lastAt?.getTime()),
    ),
    // For generators without a worker ID, whose IDs come from a store.
    'buffer.state': sum(
      'State of a generator without a worker id: 1 for the current state, 0 for all others',
      ({ status }) => (hasWorkerId(status) ? undefined : { ...BUFFER_STATES, [status.state]: 1 }),
      { labels: ['state'] },
    ),
    'buffer.ids': sum(
      'Ids that can be made without the store',
      ({ status }) => (hasWorkerId(status) ? undefined : status.buffered),
      { unit: '{id}' },
    ),
    'buffer.remaining.seconds': min(
      'How long the buffered ids last at the current rate, or until they are too old',
      ({ status }) => (hasWorkerId(status) ? undefined : secondsOf(status.bufferedMs)),
    ),
    'buffer.calls': counter(
      'Calls for more ids by the answer of the store; error where there was none',
      ({ status }) =>
        hasWorkerId(status) ? undefined : { ...BUFFER_ANSWERS, ...status.calls.countByAnswer },
      { unit: '{call}', labels: ['answer'] },
    ),
    'workers.in_use': max(
      'Worker ids of the layout that cannot be leased now',
      ({ workers, layout }) => workers && { [layout!.fingerprint]: workers.inUse },
      { unit: '{worker}', labels: ['layout'], asksStore: true },
    ),
    'workers.free': min(
      'Worker ids of the layout that can be leased now',
      ({ workers, layout }) => workers && { [layout!.fingerprint]: workers.free },
      { unit: '{worker}', labels: ['layout'], asksStore: true },
    ),
  }),
};

/*
 * Lock metrics: held, waited for, acquired and lost locks of a process.
 *
 * Guarantee: they use only local state and never call the store. They have labels for `@CronOnce`
 * jobs but not for locks, because lock names change.
 */

/** The locks to measure. */
export interface MeasuredLocks {
  /** The value of the label `locks`, to distinguish several. Default 'default'. */
  readonly name?: string | undefined;
  readonly locks: Pick<DistributedLock, 'status'>;
  /** The application's CronJobs, to measure the jobs of `@CronOnce`. */
  readonly jobs?: { status(): readonly OnceJobStatus[] } | undefined;
}

export interface LockReading extends LockStatus {
  readonly jobs: readonly OnceJobStatus[];
}

export const MEASURED_LOCKS = {
  name: [nameFaults, 'default'],
  locks: [measured('a DistributedLock')],
  jobs: [methods('status'), undefined],
} satisfies OptionTable<MeasuredLocks>;

/** @throws SnowflakeError CONFIG_INVALID for locks that cannot be measured */
export function lockReader(given: MeasuredLocks): ReaderOf<LockReading> {
  const { name, locks, jobs } = checkedOptions(given, MEASURED_LOCKS, 'What is measured');
  return {
    labels: () => ({ locks: name }),
    read: () => ({ ...locks.status, jobs: jobs?.status() ?? [] }),
  };
}

/**
 * A value for each job. The label is not `job`, because Prometheus uses that name for its targets.
 */
const ofJobs =
  <Value>(read: (status: OnceJobStatus) => Value) =>
  ({ jobs }: LockReading): Record<string, Value> =>
    Object.fromEntries(jobs.map((status) => [status.job, read(status)]));

export const LOCK_METRICS: Family<LockReading> = {
  labels: ['locks'],
  metrics: named<LockReading>({
    'locks.held': sum('Locks that this process holds', ({ held }) => held.length, {
      unit: '{lock}',
    }),
    'locks.longest_held.seconds': max(
      'How long the longest-held lock has been held; absent where none is held',
      ({ held }) =>
        held.length === 0 ? undefined : Math.max(...held.map(({ heldMs }) => heldMs)) / 1000,
    ),
    'locks.waiting': sum(
      'Callers of this process that wait for a lock, or for the answer of the store',
      ({ waitingCount }) => waitingCount,
      { unit: '{caller}' },
    ),
    'locks.attempts': counter(
      'Attempts to hold a lock by outcome: refused where somebody else held it for too long',
      ({ counts: { acquired, refused, unavailable } }) => ({ acquired, refused, unavailable }),
      { unit: '{attempt}', labels: ['outcome'] },
    ),
    'locks.waited.seconds': counter(
      'All the time that attempts took, whatever the outcome',
      ({ waitedMs }) => waitedMs / 1000,
    ),
    'locks.lost': counter(
      'Locks that were lost while they were held',
      ({ counts }) => counts.lost,
      { unit: '{lock}' },
    ),
    'cron.due.timestamp.seconds': max(
      'When the first tick of the job that is not done is due, as far as this process knows',
      ofJobs(({ dueMs }) => secondsOf(dueMs)),
      { labels: ['cron_job'] },
    ),
    'cron.running.seconds': max(
      'How long the job has been running in this process; absent where it is not',
      ofJobs(({ runningMs }) => secondsOf(runningMs)),
      { labels: ['cron_job'] },
    ),
    'cron.runs': counter(
      'Runs of the job by outcome that this process ended, or found without their process',
      ofJobs(({ runCounts }) => runCounts),
      { unit: '{run}', labels: ['cron_job', 'outcome'] },
    ),
    'cron.skipped': counter(
      'Ticks of the job that this process left out, because they were too late',
      ofJobs(({ skippedCount }) => skippedCount),
      { unit: '{tick}', labels: ['cron_job'] },
    ),
    'cron.shared': max(
      '1 if another application has a job of this name in the same store of locks',
      ofJobs(({ sharedWith }) => (sharedWith === undefined ? 0 : 1)),
      { unit: '{application}', labels: ['cron_job'] },
    ),
  }),
};
