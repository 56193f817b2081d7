/**
 * A worker id written into the configuration: no store, no lease, no end.
 *
 * Uniqueness rests on the operator, who gives each process and each thread another number, and
 * across restarts on the host's clock.
 */
import { SnowflakeError } from '../errors.js';
import { refuse, wholeFaults } from '../options.js';
import { processWide } from '../process-wide.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  LeaseTerms,
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
  readonly location = 'the configuration';

  constructor(readonly workerId: number) {
    refuse(wholeFaults('workerId', workerId, [0]));
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { workerIdMin, workerIdMax } = request;
    refuse(wholeFaults('workerId', this.workerId, [workerIdMin, workerIdMax]));
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

/*
 * The worker ids without end that this process uses, from the configuration, the host name, or a
 * service of the application. No registry keeps two generators with such a number apart.
 *
 * Guarantee: within a thread a number serves one generator at a time, and the next one starts after
 * the last id of the previous one. Other threads and processes are up to the operator.
 */

interface Use {
  /** Undefined after it was given back. */
  token: string | undefined;
  /** The next generator begins here, Unix ms. */
  floorMs: number;
}

type Holder = Pick<LeaseTerms, 'fingerprint'> & { readonly token: string };

const uses = processWide('endless-worker-ids', () => new Map<string, Use>());

/**
 * Returns the grant as it may be used here; a grant with an end stays as it is.
 * @throws SnowflakeError CONFIG_INVALID for a number that another generator uses.
 */
export function claimEndless(grant: LeaseGrant, holder: Holder): LeaseGrant {
  if (grant.ceilingMs !== Infinity) return grant;
  const key = keyOf(holder, grant.workerId);
  const use = uses.get(key) ?? { token: undefined, floorMs: -Infinity };
  if (use.token !== undefined && use.token !== holder.token) throw usedTwice(grant.workerId);
  use.token = holder.token;
  uses.set(key, use);
  return { ...grant, floorMs: Math.max(grant.floorMs, use.floorMs) };
}

/** Without this, a generator that starts within the same tick would make the same ids. */
export function giveBackEndless(
  lease: Holder & { readonly workerId: number },
  lastIssuedMs = -Infinity,
): void {
  const use = uses.get(keyOf(lease, lease.workerId));
  if (use?.token !== lease.token) return;
  use.token = undefined;
  use.floorMs = Math.max(use.floorMs, lastIssuedMs + 1);
}

function keyOf({ fingerprint }: Holder, workerId: number): string {
  return `${fingerprint} ${workerId}`;
}

function usedTwice(workerId: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Worker id ${workerId} already serves another generator of this process, and both would make ` +
      `the same ids. Give each generator its own worker id, or close the other application first.`,
    { details: { workerId } },
  );
}
