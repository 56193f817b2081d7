/**
 * Worker ids from a registry in this process: for tests, and for several generators of one
 * process. Promise: the contract of IDistributedSupport in full, by the reference registry.
 * It is empty at each start, so that processes cannot agree by it, and the clock alone keeps the
 * ids of a process apart from those of the one before it.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import type { StoreReading } from '../../registry/slice.js';
import type { MemoryRegistry } from './memory-registry.js';
import { begun, isHosts, sharedRegistry } from './process-registries.js';
import { methodFaults, nameFaults, refuse, unknownNames } from '../../option-faults.js';

/** Options of MemorySupport. */
export interface MemorySupportOptions {
  /**
   * One id space: supports of this process with the same namespace (and the same clock) share one
   * registry. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** A registry of its own, shared only with supports that are given the same one. */
  readonly registry?: MemoryRegistry | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Starts at once with exact times: no process that is alive can know more than its registry. Ids do
 * not run ahead of the host's clock unless `aheadMsMax` says so, since a restart forgets them.
 * A worker thread has a memory of its own; let it share the lease of another thread.
 *
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new MemorySupport() });
 * ```
 */
export class MemorySupport implements IDistributedSupport {
  readonly place = 'the memory of this process';
  readonly lossWindowMs = 0;
  /** Time that somebody sets is a test's: no process goes on in it after this one. */
  readonly isVolatile: boolean;
  private readonly registry: MemoryRegistry;
  private readonly clock: Clock;

  constructor(options: MemorySupportOptions = {}) {
    const { namespace = 'default', clock = systemClock, registry } = options;
    refuse([
      ...unknownNames(options, 'namespace, registry, clock', 'MemorySupport'),
      ...nameFaults('namespace', namespace),
      ...methodFaults('clock', clock, ['now']),
      ...(registry === undefined ? [] : methodFaults('registry', registry, ['acquire', 'renew'])),
    ]);
    this.clock = clock;
    this.isVolatile = isHosts(clock);
    const asked = registry ?? sharedRegistry(namespace, options.clock);
    this.registry = begun(asked, this.reading());
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.registry.acquire(request, this.reading());
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.registry.renew(lease, this.reading());
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    this.registry.release(lease, lastIssuedMs, this.reading());
  }

  async workers(): Promise<WorkerRecord[]> {
    return this.registry.workers(this.clock.now());
  }

  private reading(): StoreReading {
    // Two processes have two registries: `status.incarnation` must show it.
    const random = `memory ${Math.random().toString(36).slice(2)}`;
    return { timeMs: this.clock.now(), server: 'memory', random, lossWindowMs: 0 };
  }
}
