/**
 * What a keeper is made of. Everything it touches is passed in, so that a simulation can give it
 * another clock, another store and its own randomness.
 */
import type { Clock } from '../core/clock.js';
import type { AnchoredClock } from '../core/seat/anchored-clock.js';
import type { WorkerSeat } from '../core/seat/worker-seat.js';
import type { IDistributedSupport, LeaseTerms } from './distributed-support.js';
import type { ProcessIdentity } from '../patience/process-identity.js';
import type { LeaseOptions } from './lease-options.js';
import type { LeaseState } from './lease-states.js';
import type { Timers } from '../patience/timers.js';

/** One change of state, for the log. */
export interface LeaseChange {
  readonly from: LeaseState;
  readonly to: LeaseState;
  readonly workerId: number | undefined;
  /** Why, in words. */
  readonly reason: string;
}

export interface KeeperParts {
  readonly support: IDistributedSupport;
  readonly seat: WorkerSeat;
  readonly options: LeaseOptions;
  /** How far ids may run ahead of the clock, ms; undefined where each range decides for itself. */
  readonly aheadMsMax?: number | undefined;
  readonly terms: LeaseTerms;
  /** The worker ids that may be leased, inclusive on both sides. */
  readonly workerIds: { readonly min: number; readonly max: number };
  readonly identity: ProcessIdentity;
  readonly hostClock: Clock;
  /** Tells how much time went by, whatever is done to the clock of the host. */
  readonly monotonicClock: Clock;
  /** The clock the generator reads; the keeper moves it when the host's clock is far off. */
  readonly idClock: AnchoredClock;
  readonly timers: Timers;
  readonly random: () => number;
  readonly onChange: (change: LeaseChange) => void;
  /** News that is no change of state: why the start waits, a skewed clock. */
  readonly onNews: (text: string) => void;
}
