/**
 * The interface of a lease for lib/nest. LeaseKeeper implements it in the thread that leases,
 * SharedLeaseKeeper in a thread that shares another thread's lease.
 */
import type { Clock } from '../core/clock.js';
import type { AnchoredClock } from '../core/window/window-memory.js';
import type { LeaseWindow } from '../core/window/lease-window.js';
import { CallRecord } from '../time/call-record.js';
import type { ProcessIdentity } from '../time/process-identity.js';
import type { Timers } from '../time/timers.js';
import type { IDistributedSupport, LeaseAnswer, LeaseTerms } from './distributed-support.js';
import type { LeaseState } from './held-lease.js';
import type { LeaseOptions } from './lease-options.js';

export interface RegistryTerms {
  /** The time by which all ranges of the registry end, Unix ms; undefined if unknown. */
  readonly furthestMs: number | undefined;
  /** The layouts of a move, as the registry lists them; empty without a move. */
  readonly layouts: string;
}

export interface Keeper {
  /** False if another thread holds the lease and renews it. */
  readonly renewsItself: boolean;
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** The end of the last range, Unix ms; undefined without a range. */
  readonly endMs: number | undefined;
  /** The registry's responses; undefined in a thread that leaves renewals to another thread. */
  readonly terms: RegistryTerms | undefined;
  /** The name of the registry; undefined without a registry. */
  readonly incarnation: string | undefined;
  /** The store's clock minus the host's, as last measured by this thread. */
  readonly clockSkewMs: number;
  /** The current time, by the clock of the IDs. */
  readonly nowMs: number;
  /** Undefined in a thread that leaves renewals to another thread. */
  readonly renewals: RenewalRecord | undefined;
  /**
   * Acquires the first lease.
   * @throws SnowflakeError the last error after startTimeoutMs, or a permanent error at once.
   */
  start(): Promise<void>;
  /** Renews the lease, or acquires another if it was lost. At most one call is in progress. */
  refresh(): Promise<void>;
  /** Stops generating IDs and releases the lease. */
  stop(): Promise<void>;
}

/*
 * The parts of a keeper. All dependencies are passed in, so a simulation can replace the clock, the
 * store, and randomness.
 */

/** One change of state, for the log. */
export interface LeaseChange {
  readonly from: LeaseState;
  readonly to: LeaseState;
  readonly workerId: number | undefined;
  /** The reason, as text. */
  readonly reason: string;
}

/** A change from the last worker ID that the application was notified of; undefined means none. */
export interface WorkerIdChange {
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** The reason, as text. */
  readonly reason: string;
}

export interface KeeperParts {
  readonly support: IDistributedSupport;
  readonly window: LeaseWindow;
  readonly options: LeaseOptions;
  /** How far IDs may run ahead of the clock, ms; if undefined, each range uses its own default. */
  readonly aheadMsMax?: number | undefined;
  readonly terms: LeaseTerms;
  /** The worker IDs that may be leased, both ends inclusive. */
  readonly workerIds: { readonly min: number; readonly max: number };
  readonly identity: ProcessIdentity;
  readonly hostClock: Clock;
  /** Measures elapsed time independently of changes to the host's clock. */
  readonly monotonicClock: Clock;
  /** The clock the generator reads; the keeper moves it if the host's clock is far off. */
  readonly idClock: AnchoredClock;
  readonly timers: Timers;
  readonly random: () => number;
  readonly onChange: (change: LeaseChange) => void;
  /** Called after the window has followed the change. */
  readonly onWorkerIdChange?: ((change: WorkerIdChange) => void) | undefined;
  /** Receives events without a change of state: why the start waits, or a skewed clock. */
  readonly onNews: (text: string) => void;
}

/** The status in the store's response, or 'error' without a response. */
export type RenewalOutcome = LeaseAnswer['status'] | 'error';

export class RenewalRecord extends CallRecord<RenewalOutcome> {}
