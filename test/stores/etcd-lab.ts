/**
 * Members of etcd, gateways in front of them and supports, all of which end with their spec.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { LeaseAnswer, LeaseGrant, WorkerLease } from '../../lib/lease/distributed-support.js';
import { etcdSupport, type EtcdSupportOptions } from '../../lib/stores/etcd/index.js';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';
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

/*
 * The keys of a registry in an etcd that is real, for tests that look at them or spoil them.
 */

const toBase64 = (text: string) => Buffer.from(text).toString('base64');
const fromBase64 = (text = '') => Buffer.from(text, 'base64').toString('utf8');

/** Of a URL that names one etcd: its first member. */
export function endpointOf(url: string): string {
  return `http://${/\/\/(?:[^@]*@)?([^/,?]+)/.exec(url)![1]}`;
}

export class EtcdKeys {
  readonly prefix: string;

  constructor(
    readonly endpoint: string,
    readonly namespace: string,
    private readonly authorization?: string,
  ) {
    this.prefix = `snowflake/${namespace}/`;
  }

  /** Names without the prefix, and values. */
  async all(): Promise<Map<string, string>> {
    const answer = await this.ask('kv/range', this.span());
    const kvs = (answer['kvs'] ?? []) as { key: string; value?: string }[];
    return new Map(
      kvs.map(({ key, value }) => [fromBase64(key).slice(this.prefix.length), fromBase64(value)]),
    );
  }

  async put(name: string, value: string): Promise<void> {
    await this.ask('kv/put', { key: toBase64(this.prefix + name), value: toBase64(value) });
  }

  async delete(name: string): Promise<void> {
    await this.ask('kv/deleterange', { key: toBase64(this.prefix + name) });
  }

  async deleteAll(): Promise<void> {
    await this.ask('kv/deleterange', this.span());
  }

  async ask(path: string, body: object): Promise<Record<string, unknown>> {
    const headers: Record<string, string> =
      this.authorization === undefined ? {} : { authorization: this.authorization };
    const answer = await fetch(`${this.endpoint}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text) as Record<string, unknown>;
  }

  private span() {
    const end = `${this.prefix.slice(0, -1)}0`;
    return { key: toBase64(this.prefix), range_end: toBase64(end) };
  }
}
