/**
 * One ID space is one registry in one database. Whatever happens with servers, rights, replaced
 * connections or proxies, a lease comes from the requested database or not at all.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { WorkerLease } from '../../lib/lease/distributed-support.js';
import { redisSupport, type RedisSupport } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { command } from '../cli/run-command.js';
import { failureOf, held, RedisLab, request, until } from './redis-lab.js';
import { headerOf, settleRegistry } from './timed-redis.js';

describe('redis database', () => {
  const lab = new RedisLab();
  let port: number;
  let admin: Redis;

  beforeAll(async () => {
    ({ port } = await lab.server());
    admin = lab.client(port);
  });
  afterAll(() => lab.end());

  /** The count of keys in each database: `{ 3: 1 }`. */
  async function keyCounts(of = admin): Promise<Record<string, number>> {
    const lines = [...(await of.info('keyspace')).matchAll(/^db(\d+):keys=(\d+)/gm)];
    return Object.fromEntries(lines.map(([, db, keys]) => [db!, Number(keys)]));
  }

  const RIGHTS = ['~*', '+eval', '+evalsha', '+hget', '+hmget', '+hscan', '+hset', '+hdel'];

  async function user(name: string, ...rights: string[]): Promise<string> {
    const given = ['on', '>pw', ...RIGHTS, '+time', '+info', ...rights];
    await admin.call('ACL', 'SETUSER', name, 'reset', ...given);
    return `redis://${name}:pw@127.0.0.1:${port}`;
  }

  describe('a database', () => {
    it('that the server does not have is refused by number, before any lease', async () => {
      await admin.flushall();
      const support = lab.support({ redis: `redis://127.0.0.1:${port}/99` });
      const error = await failureOf(support.getNextWorkId(request()));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(error.details).toMatchObject({ refusal: 'database' });
      expect(error.message).toContain('database 99');
      expect(await keyCounts()).toEqual({});
    });

    it('is refused until the user has the right to select it', async () => {
      await admin.flushall();
      const redis = `${await user('app')}/3`;
      const [first, later] = [lab.support({ redis, namespace: 'a' }), { redis, namespace: 'a' }];
      for (const call of [first.getNextWorkId(request()), first.workers()]) {
        const error = await failureOf(call);
        expect(error).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
        expect(error.message).toContain('database 3');
        expect(error.message).toContain('SELECT');
      }
      expect(await keyCounts()).toEqual({});
      await user('app', '+select');
      for (const support of [first, lab.support(later)]) await support.getNextWorkId(request());
      expect(await keyCounts()).toEqual({ 3: 1 });
      expect(await first.workers()).toHaveLength(2);
    });

    it('stays the same if the connection is killed after the right was revoked', async () => {
      await admin.flushall();
      const support = lab.support({ redis: `${await user('lost', '+select')}/3` });
      const lease = await leased(support);
      await user('lost');
      await admin.call('CLIENT', 'KILL', 'USER', 'lost');
      await until(async () => (await failureOf(support.refreshAlive(lease))).retryable === false);
      expect(await keyCounts()).toEqual({ 3: 1 });
      await user('lost', '+select');
      await until(async () => (await support.refreshAlive(lease)).status === 'ok');
      expect(await keyCounts()).toEqual({ 3: 1 });
    });

    it('stays the same while connections are killed under calls', async () => {
      await admin.flushall();
      const support = lab.support({ redis: `${await user('many', '+select')}/3` });
      const lease = await leased(support);
      const statuses = new Set<string>();
      for (let round = 0; round < 40; round++) {
        const calls = Array.from({ length: 5 }, () => support.refreshAlive(lease));
        const killed = round % 2 === 0 ? admin.call('CLIENT', 'KILL', 'USER', 'many') : undefined;
        for (const { status } of await Promise.allSettled(calls)) statuses.add(status);
        await killed;
      }
      expect(statuses.has('fulfilled')).toBe(true);
      expect(await keyCounts()).toEqual({ 3: 1 });
    });

    it('is the configured one behind a proxy that ignores SELECT', async () => {
      await admin.flushall();
      const select = /(\r\n\$6\r\nselect\r\n\$1\r\n)3/gi;
      const proxied = await lab.proxy(port, (text) => text.replace(select, '$10'));
      const deaf = lab.client(proxied, { db: 3 });
      await deaf.set('proof', 'the proxy does so');
      expect(await keyCounts()).toEqual({ 0: 1 });
      await admin.flushall();
      await lab.support({ redis: `redis://127.0.0.1:${proxied}/3` }).getNextWorkId(request());
      await lab.support({ redis: deaf }).getNextWorkId(request());
      expect(await keyCounts()).toEqual({ 3: 2 });
    });

    it("is part of the registry's name", () => {
      const location = (redis: string) => lab.support({ redis, namespace: 'shop' }).location;
      expect(location('redis://h')).toBe('Redis at h:6379, database 0, snowflake:{shop}:registry');
      expect(location('redis://h/7')).toContain('h:6379, database 7,');
      expect(location('redis+sentinel://h/m/7')).toContain('h:26379, database 7,');
      expect(location('redis+cluster://h')).toBe('Redis at h:6379, snowflake:{shop}:registry');
    });
  });

  describe("a given client's database", () => {
    it('is that of its options', async () => {
      await admin.flushall();
      const support = lab.support({ redis: lab.client(port, { db: 3, keyPrefix: 'x:' }) });
      await support.getNextWorkId(request());
      expect(await keyCounts()).toEqual({ 3: 1 });
      expect(support.location).toContain(`localhost:${port}, database 3,`);
    });

    it('is refused if select() switched the client to another one', async () => {
      await admin.flushall();
      const given = lab.client(port);
      const before = lab.support({ redis: given });
      await given.select(3);
      const refusal = { code: 'CONFIG_INVALID', retryable: false };
      expect(await failureOf(before.getNextWorkId(request()))).toMatchObject(refusal);
      expect(() => lab.support({ redis: given })).toThrow(expect.objectContaining(refusal));
      expect(() => lab.support({ redis: given })).toThrow(/database 0 .*switched to 3/);
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      expect(() => lab.support({ redis: given })).toThrow(/switched to 3/);
      expect(await keyCounts()).toEqual({});
    });

    it('does not matter for reads, subscriptions, or pipelines', async () => {
      await admin.flushall();
      const options = { db: 3, readOnly: true, enableAutoPipelining: true, stringNumbers: true };
      const support = lab.support({ redis: lab.client(port, options) });
      expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      const monitor = lab.client(port, { db: 3, monitor: true, lazyConnect: true });
      await lab.support({ redis: monitor }).getNextWorkId(request());
      expect(await keyCounts()).toEqual({ 3: 2 });
    });

    it('is the only one of a Cluster', async () => {
      const node = await lab.clusterNode();
      const { Cluster } = await import('ioredis');
      const startup = [{ host: '127.0.0.1', port: node.port }];
      const given = new Cluster(startup, { lazyConnect: true, redisOptions: { db: 3 } });
      expect(() => lab.support({ redis: given })).toThrow(/only database 0/);
    });
  });

  it('the database is the same after a failover by Sentinel', async () => {
    const master = await lab.server('--repl-diskless-sync-delay', '0');
    const args = [
      '--replicaof',
      '127.0.0.1',
      String(master.port),
      '--repl-diskless-sync-delay',
      '0',
    ];
    const replica = await lab.server(...args);
    const watch = await lab.sentinel(master.port, 'sentinel failover-timeout mymaster 3000');
    const [next, sentinel] = [lab.client(replica.port), lab.client(watch.port)];
    await sentinel.call('SENTINEL', 'DEBUG', 'info-period', '100');
    await until(async () => (await next.info('replication')).includes('link_status:up'));
    await until(async () => {
      const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', 'mymaster')) as string[][];
      return replicas.some((told) => told[told.indexOf('master-link-status') + 1] === 'ok');
    });
    const support = lab.support({ redis: `redis+sentinel://127.0.0.1:${watch.port}/mymaster/3` });
    const lease = await leased(support);
    // A failover that times out on a busy machine starts again.
    await until(async () => {
      if ((await next.info('replication')).includes('role:master')) return true;
      await sentinel.call('SENTINEL', 'FAILOVER', 'mymaster');
      return false;
    });
    await until(() => renewedBy(support, lease, next));
    expect(await keyCounts(next)).toEqual({ 3: 1 });
  });

  async function leased(support: ReturnType<RedisLab['support']>): Promise<WorkerLease> {
    const asked = request();
    return held(asked, await support.getNextWorkId(asked));
  }

  /** Whether this server has counted an operation on the registry. */
  async function renewedBy(
    support: ReturnType<RedisLab['support']>,
    lease: WorkerLease,
    server: Redis,
  ): Promise<boolean> {
    const count = async () =>
      Number((await server.info('commandstats')).match(/evalsha.*calls=(\d+)/)?.[1] ?? 0);
    const before = await count();
    await support.refreshAlive(lease);
    return (await count()) > before;
  }
});

/*
 * Registries with more worker IDs than one look can cover, on a real Redis.
 */
const URL = process.env['REDIS_URL']!;
const HELD_COUNT = 20_000;
const WIDE = { workerIdMin: 0, workerIdMax: 4_194_303 };
const FINGERPRINT = 't28-w22-s13/1000ms@1704067200000';

describe('a registry with many workers in Redis', () => {
  const opened: RedisSupport[] = [];
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(URL);
  });
  afterAll(async () => {
    await Promise.all(opened.map((support) => support.close()));
    await redis.quit();
  });

  async function settled(namespace: string = randomUUID()) {
    const support = redisSupport({ redis: URL, namespace });
    opened.push(support);
    await settleRegistry(redis, support.key);
    return support;
  }

  /** As left by `count` processes that hold the first worker IDs. */
  async function filled(count: number) {
    const namespace = randomUUID();
    const support = await settled(namespace);
    const endsMs = Date.now() + 600_000;
    const header = { ...(await headerOf(redis, support.key)), fingerprint: FINGERPRINT };
    const { incarnation } = header;
    const pipeline = redis.pipeline();
    pipeline.hset(support.key, 'r:|', `2|0|\n${JSON.stringify(header)}`);
    for (let id = 0; id < count; id++) {
      const label = { host: `h${id}`, pid: id, application: 'a' };
      const text = JSON.stringify({
        nonce: 'n',
        floorMs: 0,
        era: 1,
        sinceMs: 1,
        label,
        incarnation,
      });
      const line = `1|${endsMs + id}|t${id}\n${text}`;
      pipeline.hset(support.key, `r:${id}`, line, `t:t${id}`, id);
    }
    await pipeline.exec();
    return { support, namespace, endsMs };
  }

  it('is listed in full, page by page, each ceiling with its holder', async () => {
    const { support, endsMs } = await filled(HELD_COUNT);
    const workers = await support.workers();
    expect(workers.map(({ workerId }) => workerId)).toEqual(
      Array.from({ length: HELD_COUNT }, (_, id) => id),
    );
    const wrong = workers.filter(
      ({ workerId, ceilingMs, holder }) =>
        ceilingMs !== endsMs + workerId || holder?.pid !== workerId,
    );
    expect(wrong).toEqual([]);
  });

  it('is read up to the limit', async () => {
    const { support } = await filled(HELD_COUNT);
    const calls = async () =>
      Number(/cmdstat_hscan:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const before = await calls();
    const workers = await support.workers(1000);
    expect(await calls()).toBeLessThanOrEqual(before + 3);
    expect(workers).toHaveLength(1000);
    expect(workers.every(({ workerId, holder }) => holder?.pid === workerId)).toBe(true);
  });

  it('shows an operator every worker ID', async () => {
    const { namespace } = await filled(HELD_COUNT);
    const { out, code } = await command([
      'workers',
      '--json',
      '--support',
      `${URL}?namespace=${namespace}`,
      '--timeout',
      '60000',
    ]);
    const lines = out.trim().split('\n');
    expect(code).toBe(0);
    expect(lines).toHaveLength(HELD_COUNT + 1);
    const free = 4_194_304 - HELD_COUNT;
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ held: HELD_COUNT, free, workers: 4_194_304 });
  });

  it('leases to a new process, and again to the same token', async () => {
    const { support } = await filled(HELD_COUNT);
    const asked = request({ ...WIDE, fingerprint: FINGERPRINT });
    const answer = await support.getNextWorkId(asked);
    expect(answer).toMatchObject({ status: 'ok' });
    const lease = held(asked, answer);
    expect(lease.workerId).toBeGreaterThanOrEqual(HELD_COUNT);
    expect(await support.getNextWorkId(asked)).toMatchObject({ workerId: lease.workerId });
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
  });

  it('reports that none is free if all are held, and finds a single free one', async () => {
    const { support, endsMs } = await filled(HELD_COUNT);
    const span = { workerIdMin: 100, workerIdMax: HELD_COUNT - 1, fingerprint: FINGERPRINT };
    const refusal = await support.getNextWorkId(request(span));
    const { waitMs } = refusal as { waitMs: number };
    expect(refusal.status).toBe('none-free');
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(endsMs + HELD_COUNT - Date.now() + 1000);
    await redis.hset(support.key, 'r:12345', '2|1|\n{}');
    let found: unknown;
    // One of 19,900: 0.3 % for each call.
    for (let n = 0; n < 5000 && found === undefined; n++) {
      const answer = await support.getNextWorkId(request(span));
      if (answer.status === 'ok') found = answer.workerId;
    }
    expect(found).toBe(12_345);
  });

  it('does not grow with restarts', async () => {
    const support = await settled();
    const asked = () => request({ ...WIDE, fingerprint: FINGERPRINT });
    for (let n = 0; n < 500; n++) {
      const one = asked();
      await support.release(held(one, await support.getNextWorkId(one)), undefined);
    }
    // The registry first creates eight blocks of 128 rows, and uses them before others.
    expect(await redis.hlen(support.key)).toBeLessThan(1200);
  });
});

/*
 * How the scripts identify their server. The text must be the same for every version of Redis, or a
 * registry would take an upgrade of this library for a loss of data.
 */
const ONE_CALL = "info('server', 'replication')";

describe('the server that executes a script', () => {
  let redis: Redis;
  let expected: string;
  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    const told = `${await redis.info('server')}${await redis.info('replication')}`;
    const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(told)![1]!;
    expected = `${field('run_id')}:${field('master_replid')}`;
  });
  afterAll(() => redis.quit());

  async function serverSeen(lua: string): Promise<string> {
    const key = 'identity:{test}';
    await redis.del(key);
    const [, server] = (await redis.eval(lua, 1, key, '', 0)) as unknown[];
    return String(server);
  }

  it.each([
    ['from version 7 on, by one call', (lua: string) => lua],
    [
      'before version 7, by one call for each half',
      (lua: string) =>
        lua.replace('redis.REDIS_VERSION_NUM', 'nil').replace(ONE_CALL, 'error("too new")'),
    ],
    [
      'if another kind of server refuses the single call',
      (lua: string) => lua.replace(ONE_CALL, "info('server', 'replication', {})"),
    ],
  ])('is identified by run and replication: %s', async (_name, changed) => {
    const { lua } = SCRIPTS.readRows;
    expect(lua).toContain(`redis.REDIS_VERSION_NUM and ${ONE_CALL}`);
    expect(await serverSeen(changed(lua))).toBe(expected);
  });

  it.each([
    ['if the user lacks the right', "{ err = 'NOPERM no' }", 'NOPERM no'],
    ['if only half of it is available', "redis.pcall('INFO', 'server')", 'NOSERVER'],
  ])('is not guessed: %s', async (_case, reply, says) => {
    const lua = SCRIPTS.readRows.lua.replace("redis.pcall('INFO', ...)", reply);
    expect(lua).not.toBe(SCRIPTS.readRows.lua);
    await expect(serverSeen(lua)).rejects.toThrow(says);
  });
});
