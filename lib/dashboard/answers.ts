/**
 * The JSON that the page gets. The page knows these shapes and nothing else of the library.
 *
 * Guarantee: IDs are text, spans of time are milliseconds, and unknown values are left out.
 */
import type { FieldRole } from '../core/layout/layout-fields.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { GeneratorState, GeneratorStatus } from '../generator.js';
import type { HealthReport } from '../health/health-report.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { CronRunRecord, LockCounts } from '../nest/lock/index.js';
import type { HolderLabel } from '../time/process-identity.js';

/** The page lists this many workers, and each has a cell on the map. More would help no one. */
export const WORKERS_SHOWN_MAX = 4096;

/** The process that answered; behind a load balancer it can be a different one each time. */
export interface StateAnswer {
  /** A random text, since a restarted process may have the same host and pid. */
  readonly instance: string;
  readonly host: string;
  readonly pid: number;
  /** Of this library. */
  readonly version?: string | undefined;
  readonly generators: readonly GeneratorView[];
  readonly hasLocks: boolean;
}

export interface GeneratorView {
  /** It is absent for the generator without a name. */
  readonly name?: string | undefined;
  /** The source of the worker ID, or of the IDs. */
  readonly support: string;
  /** The name of the application in the registry. */
  readonly application: string;
  readonly health: HealthReport['status'];
  /** The reason why the health is not up. */
  readonly reason?: string | undefined;
  /** The address of what to do about it. */
  readonly runbook?: string | undefined;
  /** Absent if IDs are plain numbers, which cannot be taken apart. */
  readonly layout?: LayoutView | undefined;
  /** These two are absent without a worker ID. */
  readonly workerIds?: WorkerIdRange | undefined;
  readonly lease?: LeaseView | undefined;
  /** It is present without a worker ID. */
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
export interface BufferView {
  readonly kind: GeneratorStatus['kind'];
  readonly state: GeneratorState;
  readonly buffered: number;
  /**
   * For segments the time they last, absent while no rate is known; for IDs of kind `store` the
   * time until the newest are too old.
   */
  readonly bufferedMs?: number | undefined;
  readonly step: number | undefined;
  readonly calls: RenewalsView;
}

export interface LeaseView {
  readonly state: LeaseState;
  readonly workerId?: number | undefined;
  /** It is absent without a lease, and for one without end. */
  readonly remainingMs?: number | undefined;
  /** The whole length of a lease. */
  readonly ttlMs?: number | undefined;
  readonly incarnation?: string | undefined;
  /** What both registries have in common while one store is left for another. */
  readonly family?: string | undefined;
  /** The least number of IDs left without the store; present while the lease is stretched. */
  readonly idsLeft?: number | undefined;
  /** It is absent in a thread that shares another thread's lease. */
  readonly renewals?: RenewalsView | undefined;
}

export interface RenewalsView {
  readonly countByAnswer: Readonly<Record<string, number>>;
  /** The median of the last calls that were answered. */
  readonly usualMs?: number | undefined;
  /** The time since the store last extended the lease, or gave more IDs. */
  readonly lastAgoMs?: number | undefined;
}

export interface CountsView {
  /** Unix ms, by the clock of the IDs; rates are counted by it. */
  readonly readAtMs: number;
  readonly issued: number;
  readonly waits: number;
  /** These three are absent if no clock is read for IDs. */
  readonly rollbacks?: number | undefined;
  readonly aheadMs?: number | undefined;
  readonly clockSkewMs?: number | undefined;
}

export interface LayoutView {
  readonly fingerprint: string;
  /** The most significant first. */
  readonly fields: readonly FieldView[];
  readonly unitMs: number;
  readonly epochMs: number;
  /** The last millisecond that fits into an ID. */
  readonly endsMs: number;
  readonly workerIdMax: number;
  readonly idsPerSecond: number;
}

export interface FieldView {
  readonly name: string;
  readonly role: FieldRole;
  readonly bits: number;
  readonly shift: number;
}

/** The holders of worker IDs, or the reason why they are not known. */
export interface WorkersAnswer {
  readonly workers: readonly WorkerView[];
  /** Present if the list is missing or cannot be complete. */
  readonly problem?: string | undefined;
}

/**
 * `held`: leased. `ended`: the lease ran out within the last hour and was not given back, for
 * example after a crash; the worker ID is free. `resting`: given back, and free when the last range
 * is over. `fixed`: a number from the configuration.
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
  /** The time since it leased the worker ID; absent without a lease. */
  readonly heldForMs?: number | undefined;
}

/** The holders of locks, or the reason why they are not known. */
export interface LocksAnswer {
  /** The store of the locks. */
  readonly location?: string | undefined;
  /** The locks of the process that answered; absent if the application has no locks. */
  readonly own?: OwnLocksView | undefined;
  readonly locks: readonly LockView[];
  /** It is present if the list is missing or not complete. */
  readonly problem?: string | undefined;
}

/** The first two describe the present, the others count since the process was started. */
interface OwnLocksView extends Omit<LockCounts, 'released'> {
  readonly held: number;
  readonly waiting: number;
}

/** `kept`: its holder was done before the least time to hold it. */
export interface LockView {
  readonly lock: string;
  readonly state: 'held' | 'kept';
  /** True if the process that answered holds it. */
  readonly isOwn: boolean;
  /** Host, process and application of the holder. */
  readonly by: string;
  /** It is decimal text. */
  readonly token: string;
  /** The time when it was acquired, Unix ms, by the clock of the store. */
  readonly sinceMs: number;
  /** The time left unless it is extended. */
  readonly leftMs: number;
}

/** The jobs of `@CronOnce`, or the reason why they are not known. */
export interface JobsAnswer {
  readonly jobs: readonly JobView[];
  /** It is present if the list is missing or not complete. */
  readonly problem?: string | undefined;
}

export interface JobView {
  readonly job: string;
  readonly schedule: string;
  /** It is absent before its first run. */
  readonly last?: JobRunView | undefined;
  /** When it is due next, Unix ms; absent for a job of another application. */
  readonly nextMs?: number | undefined;
  /** For how long it has been due; absent while all is well. */
  readonly lateMs?: number | undefined;
}

/** The last run of a job; its times are by the clock of the store. */
export type JobRunView = Omit<CronRunRecord, 'token' | 'isClosing'>;

/** An ID taken apart, or the reason why the text is not an ID. */
export type IdAnswer = IdView | { readonly problem: string };

export interface IdView {
  /** It is decimal text. */
  readonly id: string;
  readonly timestampMs: number;
  readonly workerId: number;
  readonly sequence: number;
  /** The values by field. */
  readonly values: Readonly<Record<string, number>>;
  /** The same ID in every text form. */
  readonly texts: Readonly<Record<string, string>>;
}
