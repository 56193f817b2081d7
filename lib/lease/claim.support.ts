/**
 * Claims a worker id that the process knows by itself and lets a registry check it. Only this id is
 * requested, even if another process holds it.
 *
 * Guarantee: two processes with one number make no id twice. Each time one of them asks, the other
 * is fenced and keeps its range. Within a process the second one is refused.
 */
import { SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import { refuse, wholeFaults } from '../options.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from './distributed-support.js';

/** A worker id, or a function that returns it when the application starts. */
export type WorkerIdSource = number | (() => number | Promise<number>);

/**
 * A worker id that the process knows by itself, and the registry that checks it, for the option
 * `support`.
 */
export interface WorkerIdClaim {
  readonly workerId: WorkerIdSource;
  /** A URL or a support that leases worker ids. */
  readonly of: IDistributedSupport | string;
}

export function isClaim(value: unknown): value is WorkerIdClaim {
  return typeof value === 'object' && value !== null && 'workerId' in value && 'of' in value;
}

/** The claims of this process, by registry, layout and worker id. */
const claimants = processWide('claimed-worker-ids', () => new Map<string, object>());

export class ClaimSupport implements IDistributedSupport {
  readonly takesOver = true;
  readonly release?: NonNullable<IDistributedSupport['release']>;
  readonly workers?: NonNullable<IDistributedSupport['workers']>;
  readonly advice?: NonNullable<IDistributedSupport['advice']>;
  private key: string | undefined;

  /** @throws SnowflakeError CONFIG_INVALID for a number or a support that cannot be claimed */
  constructor(
    readonly workerId: number,
    private readonly of: IDistributedSupport,
  ) {
    refuse([...wholeFaults('workerId', workerId, [0]), ...registryFaults(of)]);
    if (of.release) this.release = (lease, lastMs) => this.giveBack(lease, lastMs);
    if (of.workers) this.workers = () => of.workers!();
    if (of.advice) this.advice = () => of.advice!();
  }

  get location(): string | undefined {
    const { location } = this.of;
    return location && `worker id ${this.workerId} in ${location}`;
  }

  get lossWindowMs(): number | undefined {
    return this.of.lossWindowMs;
  }

  get isVolatile(): boolean | undefined {
    return this.of.isVolatile;
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { workerId } = this;
    this.claim(request);
    return this.of.getNextWorkId({ ...request, workerIdMin: workerId, workerIdMax: workerId });
  }

  refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.of.refreshAlive(lease);
  }

  async close(): Promise<void> {
    this.leave();
    await this.of.close?.();
  }

  private giveBack(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    this.leave();
    return this.of.release!(lease, lastIssuedMs);
  }

  /** Two claims of one process would take the worker id from each other for as long as it runs. */
  private claim({ fingerprint }: LeaseRequest): void {
    const key = `${this.location} ${fingerprint}`;
    if ((claimants.get(key) ?? this) !== this) throw claimedTwice(this.workerId);
    claimants.set(key, this);
    this.key = key;
  }

  private leave(): void {
    if (this.key !== undefined && claimants.get(this.key) === this) claimants.delete(this.key);
  }
}

function registryFaults({ workerId, shared }: IDistributedSupport & { readonly shared?: unknown }) {
  if (workerId === undefined && shared === undefined) return [];
  return [
    'Both `support` and `workerId` give a worker id, and a number can be checked only by a ' +
      "registry. Give one of them, or a `support` such as 'redis://host:6379?namespace=shop'.",
  ];
}

function claimedTwice(workerId: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Worker id ${workerId} is already claimed by another generator of this process, and they ` +
      `would take it from each other. Give each generator its own number or its own namespace, ` +
      `or close the other application first.`,
    { details: { workerId } },
  );
}
