/**
 * The JSON that the page receives. The page depends on nothing else in the library.
 *
 * Guarantee: IDs are strings, durations are in milliseconds, and unknown values are omitted.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { LayoutField } from '../core/layout/layout-fields.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { GeneratorStatus } from '../generator.js';
import type { HealthReport } from '../health/health-report.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { CronRunRecord, LockCounts } from '../nest/lock/index.js';
import type { HolderLabel } from '../time/process-identity.js';

/**
 * The maximum number of workers that the page lists and shows on the map. More would not help
 * anyone.
 */
export const WORKERS_SHOWN_MAX = 4096;

/** The process that responded; behind a load balancer, each response can come from another one. */
export interface StateAnswer {
  /** A random string, because a restarted process may have the same host and pid. */
  readonly instance: string;
  readonly host: string;
  readonly pid: number;
  /** Of this library. */
  readonly version?: string | undefined;
  readonly generators: readonly GeneratorView[];
  readonly hasLocks: boolean;
}

export interface GeneratorView {
  /** Absent for the generator without a name. */
  readonly name?: string | undefined;
  /** The source of the worker ID, or of the IDs. */
  readonly support: string;
  /** The name of the application in the registry. */
  readonly application: string;
  readonly health: HealthReport['status'];
  /** The reason why the health is not up. */
  readonly reason?: string | undefined;
  /** The address of the matching runbook. */
  readonly runbook?: string | undefined;
  /** Absent if IDs are plain numbers, which have no parts. */
  readonly layout?: LayoutView | undefined;
  /** The next two are absent without a worker ID. */
  readonly workerIds?: WorkerIdRange | undefined;
  readonly lease?: LeaseView | undefined;
  /** Present only without a worker ID. */
  readonly buffer?: BufferView | undefined;
  readonly counts: CountsView;
}

/** A generator with a worker ID has its own place in the list of workers. */
export interface LeasedGeneratorView extends GeneratorView {
  readonly layout: LayoutView;
  readonly workerIds: WorkerIdRange;
  readonly lease: LeaseView;
}

/** The buffer of a generator without a worker ID. */
export interface BufferView extends Pick<
  GeneratorStatus,
  'kind' | 'state' | 'buffered' | 'bufferedMs' | 'step'
> {
  readonly calls: RenewalsView;
}

export interface LeaseView {
  readonly state: LeaseState;
  readonly workerId?: number | undefined;
  /** Absent without a lease, and for an endless one. */
  readonly remainingMs?: number | undefined;
  /** The whole length of a lease. */
  readonly ttlMs?: number | undefined;
  readonly incarnation?: string | undefined;
  /** The key that both registries share during a move between stores. */
  readonly family?: string | undefined;
  /** The minimum number of IDs left without the store; present while the lease is stretched. */
  readonly idsLeft?: number | undefined;
  /** Absent in a thread that shares another thread's lease. */
  readonly renewals?: RenewalsView | undefined;
}

export interface RenewalsView {
  readonly countByAnswer: Readonly<Record<string, number>>;
  /** The median of the most recent calls that succeeded. */
  readonly usualMs?: number | undefined;
  /** The time since the store last extended the lease or provided more IDs. */
  readonly lastAgoMs?: number | undefined;
}

export interface CountsView {
  /** Unix ms, by the IDs' clock, which is also the base of the rates. */
  readonly readAtMs: number;
  readonly issued: number;
  readonly waits: number;
  /** The next three are absent if IDs do not depend on a clock. */
  readonly rollbacks?: number | undefined;
  readonly aheadMs?: number | undefined;
  readonly clockSkewMs?: number | undefined;
}

export interface LayoutView extends Pick<
  BitLayout,
  'fingerprint' | 'unitMs' | 'epochMs' | 'workerIdMax' | 'idsPerSecond'
> {
  /** The most significant first. */
  readonly fields: readonly FieldView[];
  /** The last millisecond that fits into an ID. */
  readonly endsMs: number;
}

export type FieldView = Pick<LayoutField, 'name' | 'role' | 'bits' | 'shift'>;

/** The holders of worker IDs, or the reason why they are unknown. */
export interface WorkersAnswer {
  readonly workers: readonly WorkerView[];
  /** Present if the list is missing or incomplete. */
  readonly problem?: string | undefined;
}

/**
 * `held`: leased. `ended`: the lease ended within the last hour without a release, for example
 * after a crash; the worker ID is free. `resting`: released, and free when the last range is over.
 * `fixed`: a number from the configuration.
 */
export type WorkerState = 'held' | 'ended' | 'resting' | 'fixed';

export interface WorkerView {
  readonly workerId: number;
  readonly state: WorkerState;
  readonly holder?: HolderView | undefined;
  /** The time until the ceiling, negative after it; absent without one. */
  readonly remainingMs?: number | undefined;
}

export interface HolderView extends Omit<HolderLabel, 'workerIds'> {
  /** The time since the process leased the worker ID; absent without a lease. */
  readonly heldForMs?: number | undefined;
}

/** The holders of locks, or the reason why they are unknown. */
export interface LocksAnswer {
  /** The store of the locks. */
  readonly location?: string | undefined;
  /**
   * The locks of the process that responded; absent if the application has no locks. `held` and
   * `waiting` are current, the others count since the process started.
   */
  readonly own?:
    (Omit<LockCounts, 'released'> & Readonly<Record<'held' | 'waiting', number>>) | undefined;
  readonly locks: readonly LockView[];
  /** Present if the list is missing or incomplete. */
  readonly problem?: string | undefined;
}

/** `kept`: its holder finished before the minimum hold time. */
export interface LockView {
  readonly lock: string;
  readonly state: 'held' | 'kept';
  /** True if the process that responded holds it. */
  readonly isOwn: boolean;
  /** Host, process and application of the holder. */
  readonly by: string;
  /** A decimal string. */
  readonly token: string;
  /** The time of the acquisition, Unix ms, by the store's clock. */
  readonly sinceMs: number;
  /** The time left unless the holder extends it. */
  readonly leftMs: number;
}

/** The jobs of `@CronOnce`, or the reason why they are unknown. */
export interface JobsAnswer {
  readonly jobs: readonly JobView[];
  /** Present if the list is missing or incomplete. */
  readonly problem?: string | undefined;
}

export interface JobView {
  readonly job: string;
  readonly schedule: string;
  /** Absent before its first run. */
  readonly last?: JobRunView | undefined;
  /** The time of its next run, Unix ms; absent for a job of another application. */
  readonly nextMs?: number | undefined;
  /** How long the job has been overdue; absent if it is on time. */
  readonly lateMs?: number | undefined;
}

/** The last run of a job; its times are by the store's clock. */
export type JobRunView = Omit<CronRunRecord, 'token' | 'isClosing'>;

/** The parts of an ID, or the reason why the text is not an ID. */
export type IdAnswer = IdView | { readonly problem: string };

export interface IdView {
  /** A decimal string. */
  readonly id: string;
  readonly timestampMs: number;
  readonly workerId: number;
  readonly sequence: number;
  /** The values by field. */
  readonly values: Readonly<Record<string, number>>;
  /** The same ID in every text form. */
  readonly texts: Readonly<Record<string, string>>;
}
