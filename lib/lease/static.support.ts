/**
 * A worker id written into the configuration: no store, no lease, no end.
 *
 * Uniqueness rests on the operator, who gives each process another number, and across restarts on
 * the host's clock. Promise: within this process a number serves one generator at a time.
 */
import { SnowflakeError, shown } from '../errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
  WorkerRecord,
} from './distributed-support.js';

/** Worker ids in use in this process, by layout; the value is the token of the holder. */
const inUse = new Map<string, string>();
/** Where the next generator of this process with such a worker id begins, Unix ms. */
const floors = new Map<string, number>();

/**
 * @throws SnowflakeError CONFIG_INVALID at start for a number outside the layout's worker ids or
 * one that another generator of this process uses.
 * @example
 * ```ts
 * import { SnowflakeModule, StaticSupport } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new StaticSupport(7) }); // or workerId: 7, or 'static:7'
 * ```
 */
export class StaticSupport implements IDistributedSupport {
  readonly place = 'the configuration';

  constructor(readonly workerId: number) {
    if (!Number.isInteger(workerId) || workerId < 0) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        `Expected \`workerId\` to be an integer from 0 up, got ${shown(workerId)}.`,
      );
    }
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const fault = staticWorkerFault(this.workerId, request.workerIdMin, request.workerIdMax);
    if (fault !== undefined) throw new SnowflakeError('CONFIG_INVALID', fault);
    const key = keyOf(request, this.workerId);
    const holder = inUse.get(key);
    if (holder !== undefined && holder !== request.token) throw usedTwice(this.workerId);
    inUse.set(key, request.token);
    return this.grant(key);
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.grant(keyOf(lease, this.workerId));
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    const key = keyOf(lease, lease.workerId);
    inUse.delete(key);
    // Started again within the same tick, it would make the same ids.
    if (lastIssuedMs !== undefined) floors.set(key, lastIssuedMs + 1);
  }

  async workers(): Promise<WorkerRecord[]> {
    return [{ workerId: this.workerId, ceilingMs: Infinity, freeInMs: Infinity }];
  }

  private grant(key: string): LeaseAnswer {
    const floorMs = floors.get(key) ?? -Infinity;
    return { status: 'ok', workerId: this.workerId, floorMs, ceilingMs: Infinity };
  }
}

function keyOf({ fingerprint }: LeaseTerms, workerId: number): string {
  return `${fingerprint} ${workerId}`;
}

/** The fault of a configured worker id, or undefined. */
export function staticWorkerFault(workerId: unknown, min: number, max: number): string | undefined {
  const isWhole = typeof workerId === 'number' && Number.isInteger(workerId);
  if (isWhole && workerId >= min && workerId <= max) return undefined;
  return `Expected \`workerId\` to be an integer from ${min} to ${max}, got ${shown(workerId)}.`;
}

function usedTwice(workerId: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Worker id ${workerId} already serves another generator of this process, and both would make ` +
      `the same ids. Give each generator its own worker id, or close the other application first.`,
    { details: { workerId } },
  );
}
