/**
 * A worker id written into the configuration: no store, no lease, no end.
 *
 * Uniqueness rests on the operator, who gives each process and each thread another number, and
 * across restarts on the host's clock. endless-worker-ids.ts keeps generators of one thread apart.
 */
import { SnowflakeError } from '../errors.js';
import { shown } from '../shown.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerRecord,
} from './distributed-support.js';

/**
 * @throws SnowflakeError CONFIG_INVALID at start for a number outside the layout's worker ids or
 * one that another generator of this thread uses.
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
    return this.grant();
  }

  async refreshAlive(): Promise<LeaseAnswer> {
    return this.grant();
  }

  async workers(): Promise<WorkerRecord[]> {
    return [{ workerId: this.workerId, ceilingMs: Infinity, freeInMs: Infinity }];
  }

  private grant(): LeaseAnswer {
    return { status: 'ok', workerId: this.workerId, floorMs: -Infinity, ceilingMs: Infinity };
  }
}

/** The fault of a configured worker id, or undefined. */
export function staticWorkerFault(workerId: unknown, min: number, max: number): string | undefined {
  const isWhole = typeof workerId === 'number' && Number.isInteger(workerId);
  if (isWhole && workerId >= min && workerId <= max) return undefined;
  return `Expected \`workerId\` to be an integer from ${min} to ${max}, got ${shown(workerId)}.`;
}
