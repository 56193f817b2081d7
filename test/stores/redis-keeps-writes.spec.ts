/**
 * Real Redis servers that do not reveal their identity to scripts, since the user may not run INFO.
 * They grant nothing, unless the application declares that no acknowledged write is ever lost.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LeaseGrant, WorkerLease } from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { RedisCounters, RedisLocks, RedisSupport } from '../../lib/stores/redis/index.js';
import type { RedisConnection, Script } from '../../lib/stores/redis/redis-connection.js';
import { countersFromUrl } from '../../lib/stores/redis/redis-counters.js';
import { inspectorFromUrl } from '../../lib/stores/redis/redis-inspector.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { RedisRows } from '../../lib/stores/redis/redis-rows.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from '../../lib/testing/index.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { failureOf, held, RedisLab, request, until } from './redis-lab.js';
import { headerOf } from './timed-redis.js';

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** A user with all rights except to ask for the server's identity, even after a restart. */
const UNTOLD = ['--user', 'app', 'on', '>pw', '~*', '&*', '+@all', '-info'];

/** The header of unused locks, long after any loss. */
const OLD_LOCKS = {
  version: '1',
  incarnation: 'i',
  server: 'declared',
  lastTime: 1,
  slew: 0,
  era: 1,
  longest: 0,
  proven: 0,
  provenAt: 0,
  ready: 0,
  forgotten: 0,
};

const lab = new RedisLab();
afterAll(() => lab.end());

const open: { close(): Promise<void> }[] = [];
const closeAll = async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
};
afterEach(closeAll);
function opened<T extends { close(): Promise<void> }>(one: T): T {
  open.push(one);
  return one;
}

/** A client with the restricted user. */
const urlOf = (port: number, query = '') => `redis://app:pw@127.0.0.1:${port}${query}`;

describe('a Redis that does not identify itself and keeps its writes', () => {
  let redis: string;
  let admin: Redis;
  beforeAll(async () => {
    const { port } = await lab.server(...DURABLE, ...UNTOLD);
    redis = urlOf(port);
    admin = lab.client(port);
  });
  const terms = () => ({ redis, prefix: `${randomUUID()}:`, keepsWrites: true });

  describe('leases worker IDs', () => {
    const prefix = `${randomUUID()}:`;
    describeDistributedSupport({
      test: it,
      expect,
      createSupport: (namespace) => opened(new RedisSupport({ ...terms(), prefix, namespace })),
      leaveOut: ['clock', 'losses', 'version'],
    });
  });

  describe('keeps counters', () => {
    const prefix = `${randomUUID()}:`;
    const lossWindowMs = 20;
    describeCounterStore({
      test: it,
      expect,
      createStore: (namespace) =>
        opened(new RedisCounters({ ...terms(), prefix, namespace, lossWindowMs })),
      leaveOut: ['clock', 'losses'],
    });
  });

  describe('keeps locks', () => {
    const prefix = `${randomUUID()}:`;
    describeLockStore({
      test: it,
      expect,
      createStore(namespace) {
        const store = opened(new RedisLocks({ ...terms(), prefix, namespace, lossWindowMs: 0 }));
        // A new hash looks like a lost one and delays all callers, so this one is old.
        const settled = admin.hset(store.key, OLD_LOCKS);
        const acquire = store.acquire.bind(store);
        store.acquire = async (asked) => {
          await settled;
          return acquire(asked);
        };
        return store;
      },
      leaveOut: ['clock', 'losses'],
    });
  });

  it('without keepsWrites, grants nothing and stores nothing', async () => {
    const { port } = await lab.server(...UNTOLD);
    const [support, counters, locks] = [
      opened(new RedisSupport({ redis: urlOf(port) })),
      opened(new RedisCounters({ redis: urlOf(port), keepsWrites: false })),
      opened(new RedisLocks({ redis: urlOf(port) })),
    ];
    const lock = { lock: 'l', holder: 'h', label: 'a', ttlMs: 1000, longestMs: 1000, have: 0n };
    for (const call of [
      support.getNextWorkId(request()),
      counters.create({ counter: 'c', start: 1n }),
      locks.acquire(lock),
    ]) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
    }
    expect(await lab.client(port).dbsize()).toBe(0);
  });
});

describe('the right to INFO, revoked and granted while processes hold leases', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-keeps-writes-'));
  const args = ['--dir', folder, ...DURABLE, ...UNTOLD];
  let port: number;
  let stop: () => Promise<void>;
  let admin: Redis;
  let support: RedisSupport;
  beforeEach(async () => {
    await start();
    support = opened(new RedisSupport({ redis: urlOf(port), keepsWrites: true }));
  });
  afterEach(async () => {
    await closeAll();
    await end();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function start() {
    const started = await startRedis({ args, ...(port > 0 && { port }) });
    ({ port, stop } = started);
    admin = lab.client(port);
  }
  const allow = (right: '+info' | '-info') => admin.call('ACL', 'SETUSER', 'app', right);

  async function end() {
    admin.disconnect();
    await stop();
  }

  async function restart() {
    await end();
    await start();
  }

  const era = async () => (await headerOf(admin, support.key)).era;
  const server = async () => (await admin.hget(support.key, 'server'))!;

  /** Leases, and renews as soon as the first range has begun. */
  async function leased(): Promise<WorkerLease> {
    const asked = request({ workerIdMax: 1 });
    return held(asked, await support.getNextWorkId(asked));
  }

  /** @returns the floor of the range, and the continued lease */
  async function renewed(lease: WorkerLease, by = support) {
    let answer: LeaseGrant | undefined;
    await until(async () => {
      const told = await by.refreshAlive(lease);
      answer = told as LeaseGrant;
      return told.status === 'ok';
    });
    const { floorMs, ceilingMs, mark } = answer!;
    return { floorMs, lease: { ...lease, haveMs: ceilingMs, mark: mark! } };
  }

  it('costs nothing if it is revoked: the name and the era stay', async () => {
    await admin.flushall();
    await allow('+info');
    const first = await leased();
    const name = await server();
    expect(name).toMatch(/^\w+:\w+$/);

    await allow('-info');
    const second = await renewed(first);
    expect([await server(), await era()]).toEqual([name, 1]);

    // The statement is true: acknowledged data survives kill -9, and the registry treats it as
    // kept.
    await restart();
    const third = await renewed(second.lease);
    expect(third.floorMs).toBe(second.floorMs);
    expect([await server(), await era()]).toEqual([name, 1]);

    // A user with INFO sees a different server and does not trust the statement, so its ranges are
    // new.
    await allow('+info');
    const fourth = await renewed(third.lease);
    expect(fourth.floorMs).toBeGreaterThanOrEqual(third.lease.haveMs);
    expect(await server()).not.toBe(name);
    expect(await era()).toBe(2);
  });

  it('begins one era if it is granted, even with users of both kinds', async () => {
    await admin.flushall();
    const first = await leased();
    expect([await server(), await era()]).toEqual(['declared', 1]);

    await admin.call('ACL', 'SETUSER', 'told', 'on', '>pw', '~*', '+@all');
    const redis = `redis://told:pw@127.0.0.1:${port}`;
    const told = opened(new RedisSupport({ redis }));
    let { floorMs, lease } = await renewed(first, told);
    expect(floorMs).toBeGreaterThanOrEqual(first.haveMs);
    expect(await era()).toBe(2);

    for (const by of [support, told, support, told]) {
      const again = await renewed(lease, by);
      expect(again.floorMs).toBe(floorMs);
      ({ floorMs, lease } = again);
    }
    expect(await era()).toBe(2);
  });

  it('is contradicted by a holder with a newer grant', async () => {
    await admin.flushall();
    const kept = await leased();
    const copy = (await admin.dumpBuffer(support.key))!;
    const lease = (await renewed(await leased())).lease;
    await admin.restore(support.key, 0, copy, 'REPLACE');
    // A new process cannot see that this worker ID was granted. This is the harm of a false
    // statement.
    const newcomer = await leased();
    expect(newcomer.workerId).toBe(lease.workerId);
    expect(await era()).toBe(1);
    const { floorMs } = await renewed({ ...kept, mark: lease.mark });
    expect(floorMs).toBeGreaterThanOrEqual(lease.haveMs);
    expect(await era()).toBe(2);
  });

  it('continues its numbers after kill -9, and repeats none that a client has', async () => {
    await admin.flushall();
    const own = { redis: urlOf(port), keepsWrites: true, lossWindowMs: 0 };
    const counters = opened(new RedisCounters(own));
    const [kind, counter, lossGap] = ['dense', 'c', 100n] as const;
    const taken = (have: bigint) =>
      counters.take({ kind, counter, count: 5n, have, lossGap, startAt: 1n });
    expect(await taken(0n)).toMatchObject({ status: 'ok', first: 1n, end: 6n, era: 1 });
    await restart();
    let answer: Awaited<ReturnType<typeof taken>> | undefined;
    await until(async () => (answer = await taken(6n)).status === 'ok');
    expect(answer).toMatchObject({ first: 6n, end: 11n, era: 1 });

    // If the statement is false, a new process gets the same grant, and a process with a later
    // answer proves the loss.
    const copy = (await admin.dumpBuffer(counters.key))!;
    expect(await taken(11n)).toMatchObject({ first: 11n, end: 16n });
    await admin.restore(counters.key, 0, copy, 'REPLACE');
    expect(await taken(0n)).toMatchObject({ first: 11n, era: 1 });
    await admin.restore(counters.key, 0, copy, 'REPLACE');
    expect(await taken(16n)).toMatchObject({ first: 116n, era: 2 });
  });

  it('counts a failover that Sentinel numbers, and does not report a server as left', async () => {
    const key = `{${randomUUID()}}`;
    const app = lab.client(port, { username: 'app', password: 'pw' });
    const led = async (epoch: number) => {
      const run = (script: Script, of: string, args: readonly (string | number)[]) =>
        app.eval(`ARGV.epoch = ${epoch}\n${script.lua}`, 1, of, ...args);
      const connection = { run, reopen: () => undefined } as unknown as RedisConnection;
      const told = { statement: true, lossWindowMs: 0, evicted: String, unread: String };
      const rows = new RedisRows({ ...told, connection, key });
      await new RegistrySupport(rows).getNextWorkId(request());
      const { era, leftEra } = await headerOf(admin, key);
      return { era, leftEra, epoch: await admin.hget(key, 'epoch') };
    };
    expect(await led(1)).toEqual({ era: 1, epoch: '1' });
    expect(await led(1)).toEqual({ era: 1, epoch: '1' });
    expect(await led(2)).toEqual({ era: 2, epoch: '2' });
    expect(await led(2)).toEqual({ era: 2, epoch: '2' });
  });
});

describe('reports about keepsWrites', () => {
  const BELIEVED = expect.stringMatching(/^Scripts cannot read which server.*relies on/);

  it('log and doctor name the setting', async () => {
    const { port } = await lab.server(...DURABLE, ...UNTOLD);
    const url = urlOf(port, '/0?keepsWrites=true');
    const all = [supportFromUrl(url), countersFromUrl(url), locksFromUrl(url)].map(opened);
    for (const store of all) {
      expect(await store.advice()).toEqual([BELIEVED]);
      expect(store.location).toMatch(/, keepsWrites$/);
    }
    const inspector = opened(inspectorFromUrl(url));
    const findings = await inspector.findings();
    expect(findings[0]).toMatchObject({ level: 'ok', text: BELIEVED });
    expect(findings.map(({ topic }) => topic).slice(1)).toEqual(['rights']);
  });

  it("a server's own report contradicts it", async () => {
    const { port, url } = await lab.server('--appendonly', 'no');
    await lab.server('--replicaof', '127.0.0.1', String(port), '--repl-diskless-sync-delay', '0');
    const admin = lab.client(port);
    await until(async () => (await admin.info('replication')).includes('connected_slaves:1'));
    const support = opened(supportFromUrl(`${url}?keepsWrites=true`));
    const said = expect.stringMatching(
      /append-only file an older save.*, and it has replicas.*leave it out/,
    );
    expect(await support.advice()).toEqual([said]);
    const found = await opened(inspectorFromUrl(`${url}?keepsWrites=true`)).findings();
    expect(found).toContainEqual(expect.objectContaining({ level: 'warning', text: said }));
    // Nothing depends on the statement: the counters are still refused, and a lease recognizes its
    // server.
    const counters = opened(countersFromUrl(`${url}?keepsWrites=true`));
    const failure = await failureOf(counters.create({ counter: 'c', start: 1n }));
    expect(failure.details).toMatchObject({ refusal: 'not-durable' });
    await support.getNextWorkId(request());
    expect(await admin.hget(support.key, 'server')).toMatch(/^\w+:\w+$/);
  });

  it('is silent if the server identifies itself and nothing contradicts it', async () => {
    const { url } = await lab.server(...DURABLE);
    expect(await opened(supportFromUrl(`${url}?keepsWrites=true`)).advice()).toEqual([]);
  });

  it('must be true or false', () => {
    expect(() => supportFromUrl('redis://h?keepsWrites=yes')).toThrow(/none of true, false/);
    expect(() => countersFromUrl('redis://h?keepsWrites=1')).toThrow(/none of true, false/);
    const wrong = { redis: 'redis://h', keepsWrites: 'yes' as unknown as boolean };
    for (const made of [RedisSupport, RedisCounters, RedisLocks]) {
      expect(() => new made(wrong)).toThrow(/`keepsWrites` to be a boolean/);
    }
  });
});
