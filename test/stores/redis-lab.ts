/**
 * Redis servers, Sentinels and supports of a spec. All of them end with it.
 */
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import {
  redisCounters,
  redisLocks,
  redisSupport,
  type GivenClient,
  type RedisSupport,
} from '../../lib/stores/redis/index.js';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { until as patiently } from '../until.js';

/** A node without connections to others has no address of its own. */
const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];

export class RedisLab {
  private readonly endings: (() => unknown)[] = [];

  support(options: Partial<Parameters<typeof redisSupport>[0]>): RedisSupport {
    const made = redisSupport({
      redis: 'redis://',
      namespace: randomUUID(),
      // These servers lose no data, so a new registry grants at once.
      failoverWindowMs: 0,
      clockDifferenceMs: 0,
      ...options,
    });
    this.endings.push(() => made.close());
    return made;
  }

  async server(...args: string[]) {
    const started = await startRedis({ args });
    this.endings.push(() => started.stop());
    return started;
  }

  async clusterNode(...args: string[]) {
    const node = await this.server(...CLUSTER, ...args);
    const at = args.indexOf('--requirepass');
    const admin = this.client(node.port, at < 0 ? {} : { password: args[at + 1]! });
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const isUp = async () => String(await admin.call('CLUSTER', 'INFO')).includes('state:ok');
    await until(isUp);
    return node;
  }

  /** A Sentinel is a redis-server that must write its own configuration file. */
  async sentinel(masterPort: number, ...lines: string[]) {
    const file = `${mkdtempSync(`${tmpdir()}/snowflake-sentinel-`)}/sentinel.conf`;
    const monitor = `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`;
    writeFileSync(file, `${[monitor, ...lines].join('\n')}\n`);
    const started = await startRedis({ config: file });
    this.endings.push(() => started.stop());
    return started;
  }

  client(port: number, options: Record<string, unknown> = {}): Redis {
    const client = new Redis({ port, ...options });
    client.on('error', () => undefined);
    this.endings.push(() => client.disconnect());
    return client;
  }

  /** A proxy between a client and a server that can replace the client's data. */
  async proxy(port: number, said: (text: string) => string): Promise<number> {
    const server: Server = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      for (const socket of [near, far]) socket.on('error', () => undefined);
      near.on('data', (data) => far.write(said(data.toString('latin1')), 'latin1'));
      far.on('data', (data) => near.write(data));
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.endings.push(() => server.close());
    return (server.address() as { port: number }).port;
  }

  async end(): Promise<void> {
    for (const ending of this.endings.toReversed()) await ending();
  }
}

export function request(given: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    fingerprint: 'f',
    ttlMs: 60_000,
    // Accepts any range, even the empty one of a new registry.
    minRangeMs: 0,
    quarantineMs: 0,
    haveMs: 0,
    token: randomUUID(),
    nonce: 'n0',
    workerIdMin: 0,
    workerIdMax: 1023,
    holder: { host: 'host', pid: 7, application: 'shop' },
    ...given,
  };
}

export function held(asked: LeaseRequest, answer: LeaseAnswer): WorkerLease {
  const { workerId, ceilingMs, mark } = answer as LeaseGrant;
  return { ...asked, workerId, haveMs: ceilingMs, mark: mark!, nonceNext: asked.nonce };
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly cause: Error;
}

/** Returns the error of a call, and fails the test without one. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const outcome = await call.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error as Failure;
  throw new Error(`Expected a failure, got ${JSON.stringify(outcome.answer)}`);
}

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  await patiently(() => isSo().catch(() => false));
}

/*
 * All features of Redis, used by one client of an application.
 */

export const HELD = { lock: 'job', label: 'a', ttlMs: 1000, longestMs: 1000, have: 0n } as const;
export const TAKEN = {
  kind: 'dense',
  counter: 'order',
  count: 1n,
  have: 0n,
  lossGap: 10n,
  startAt: 1n,
  stores: '1/1',
} as const;
/** The result of every client, with any options. */
export const ANSWERS = {
  status: 'ok',
  numbers: [
    { status: 'ok', first: 1n },
    { status: 'ok', first: 2n },
  ],
  lock: { status: 'wait' },
  workers: 1,
  advice: [],
};

/**
 * Uses one client for a lease and its renewals, numbers and a lock, and flushes scripts in between.
 */
export async function answersBy(client: GivenClient, forgetScripts: () => Promise<unknown>) {
  const own = { redis: client, namespace: randomUUID() };
  const support = redisSupport({ ...own, failoverWindowMs: 0, clockDifferenceMs: 0 });
  const counters = redisCounters({ ...own, lossWindowMs: 0 });
  const locks = redisLocks({ ...own, lossWindowMs: 0 });
  try {
    const asked = request();
    const granted = await support.getNextWorkId(asked);
    await forgetScripts();
    const { status } = await support.refreshAlive(held(asked, granted));
    const numbers = [await counters.take(TAKEN), await counters.take(TAKEN)];
    // A new store of locks delays its first caller.
    const lock = await locks.acquire({ ...HELD, holder: randomUUID() });
    const workers = (await support.workers()).length;
    return { status, numbers, lock, workers, advice: await support.advice() };
  } finally {
    await Promise.all([support.close(), counters.close(), locks.close()]);
  }
}
