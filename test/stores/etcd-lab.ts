/**
 * Members of etcd, gateways in front of them, and supports. All of them end with their spec.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LeaseAnswer, LeaseGrant, WorkerLease } from '../../lib/lease/distributed-support.js';
import { etcdSupport, type EtcdSupportOptions } from '../../lib/stores/etcd/index.js';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';
import { controlsOf } from '../contract/settable-stores.js';
import { held, request } from './redis-lab.js';
import { StoreReadings, type TimedReading } from './timed-redis.js';

/** More than any ttl and any quarantine in these specs. */
export const LONG_MS = 600_000;

export class EtcdLab {
  /** The offset that the gateways add to etcd's clock. */
  aheadMs = 0;
  private readonly endings: (() => unknown)[] = [];

  /** Registers clean-up in reverse order. */
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

  /** Passes etcd's answer with a later time. */
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

  /** Makes a folder that servers can write to. */
  folder(): string {
    const folder = serverFolder('etcd-lab', unprivileged());
    this.ends(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  /** Waits for a lease. */
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
 * The keys of a registry in a real etcd, for tests that read or corrupt them.
 */

const toBase64 = (text: string) => Buffer.from(text).toString('base64');
const fromBase64 = (text = '') => Buffer.from(text, 'base64').toString('utf8');

/** For a URL with one etcd: its first member. */
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

  /** Names without the prefix, with their values. */
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

/*
 * A gateway in front of a real etcd. It passes etcd's answers on, except those that a test changes.
 * It has its own clock, and may drop or replace an answer.
 */

export interface Passed {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface ProxyCall {
  /** The path below /v3. */
  readonly path: string;
  readonly body: string;
  /** Passes this request on, or the given body. */
  readonly pass: (body?: string) => Promise<Passed>;
  /** Closes the connection without an answer. */
  readonly drop: () => undefined;
}

/** Handles a request; returns undefined if no answer may follow. */
export type Handler = (call: ProxyCall) => Promise<Passed | undefined>;

export interface EtcdProxy {
  /** The URL of the gateway as an endpoint. */
  readonly endpoint: string;
  /** The requested paths. */
  readonly asked: string[];
  handler: Handler;
  /** Closes every connection, like a member that stops. */
  hangUp(): void;
  close(): Promise<void>;
}

export async function etcdProxy(
  target: string,
  handler: Handler = ({ pass }) => pass(),
): Promise<EtcdProxy> {
  const proxy = { asked: [] as string[], handler };
  const server = createServer((question, answer) => {
    void handled(target, proxy, question, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(proxy, {
    endpoint: `http://127.0.0.1:${port}`,
    hangUp: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

async function handled(
  target: string,
  proxy: Pick<EtcdProxy, 'asked' | 'handler'>,
  question: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const body = await textOf(question);
  const path = (question.url ?? '').replace(/^\/v3\//, '');
  proxy.asked.push(path);
  const drop = () => {
    question.socket.destroy();
    return undefined;
  };
  const { authorization } = question.headers;
  const pass = (sent = body) => passed(`${target}${question.url}`, authorization, sent);
  try {
    const made = await proxy.handler({ path, body, pass, drop });
    if (made === undefined) return;
    answer.sendDate = false;
    answer.writeHead(made.status, made.headers).end(made.body);
  } catch {
    // If the member is down, there is no answer either.
    drop();
  }
}

async function passed(url: string, authorization: string | undefined, body: string) {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
  const sent = send(url, { method: 'POST', headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers: theirs } = answer;
  const kept: Record<string, string> = theirs.date === undefined ? {} : { date: theirs.date };
  return { status, headers: kept, body: await textOf(answer) };
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/*
 * Namespaces of a real etcd, by name. A test controls the clock and the cluster of each through a
 * gateway. Leases follow the test's time as well: the gateway requests long ones, and revokes each
 * when its time is over.
 */

const LONG_S = '100000';

/** The end of each lease, by a clock that never goes back. */
export class SettableLeases {
  steadyMs = 0;
  private readonly ends = new Map<string, number>();
  private readonly ttls = new Map<string, number>();

  granted(id: string, seconds: number): void {
    this.ttls.set(id, seconds * 1000);
    this.keptAlive(id);
  }

  keptAlive(id: string): void {
    this.ends.set(id, this.steadyMs + this.ttls.get(id)!);
  }

  /** In etcd's format, without milliseconds. */
  leftText(id: string): string {
    const leftMs = (this.ends.get(id) ?? -Infinity) - this.steadyMs;
    return leftMs > 0 ? (leftMs / 1000).toFixed(3) : '-1';
  }

  over(): string[] {
    const ended = [...this.ends].filter(([, endMs]) => endMs <= this.steadyMs).map(([id]) => id);
    for (const id of ended) this.ends.delete(id);
    return ended;
  }
}

/** Leases that the store has revoked are gone already. */
export function wasRevoked(error: unknown): void {
  if (!String(error).includes('lease not found')) throw error;
}

async function withLeases({ path, body, pass }: ProxyCall, leases: SettableLeases) {
  if (path === 'lease/grant') {
    const { TTL } = JSON.parse(body) as { TTL: string };
    const passed = await pass(JSON.stringify({ TTL: LONG_S }));
    leases.granted((JSON.parse(passed.body) as { ID: string }).ID, Number(TTL));
    return { ...passed, body: passed.body.replace(`"TTL":"${LONG_S}"`, `"TTL":"${TTL}"`) };
  }
  const passed = await pass();
  if (path !== 'lease/timetolive' && path !== 'lease/keepalive') return passed;
  const { ID } = JSON.parse(body) as { ID: string };
  if (path === 'lease/keepalive') {
    const { result } = JSON.parse(passed.body) as { result: { TTL?: string } };
    if (result.TTL !== undefined) leases.keptAlive(ID);
    return passed;
  }
  return {
    ...passed,
    body: passed.body.replace(/"TTL":"-?\d+"/, `"TTL":"${leases.leftText(ID)}"`),
  };
}

interface Place {
  readonly keys: EtcdKeys;
  readonly proxy: Promise<EtcdProxy>;
  kept: Map<string, string>;
}

/** @param etcd the endpoint of a member */
export function settableEtcd<T extends { close?(): Promise<void> }>(etcd: () => string) {
  const readings = new StoreReadings();
  const leases = new SettableLeases();
  const places = new Map<string, Place>();
  const opened: T[] = [];
  const placeOf = (name: string): Place => {
    const proxy = () =>
      etcdProxy(etcd(), async (call) =>
        disguised(await withLeases(call, leases), readings.of(name)),
      );
    const keys = () => new EtcdKeys(etcd(), `${name}-${randomUUID()}`);
    if (!places.has(name)) places.set(name, { keys: keys(), proxy: proxy(), kept: new Map() });
    return places.get(name)!;
  };
  const controls = controlsOf(readings, {
    wipe: (name) => placeOf(name).keys.deleteAll(),
    async remember(name) {
      placeOf(name).kept = await placeOf(name).keys.all();
    },
    async restore(name) {
      const { keys, kept } = placeOf(name);
      await keys.deleteAll();
      for (const [key, value] of kept) await keys.put(key, value);
    },
  });
  return {
    ...controls,
    clockControl: {
      now: controls.clockControl.now,
      async advance(ms: number): Promise<void> {
        controls.clockControl.advance(ms);
        leases.steadyMs += Math.max(0, ms);
        const keys = new EtcdKeys(etcd(), 'none');
        for (const ID of leases.over()) await keys.ask('lease/revoke', { ID }).catch(wasRevoked);
      },
    },
    leases,
    keysOf: (name: string) => placeOf(name).keys,
    made: async (name: string, make: (options: EtcdSupportOptions) => T): Promise<T> => {
      const { keys, proxy } = placeOf(name);
      const { endpoint } = await proxy;
      const { namespace } = keys;
      const store = make({ endpoints: [endpoint], namespace, requestTimeoutMs: 60_000 });
      opened.push(store);
      return store;
    },
    /** Closes everything opened since its last call. */
    end: async (): Promise<void> => {
      await Promise.all(opened.splice(0).map(async (store) => store.close?.()));
      const proxies = [...places.values()].map(({ proxy }) => proxy);
      places.clear();
      await Promise.all(proxies.map(async (proxy) => (await proxy).close()));
    },
  };
}

/** Etcd's answer with the time and the cluster of the test. */
function disguised(passed: Passed, { timeMs, server }: TimedReading): Passed {
  const ms = String(timeMs % 1000).padStart(3, '0');
  const date = new Date(timeMs).toUTCString().replace(' GMT', `.${ms} GMT`);
  const clusterId = `"cluster_id":"${server.replace('server', '1000')}"`;
  const body = passed.body.replaceAll(/"cluster_id":"\d+"/g, clusterId);
  return { ...passed, headers: { ...passed.headers, date }, body };
}
