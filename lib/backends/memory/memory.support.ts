/**
 * Worker ids from a registry in this process: for tests, and for several generators of one
 * process. Promise: the contract of IDistributedSupport in full, by the reference registry.
 * It is empty at each start, so processes must not use it to agree with each other.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import { MemoryRegistry } from './memory-registry.js';
import type { StoreReading } from './registry-state.js';

export interface MemorySupportOptions {
  /** Shared between supports that stand for several processes. Default: one of its own. */
  readonly registry?: MemoryRegistry;
  readonly clock?: Clock;
}

/**
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new MemorySupport(), onFreshRegistry: 'trust' });
 * ```
 */
export class MemorySupport implements IDistributedSupport {
  readonly place = 'the memory of this process';
  private readonly registry: MemoryRegistry;
  private readonly clock: Clock;

  constructor(options: MemorySupportOptions = {}) {
    this.registry = options.registry ?? new MemoryRegistry();
    this.clock = options.clock ?? systemClock;
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
    return { timeMs: this.clock.now(), server: 'memory', random: 'memory', lossWindowMs: 0 };
  }
}
