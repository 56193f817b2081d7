/**
 * One id space is one registry in one database: whatever a server, a user's rights, a connection
 * that is replaced or a proxy do, a lease comes from the database that was asked for or not at all.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { WorkerLease } from '../../lib/lease/distributed-support.js';
import { RedisLab, failureOf, held, request, until } from './redis-lab.js';

const lab = new RedisLab();
let port: number;
let admin: Redis;

beforeAll(async () => {
  ({ port } = await lab.server());
  admin = lab.client(port);
});
afterAll(() => lab.end());

/** How many keys there are, database by database: `{ 3: 1 }`. */
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
  it('that the server does not have is refused by its number, before any lease', async () => {
    await admin.flushall();
    const support = lab.support({ redis: `redis://127.0.0.1:${port}/99` });
    const error = await failureOf(support.getNextWorkId(request()));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
    expect(error.details).toMatchObject({ refusal: 'database' });
    expect(error.message).toContain('database 99');
    expect(await keyCounts()).toEqual({});
  });

  it('that the user may not select is refused, and is used once the user may', async () => {
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

  it('stays the same when the connection is killed and the right is gone meanwhile', async () => {
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

  it('is the one asked for behind a proxy that answers SELECT without heeding it', async () => {
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

  it('is named where the registry lies', () => {
    const location = (redis: string) => lab.support({ redis, namespace: 'shop' }).location;
    expect(location('redis://h')).toBe('Redis at h:6379, database 0, snowflake:{shop}:registry');
    expect(location('redis://h/7')).toContain('h:6379, database 7,');
    expect(location('redis+sentinel://h/m/7')).toContain('h:26379, database 7,');
    expect(location('redis+cluster://h')).toBe('Redis at h:6379, snowflake:{shop}:registry');
  });
});

describe('the database of a given client', () => {
  it('is the one it was made with', async () => {
    await admin.flushall();
    const support = lab.support({ redis: lab.client(port, { db: 3, keyPrefix: 'x:' }) });
    await support.getNextWorkId(request());
    expect(await keyCounts()).toEqual({ 3: 1 });
    expect(support.location).toContain(`localhost:${port}, database 3,`);
  });

  it('is not used where select() has switched the client to another one', async () => {
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

  it('does not matter where it is for reading, for watching or pipelines by itself', async () => {
    await admin.flushall();
    const options = { db: 3, readOnly: true, enableAutoPipelining: true, stringNumbers: true };
    const support = lab.support({ redis: lab.client(port, options) });
    expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok', workerId: 0 });
    const monitor = lab.client(port, { db: 3, monitor: true, lazyConnect: true });
    await lab.support({ redis: monitor }).getNextWorkId(request());
    expect(await keyCounts()).toEqual({ 3: 2 });
  });

  it('that is a Cluster is the only one there is', async () => {
    const node = await lab.clusterNode();
    const { Cluster } = await import('ioredis');
    const startup = [{ host: '127.0.0.1', port: node.port }];
    const given = new Cluster(startup, { lazyConnect: true, redisOptions: { db: 3 } });
    expect(() => lab.support({ redis: given })).toThrow(/only database 0/);
  });
});

it('the database is the same after a failover by Sentinel', async () => {
  const master = await lab.server('--repl-diskless-sync-delay', '0');
  const args = ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0'];
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
  await until(async () => (await sentinel.call('SENTINEL', 'FAILOVER', 'mymaster')) === 'OK');
  await until(async () => (await next.info('replication')).includes('role:master'));
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
