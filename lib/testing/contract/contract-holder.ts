/**
 * Somebody who leases worker ids: keeps token, nonces, highest ceiling and mark as a real holder
 * does, and lets a case say what is asked otherwise.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lease/distributed-support.js';
import { NO_REGISTRY } from '../../lease/held-lease.js';

/** What holders ask for unless a case says otherwise. */
export const TERMS = {
  fingerprint: 'contract',
  ttlMs: 60_000,
  minRangeMs: 50,
  quarantineMs: 0,
  workerIdMin: 0,
  workerIdMax: 0,
  haveMs: 0,
} as const;

export class ContractHolder {
  /** The lease as it would be asked to be prolonged now. */
  lease: WorkerLease | undefined;
  /** What it asks for; sent again it is a repeated acquire. */
  readonly request: LeaseRequest;
  private nonceCount = 0;

  constructor(
    readonly support: IDistributedSupport,
    private readonly name: string,
    terms: Partial<LeaseRequest>,
  ) {
    const holder = { host: `host of ${name}`, pid: 1, application: 'contract' };
    this.request = { ...TERMS, token: name, nonce: this.nonce(), holder, ...terms };
  }

  async acquire(changes: Partial<LeaseRequest> = {}): Promise<LeaseAnswer> {
    const request = { ...this.request, ...changes };
    const answer = await this.support.getNextWorkId(request);
    if (answer.status !== 'ok') return answer;
    const { workerId, ceilingMs: haveMs, mark = NO_REGISTRY } = answer;
    this.lease = { ...request, workerId, haveMs, mark, nonceNext: this.nonce() };
    return answer;
  }

  /** Renews; what was changed for the question is not kept, what was answered is. */
  async renew(changes: Partial<WorkerLease> = {}): Promise<LeaseAnswer> {
    const lease = this.lease!;
    const answer = await this.support.refreshAlive({ ...lease, ...changes });
    if (answer.status !== 'ok') return answer;
    const haveMs = Math.max(lease.haveMs, answer.ceilingMs);
    const mark = answer.mark ?? lease.mark;
    this.lease = { ...lease, haveMs, mark, nonce: lease.nonceNext, nonceNext: this.nonce() };
    return answer;
  }

  async release(lastIssuedMs: number | undefined, changes: Partial<WorkerLease> = {}) {
    await this.support.release?.({ ...this.lease!, ...changes }, lastIssuedMs);
  }

  /** After a loss no range begins sooner than this: all that was forgotten has ended by then. */
  get quarantineMs(): number {
    return this.request.ttlMs + (this.support.lossWindowMs ?? 0);
  }

  private nonce(): string {
    return `${this.name} ${++this.nonceCount}`;
  }
}

/** The grant, or an error that says what was answered instead. */
export function granted(answer: LeaseAnswer): LeaseGrant {
  if (answer.status === 'ok') return answer;
  throw new Error(`Expected a lease to be granted, got ${JSON.stringify(answer)}.`);
}
