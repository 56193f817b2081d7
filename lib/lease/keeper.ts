/**
 * The nest room needs this of a lease: LeaseKeeper implements it in the thread that leases,
 * SharedLeaseKeeper in a thread that shares the lease of another.
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
  /** All ranges of the registry end by then, Unix ms; undefined if that is not known. */
  readonly furthestMs: number | undefined;
  /** The layouts of a move, as the registry lists them; empty without one. */
  readonly layouts: string;
}

export interface Keeper {
  /** False if another thread holds the lease and renews it. */
  readonly renewsItself: boolean;
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** The end of the last range, Unix ms; undefined without one. */
  readonly endMs: number | undefined;
  /** The registry's answers; undefined in a thread that leaves renewals to another. */
  readonly terms: RegistryTerms | undefined;
  /** The name of the registry; undefined without one. */
  readonly incarnation: string | undefined;
  /** The store's clock minus the host's, as far as this thread knows. */
  readonly clockSkewMs: number;
  /** The time now, by the clock of the IDs. */
  readonly nowMs: number;
  /** It is undefined in a thread that leaves renewals to another. */
  readonly renewals: RenewalRecord | undefined;
  /**
   * Gets the first lease.
   * @throws SnowflakeError the last failure after startTimeoutMs, or a lasting one at once.
   */
  start(): Promise<void>;
  /** Renews the lease, or gets another one if it was lost. At most one call is under way. */
  refresh(): Promise<void>;
  /** Stops making IDs and gives up the lease. */
  stop(): Promise<void>;
}

/*
 * The parts of a keeper. Everything it touches is passed in, so that a simulation can replace
 * clock, store and randomness.
 */

/** One change of state, for the log. */
export interface LeaseChange {
  readonly from: LeaseState;
  readonly to: LeaseState;
  readonly workerId: number | undefined;
  /** The reason in words. */
  readonly reason: string;
}

/** From the worker ID that the application was last told of to another one; undefined is none. */
export interface WorkerIdChange {
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** The reason in words. */
  readonly reason: string;
}

export interface KeeperParts {
  readonly support: IDistributedSupport;
  readonly window: LeaseWindow;
  readonly options: LeaseOptions;
  /** How far IDs may run ahead of the clock, ms; undefined lets each range decide for itself. */
  readonly aheadMsMax?: number | undefined;
  readonly terms: LeaseTerms;
  /** The worker IDs that may be leased, inclusive on both sides. */
  readonly workerIds: { readonly min: number; readonly max: number };
  readonly identity: ProcessIdentity;
  readonly hostClock: Clock;
  /** Measures elapsed time, whatever is done to the clock of the host. */
  readonly monotonicClock: Clock;
  /** The clock the generator reads; the keeper moves it when the host's clock is far off. */
  readonly idClock: AnchoredClock;
  readonly timers: Timers;
  readonly random: () => number;
  readonly onChange: (change: LeaseChange) => void;
  /** Is called after the window has followed the change. */
  readonly onWorkerIdChange?: ((change: WorkerIdChange) => void) | undefined;
  /** Receives news without a change of state: why the start waits, a skewed clock. */
  readonly onNews: (text: string) => void;
}

/** The status that the store answered, or 'error' if it did not answer. */
export type RenewalOutcome = LeaseAnswer['status'] | 'error';

export class RenewalRecord extends CallRecord<RenewalOutcome> {}
