/**
 * Members of etcd, gateways in front of them and supports, all of which end with their spec.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { etcdSupport, type EtcdSupportOptions } from '../../lib/stores/etcd/index.js';
import type { LeaseAnswer, LeaseGrant, WorkerLease } from '../../lib/lease/distributed-support.js';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';
import { EtcdKeys, endpointOf } from './etcd-keys.js';
import { etcdProxy, type EtcdProxy, type Handler } from './etcd-proxy.js';
import { held, request } from './redis-lab.js';

/** More than any ttl and any quarantine here. */
export const LONG_MS = 600_000;

export class EtcdLab {
  /** Added to the clock of etcd by the gateways. */
  aheadMs = 0;
  private readonly endings: (() => unknown)[] = [];

  /** What was started first ends last. */
  readonly ends = (end: () => unknown): void => void this.endings.unshift(end);

  async end(): Promise<void> {
    for (const end of this.endings.splice(0)) await end();
  }

  /** A member that all specs share. */
  get shared(): string {
    return endpointOf(process.env['ETCD_URL']!);
  }

  keys(namespace = randomUUID(), endpoint = this.shared): EtcdKeys {
    return new EtcdKeys(endpoint, namespace);
  }

  async proxy(target = this.shared, handler?: Handler): Promise<EtcdProxy> {
    const proxy = await etcdProxy(target, handler ?? this.ahead());
    this.ends(() => proxy.close());
    return proxy;
  }

  /** What etcd says, at a later time. */
  ahead(): Handler {
    return async ({ pass }) => {
      const passed = await pass();
      const ms = Date.parse(passed.headers['date'] ?? '') + this.aheadMs;
      return { ...passed, headers: { ...passed.headers, date: new Date(ms).toUTCString() } };
    };
  }

  support(options: Partial<EtcdSupportOptions> = {}) {
    const support = etcdSupport({
      endpoints: [this.shared],
      namespace: randomUUID(),
      requestTimeoutMs: 30_000,
      ...options,
    });
    this.ends(() => support.close());
    return support;
  }

  /** That servers may write, too. */
  folder(): string {
    const folder = serverFolder('etcd-lab', unprivileged());
    this.ends(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  /** A lease, after as much time as it takes. */
  async lease(
    support: ReturnType<EtcdLab['support']>,
    terms: Partial<ReturnType<typeof request>> = {},
  ): Promise<{ lease: WorkerLease; grant: LeaseGrant }> {
    const asked = request(terms);
    for (let tries = 0; tries < 5; tries++) {
      const answer: LeaseAnswer = await support.getNextWorkId(asked);
      if (answer.status === 'ok') return { lease: held(asked, answer), grant: answer };
      this.aheadMs += LONG_MS;
    }
    throw new Error('No lease was granted.');
  }
}
