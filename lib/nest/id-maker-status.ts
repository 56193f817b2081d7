/**
 * How a generator stands, for health checks and metrics: read from its source of ids and its lease.
 *
 * What it shows depends on the kind of source, which is told by `kind`.
 */
import type { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import type { Keeper } from '../lease/keeper.js';
import type { LeaseState } from '../lease/lease-states.js';
import type { GeneratorStatus } from '../generator-kind.js';
import type { CallStatus } from '../patience/call-record.js';
import { shownName } from '../shown.js';

/** What is shown of every generator that has a worker id. */
interface WorkerIdStatus {
  readonly state: LeaseState;
  readonly workerId: number | undefined;
  /** When the leased range ends; undefined without a lease or for one without end. */
  readonly leaseEndsAt: Date | undefined;
  /** The store's clock minus this host's, ms, at the last renewal. */
  readonly clockSkewMs: number;
  readonly issuedCount: number;
  /** How often an id waited for the clock because a tick and the run-ahead were spent. */
  readonly waitCount: number;
  /** How often the clock was seen to go back. */
  readonly rollbackCount: number;
  /** When this was read, by the clock of the ids; `leaseEndsAt` is counted from it. */
  readonly readAt: Date;
  /** How far the time of the last id is ahead of the clock, ms; 0 where it is not. */
  readonly aheadMs: number;
  /**
   * At least how many ids can be made if the store never answers again; the clock uses them up too,
   * until the lease is `stretched`. Undefined without a lease or for one without end.
   */
  readonly idsLeft: number | undefined;
}

/** A generator that leases a worker id itself, or has one of its own without end. */
export interface LeaseStatus extends WorkerIdStatus {
  readonly kind: 'lease';
  /** The registry's incarnation, equal in the whole fleet; undefined where there is no registry. */
  readonly incarnation: string | undefined;
  /** What became of the renewals. */
  readonly renewals: RenewalStatus;
}

/** A generator in a thread that shares the lease of another thread, which alone renews it. */
export interface JoinedStatus extends WorkerIdStatus {
  readonly kind: 'joined';
  readonly incarnation: undefined;
  readonly renewals: undefined;
}

/** How a generator stands, by the kind of its source of ids. */
export type IdMakerStatus = WorkerStatus | GeneratorStatus;

/** Of a generator with a worker id. */
export type WorkerStatus = LeaseStatus | JoinedStatus;

export function hasWorkerId(status: IdMakerStatus): status is WorkerStatus {
  return status.kind === 'lease' || status.kind === 'joined';
}

/** Without one, `layout`, `parse` and `idRange` of the IdMaker refuse. */
export function hasLayout(status: IdMakerStatus): boolean {
  return hasWorkerId(status) || status.hasLayout;
}

/** The calls that prolong a lease. */
export type RenewalStatus = CallStatus;

export function statusOf(generator: SnowflakeGenerator, keeper: Keeper): WorkerStatus {
  const worker = workerStatus(generator, keeper);
  const { incarnation, renewals } = keeper;
  if (renewals === undefined) {
    return { kind: 'joined', ...worker, incarnation: undefined, renewals: undefined };
  }
  return {
    kind: 'lease',
    ...worker,
    // Whatever stands in the store, which others may write to: logs and metrics show it.
    incarnation: incarnation && shownName(incarnation),
    renewals: renewals.status,
  };
}

function workerStatus(generator: SnowflakeGenerator, keeper: Keeper): WorkerIdStatus {
  const { endMs } = keeper;
  return {
    state: keeper.state,
    workerId: keeper.workerId,
    leaseEndsAt: endMs === undefined || endMs === Infinity ? undefined : new Date(endMs),
    clockSkewMs: keeper.clockSkewMs,
    issuedCount: generator.issuedCount,
    waitCount: generator.waitCount,
    rollbackCount: generator.rollbackCount,
    readAt: new Date(keeper.nowMs),
    aheadMs: generator.aheadMs,
    idsLeft: generator.idsLeft,
  };
}
