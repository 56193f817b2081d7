/**
 * Processes that lease from a registry, one by one: what the commands look at.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { layouts } from 'nestjs-snowflake/core';
import { redisSupport, type RedisSupport } from 'nestjs-snowflake/redis';
import { Redis } from 'ioredis';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { settleRegistry } from '../stores/settled-registry.js';

export interface Held extends LeaseGrant {
  lease: WorkerLease;
}

export class Tenants {
  private readonly open: RedisSupport[] = [];
  private readonly redis: Redis;

  constructor(private readonly url: string) {
    this.redis = new Redis(url);
  }

  of(namespace: string): Tenant {
    const support = redisSupport({ redis: this.url, namespace });
    this.open.push(support);
    return new Tenant(support, this.redis);
  }

  async close(): Promise<void> {
    await Promise.all(this.open.map((support) => support.close()));
    await this.redis.quit();
  }
}

export class Tenant {
  constructor(
    readonly support: RedisSupport,
    private readonly redis: Redis,
  ) {}

  ask(given: Partial<LeaseRequest> = {}): { request: LeaseRequest; answer: Promise<LeaseAnswer> } {
    const request: LeaseRequest = {
      fingerprint: layouts.snowflake().fingerprint,
      ttlMs: 60_000,
      minRangeMs: 50,
      quarantineMs: 0,
      token: randomUUID(),
      nonce: randomUUID(),
      workerIdMin: 0,
      workerIdMax: 1023,
      haveMs: 0,
      holder: { host: 'h', pid: 7, application: 'shop' },
      ...given,
    };
    const settled = settleRegistry(this.redis, this.support.key);
    return { request, answer: settled.then(() => this.support.getNextWorkId(request)) };
  }

  /** @throws Error for anything but a grant */
  async acquire(given: Partial<LeaseRequest> = {}): Promise<Held> {
    const { request, answer } = this.ask(given);
    let grant = await answer;
    while (grant.status === 'wait') {
      // The store's own clock decides, and says for how long.
      await sleep(grant.waitMs);
      grant = await this.support.getNextWorkId(request);
    }
    if (grant.status !== 'ok') throw new Error(JSON.stringify(grant));
    return { ...grant, lease: leaseOf(request, grant) };
  }

  /** Prolongs it as a keeper would; the chain of nonces goes on. */
  async renew(held: Held): Promise<LeaseAnswer> {
    const answer = await this.support.refreshAlive(held.lease);
    if (answer.status !== 'ok') return answer;
    const { nonceNext } = held.lease;
    const haveMs = Math.max(held.lease.haveMs, answer.ceilingMs);
    const mark = answer.mark!;
    held.lease = { ...held.lease, nonce: nonceNext, nonceNext: randomUUID(), haveMs, mark };
    return answer;
  }

  release({ lease }: Held): Promise<void> {
    return this.support.release(lease, undefined);
  }
}

function leaseOf(request: LeaseRequest, grant: LeaseGrant): WorkerLease {
  const { workerId, ceilingMs: haveMs, mark } = grant;
  return { ...request, workerId, haveMs, mark: mark!, nonceNext: randomUUID() };
}
