/**
 * The Redis support against real servers: the server of the test run, and private ones that refuse,
 * lose data, fail over or are clusters.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { RedisSupport, redisSupport } from '../../lib/stores/redis/index.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { systemIdentity } from '../../lib/time/process-identity.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { rowsOf } from '../docs/sections.js';
import { readTree } from '../tidy/tree.js';
import { until } from '../until.js';
import { headerOf, settleRegistry } from './timed-redis.js';

const URL = process.env['REDIS_URL']!;
/** A node without connections to others has no address of its own. */
const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];
const open: RedisSupport[] = [];
const servers: { stop(): Promise<void> }[] = [];

function support(options: Partial<Parameters<typeof redisSupport>[0]> = {}): RedisSupport {
  const made = redisSupport({ redis: URL, namespace: randomUUID(), ...options });
  open.push(made);
  return made;
}

async function server(...args: string[]) {
  const started = await startRedis({ args });
  servers.push(started);
  return started;
}

function request(given: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    fingerprint: 'f',
    ttlMs: 60_000,
    minRangeMs: 50,
    quarantineMs: 0,
    token: randomUUID(),
    nonce: 'n0',
    workerIdMin: 0,
    workerIdMax: 1023,
    haveMs: 0,
    holder: { host: 'host|with|bars', pid: 7, application: 'shop' },
    ...given,
  };
}

/** A new registry is in quarantine, and requests a wait as long as the shortest range. */
async function leased(redis: RedisSupport, asked = request()): Promise<LeaseAnswer> {
  for (;;) {
    const answer = await redis.getNextWorkId(asked);
    if (answer.status !== 'wait') return answer;
    // The store's own clock decides, and the answer states how long.
    await sleep(answer.waitMs);
  }
}

async function settled(redis: RedisSupport): Promise<RedisSupport> {
  const admin = new Redis(URL);
  await settleRegistry(admin, redis.key);
  await admin.quit();
  return redis;
}

function held(asked: LeaseRequest, answer: LeaseAnswer): WorkerLease {
  const { workerId, ceilingMs, mark } = answer as LeaseGrant;
  return { ...asked, workerId, haveMs: ceilingMs, mark: mark!, nonceNext: 'n1' };
}

afterAll(async () => {
  await Promise.all(open.map((made) => made.close()));
  await Promise.all(servers.map((started) => started.stop()));
});

describe('the Redis support', () => {
  it('leases, renews, lists and releases a worker ID', async () => {
    const redis = await settled(support());
    const asked = request();
    const grant = await leased(redis, asked);
    expect(grant).toMatchObject({ status: 'ok' });
    const lease = held(asked, grant);
    const { workerId } = lease;
    expect(await leased(redis, asked)).toMatchObject({ status: 'ok', workerId });
    const renewed = (await redis.refreshAlive(lease)) as LeaseGrant;
    expect(renewed.ceilingMs).toBeGreaterThanOrEqual(lease.haveMs);
    const [record] = await redis.workers();
    expect(record).toMatchObject({ workerId, holder: { host: 'host|with|bars', pid: 7 } });
    await redis.release({ ...lease, nonce: 'n1' }, (grant as LeaseGrant).floorMs + 5);
    const [free] = await redis.workers();
    const ceilingMs = (grant as LeaseGrant).floorMs + 6;
    expect(free).toEqual({ workerId, ceilingMs, freeInMs: expect.any(Number) });
    expect(free!.freeInMs).toBeLessThanOrEqual(6);
  });

  it('leases a different worker ID to each of many concurrent processes', async () => {
    const namespace = randomUUID();
    await settled(support({ namespace }));
    const processes = Array.from({ length: 16 }, () => support({ namespace }));
    const answers = await Promise.all(
      Array.from({ length: 1024 }, (_, n) => leased(processes[n % 16]!)),
    );
    const workers = new Set(answers.map((answer) => (answer as LeaseGrant).workerId));
    expect(workers.size).toBe(1024);
    const full = await leased(processes[0]!);
    expect(full.status).toBe('none-free');
    expect((full as { waitMs: number }).waitMs).toBeGreaterThan(0);
  });

  it('refuses another layout in the same namespace and names the one stored', async () => {
    const redis = support();
    await leased(redis);
    expect(await leased(redis, request({ fingerprint: 'other' }))).toMatchObject({
      status: 'layout-mismatch',
      fingerprint: 'f',
    });
  });

  it('finds the only free worker ID among corrupt rows', async () => {
    const redis = support();
    const admin = new Redis(URL);
    await settleRegistry(admin, redis.key);
    const lines = Array.from({ length: 3000 }, (_, id) => [`r:${id}`, 'no row']);
    await admin.hset(redis.key, ...lines.flat(), 'r:2999', '1|1|\n{}');
    const asked = () => redis.getNextWorkId(request({ workerIdMax: 2999 }));
    expect(await asked()).toMatchObject({ status: 'ok', workerId: 2999 });
    expect((await asked()).status).toBe('none-free');
    await admin.quit();
  });

  it('begins a new registry if a script left a partial one', async () => {
    const redis = support();
    const admin = new Redis(URL);
    await admin.hset(redis.key, { version: '2', server: 'half' });
    expect(await leased(redis)).toMatchObject({ status: 'ok' });
    const { server, lastTime } = await admin.hgetall(redis.key);
    expect(server).not.toBe('half');
    expect(Number(lastTime)).toBeGreaterThan(0);
    await admin.quit();
  });

  it('writes nothing if a right is missing in the middle of a script', async () => {
    const { port } = await server();
    const admin = new Redis({ port });
    await admin.call('ACL', 'SETUSER', 'half', 'on', '>pw', '~*', '+@all', '-hget');
    const half = support({ redis: `redis://half:pw@127.0.0.1:${port}` });
    await expect(half.getNextWorkId(request())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect(await admin.exists(half.key)).toBe(0);
    await admin.quit();
  });

  it('works when the server has lost the scripts', async () => {
    // A private server: other spec files run scripts on the shared one.
    const { port } = await server();
    const redis = support({ redis: `redis://127.0.0.1:${port}` });
    await leased(redis);
    const admin = new Redis({ port });
    await admin.script('FLUSH');
    expect((await leased(redis)).status).toBe('ok');
    await admin.quit();
  });

  it('closes its own connection, but not a given client', async () => {
    const given = new Redis(URL);
    const redis = support({ redis: given });
    await leased(redis);
    await redis.close();
    expect(await given.ping()).toBe('PONG');
    await given.quit();
  });

  it('releases the worker ID even if the application has closed its client', async () => {
    const namespace = randomUUID();
    const given = new Redis(URL);
    const redis = support({ redis: given, namespace });
    const asked = request();
    const lease = held(asked, await leased(redis, asked));
    await given.quit();
    await redis.release(lease, undefined);
    expect((await redis.workers())[0]).not.toHaveProperty('holder');
  });

  it('shares one registry between clients with different key prefixes', async () => {
    const namespace = randomUUID();
    const [one, two] = ['a:', 'b:'].map((keyPrefix) => new Redis(URL, { keyPrefix }));
    const first = await leased(support({ redis: one!, namespace }));
    const second = await leased(support({ redis: two!, namespace }));
    expect([first.status, second.status]).toEqual(['ok', 'ok']);
    expect((first as LeaseGrant).workerId).not.toBe((second as LeaseGrant).workerId);
    await Promise.all([one!.quit(), two!.quit()]);
  });

  it('quarantines what a restart without data may have lost', async () => {
    const { port, stop } = await server();
    const redis = support({ redis: `redis://127.0.0.1:${port}` });
    const asked = request();
    const lease = held(asked, await leased(redis, asked));
    await stop();
    await expect(redis.refreshAlive(lease)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    servers.push(await startRedis({ port }));
    let renewed: LeaseAnswer | undefined;
    await until(async () => {
      const asked = { ...lease, quarantineMs: 0 };
      renewed = await redis.refreshAlive(asked).catch(() => undefined);
      return renewed !== undefined;
    });
    expect(renewed).toMatchObject({ status: 'unknown' });
    const next = await leased(redis);
    expect(next.status === 'wait' || (next as LeaseGrant).floorMs >= lease.haveMs).toBe(true);
  });
});

describe('a Redis that refuses', () => {
  const refused = async (redis: RedisSupport) => {
    const error = await leased(redis).catch((caught: unknown) => caught);
    return error as { code: string; message: string; retryable: boolean };
  };

  it('is unreachable', async () => {
    const { port, stop } = await server();
    await stop();
    const error = await refused(support({ redis: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('hangs: the support still closes', async () => {
    await using server = await startRedis();
    const support = supportFromUrl(server.url);
    await support.workers();
    globalThis.process.kill(server.pid, 'SIGSTOP');
    await support.close();
    globalThis.process.kill(server.pid, 'SIGCONT');
    await expect(server.stop()).resolves.toBeUndefined();
  });

  it('requires another password, and a retry does not help', async () => {
    const { port } = await server('--requirepass', 'right');
    for (const login of [':wrong@', '']) {
      const error = await refused(support({ redis: `redis://${login}127.0.0.1:${port}` }));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(error.message).toContain('password');
      expect(error.message).not.toContain('wrong@');
    }
    const right = support({ redis: `redis://:right@127.0.0.1:${port}` });
    expect((await leased(right)).status).toBe('ok');
  });

  it('is a read-only replica', async () => {
    const master = await server('--repl-diskless-sync-delay', '0');
    const { port } = await server('--replicaof', '127.0.0.1', String(master.port));
    const admin = new Redis(port);
    await until(async () => (await admin.info('replication')).includes('master_link_status:up'));
    await admin.quit();
    const error = await refused(support({ redis: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(error.message).toContain('is a replica');
  });

  it('is out of memory', async () => {
    const { port } = await server('--maxmemory', '1', '--maxmemory-policy', 'noeviction');
    const error = await refused(support({ redis: `redis://127.0.0.1:${port}` }));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    expect(error.message).toContain('out of memory');
  });

  it('may evict the registry: logs a warning', async () => {
    const { port } = await server('--maxmemory-policy', 'allkeys-lru');
    const redis = support({ redis: `redis://127.0.0.1:${port}` });
    expect((await redis.advice()).join()).toContain('allkeys-lru');
    expect(await support().advice()).toEqual([]);
  });

  it('forbids INFO: grants nothing, since a failover would go undetected', async () => {
    const { port } = await server('--user', 'app', 'on', '>pw', '~*', '+@all', '-info');
    const redis = support({ redis: `redis://app:pw@127.0.0.1:${port}` });
    expect(await refused(redis)).toMatchObject({
      retryable: false,
      details: { refusal: 'permission' },
    });
    expect((await redis.advice()).join()).toContain('+info');
    const admin = new Redis(port);
    expect(await admin.dbsize()).toBe(0);
    await admin.quit();
  });
});

describe('other deployments of Redis', () => {
  it('is a cluster', async () => {
    const { port } = await server(...CLUSTER);
    const admin = new Redis(port);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await until(async () =>
      String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    );
    await admin.quit();
    const byUrl = support({ redis: `redis+cluster://127.0.0.1:${port}` });
    expect(byUrl.lossWindowMs).toBe(16_000);
    expect((await byUrl.getNextWorkId(request())).status).toBe('wait');
    const given = new Cluster([{ host: '127.0.0.1', port }]);
    const byClient = support({ redis: given });
    expect(byClient.lossWindowMs).toBe(16_000);
    expect((await byClient.getNextWorkId(request())).status).toBe('wait');
    await given.quit();
  });

  it('is behind Sentinel', async () => {
    const master = await server();
    const monitor = ['--sentinel', 'monitor', 'mymaster', '127.0.0.1', String(master.port), '1'];
    const { port } = await sentinel(monitor);
    const byUrl = support({ redis: `redis+sentinel://127.0.0.1:${port}/mymaster` });
    expect(byUrl.lossWindowMs).toBe(16_000);
    expect((await byUrl.getNextWorkId(request())).status).toBe('wait');
    const given = new Redis({ sentinels: [{ host: '127.0.0.1', port }], name: 'mymaster' });
    expect((await support({ redis: given }).getNextWorkId(request())).status).toBe('wait');
    await given.quit();
  });
});

describe('a support URL', () => {
  let redis: RedisSupport;
  beforeAll(() => {
    redis = supportFromUrl(`${URL}/0?namespace=${randomUUID()}&failoverWindowMs=3000`);
    open.push(redis);
  });

  it('sets namespace and windows', async () => {
    expect(redis.lossWindowMs).toBe(3000);
    expect(redis.key).toMatch(/^snowflake:\{[\w-]+\}:registry$/);
    expect((await redis.getNextWorkId(request())).status).toBe('wait');
  });

  it.each([
    ['redis://', 'host'],
    ['redis://localhost:99999', '99999'],
    ['redis://localhost/shop', 'not the number of a database'],
    ['redis://a,b', 'several hosts'],
    ['redis+sentinel://a:26379', 'names its master'],
    ['redis+cluster://a:7000/3', 'asks for 3'],
    ['redis://localhost?name=shop', '"name"'],
    ['redis://localhost?namespace={a}', 'number 1 of them is U+007B'],
    ['redis://localhost?failoverWindowMs=soon', 'failoverWindowMs'],
    ['redis://localhost?failoverWindowMs=-1', '-1'],
  ])('%s is refused with its fault', (url, fault) => {
    expect(() => supportFromUrl(url)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(fault) }),
    );
  });

  it('never shows its password', () => {
    for (const login of ['user:secret', ':secret/secret', ':secret@secret', ':%2Fsecret']) {
      expect(() => supportFromUrl(`redis://${login}@localhost/shop`)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      );
    }
  });
});

/** A Sentinel is a redis-server that must write its own configuration file. */
async function sentinel(monitor: string[]) {
  const { mkdtempSync, writeFileSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const folder = mkdtempSync(`${tmpdir()}/snowflake-sentinel-`);
  const file = `${folder}/sentinel.conf`;
  writeFileSync(file, `${monitor.join(' ').replace('--sentinel', 'sentinel')}\n`);
  const started = await startRedis({ config: file });
  servers.push(started);
  return started;
}

it('the documents name every field in Redis', async () => {
  const redis = new Redis(process.env['REDIS_URL']!);
  const support = new RedisSupport({ redis, namespace: randomUUID() });
  await settleRegistry(redis, support.key);
  const terms = { fingerprint: 'f', ttlMs: 60_000, minRangeMs: 50, quarantineMs: 0, haveMs: 0 };
  const own = { token: 'token', nonce: 'nonce', workerIdMin: 7, workerIdMax: 7 };
  const holder = { host: 'host', pid: 1, application: 'docs' };
  const aheadMs = Date.now() + 5000;
  const reckoned = { incarnation: 'lost', server: 'lost', nowMs: aheadMs, timeMs: aheadMs };
  const mark = { incarnation: '', server: '', operations: 0 };
  const nobody = { token: '', nonce: '', nonceNext: '', workerId: 0, mark };
  await support.release({ ...terms, ...nobody, settles: true }, undefined);
  await support.getNextWorkId({ ...terms, ...own, holder, reckoned });
  const move = { text: '#1 f[0-7] g[8-15]', byMs: Date.now() + 60_000 };
  await support.release({ ...terms, ...nobody, move }, undefined);
  const names = await redis.hkeys(support.key);
  const facts = Object.keys(await headerOf(redis, support.key));
  await Promise.all([redis.del(support.key), support.close()]);
  await redis.quit();
  const page = readTree().find(({ path }) => path === 'docs/internals/storage.md')!;
  const told = (column: string) => [...rowsOf(page.text, column).keys()];
  const format = names.map((name) => name.replace(/^r:.*/, 'r:<row>').replace('token', '<token>'));
  expect(told('field').toSorted()).toEqual([...new Set(format)].toSorted());
  expect(told('fact')).toEqual(expect.arrayContaining(facts));
});

/*
 * The memory of a registry on a real Redis, as documented.
 */
it('takes about 0.5 MB for 1024 holders, 470 bytes each', async () => {
  const HOLDER_COUNT = 1024;
  const redis = new Redis(URL);
  const own = await settled(support({ redis }));
  for (let pid = 0; pid < HOLDER_COUNT; pid++) {
    const { version } = systemIdentity('shop').label();
    const holder = { host: `shop-7d9c6b5f4-${pid}`, pid, application: 'shop', version };
    const fingerprint = 't41-w10-s12/1ms@1704067200000';
    await own.getNextWorkId(request({ fingerprint, nonce: randomUUID(), holder }));
  }
  const byteCount = Number(await redis.call('MEMORY', 'USAGE', own.key, 'SAMPLES', '0'));
  expect((byteCount / 1e6).toFixed(1)).toBe('0.5');
  expect(Math.abs(byteCount / HOLDER_COUNT - 470)).toBeLessThan(50);
  await redis.del(own.key);
  await redis.quit();
});
