/**
 * What the nest room needs of a lease, whoever keeps it: LeaseKeeper in the thread that leases,
 * JoinedLease in a thread that shares the lease of another.
 */
import type { LeaseState } from './lease-states.js';
import type { RenewalRecord } from './renewal-record.js';

export interface Keeper {
  /** False where another thread holds the lease and renews it. */
  readonly renewsItself: boolean;
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** When the last range held ends, Unix ms; undefined without one. */
  readonly endMs: number | undefined;
  readonly incarnation: string | undefined;
  /** The store's clock minus the host's, as far as this thread knows. */
  readonly clockSkewMs: number;
  /** Now, by the clock of the ids. */
  readonly nowMs: number;
  /** Undefined in a thread that leaves them to another. */
  readonly renewals: RenewalRecord | undefined;
  /**
   * Gets the first lease.
   * @throws SnowflakeError what kept it from one for startTimeoutMs, or at once what cannot pass.
   */
  start(): Promise<void>;
  /** Renews the lease, or gets another one where it was lost. One call is under way at most. */
  refresh(): Promise<void>;
  /** Stops making ids and gives up what is held. */
  stop(): Promise<void>;
}
