/**
 * Sentinel names another server and then the first one again, which was only paused. A new process
 * gets nothing there that the other server may have granted.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as ioredis from 'ioredis';
import type { Redis } from 'ioredis';
import Database from 'libsql';
import * as six from 'redis';
import { createSentinel } from 'redis';
import * as iovalkey from 'iovalkey';
import * as five from 'redis-5';
import type { LeaseGrant } from '../../lib/lease/distributed-support.js';
import { redisCounters, redisLocks, type GivenClient } from '../../lib/stores/redis/index.js';
import { supportOf } from '../../lib/stores/schemes.js';
import { mysqlSupport, registryTable, sqliteSupport } from '../../lib/stores/sql/index.js';
import { held, RedisLab, request, until } from './redis-lab.js';
import { leased, SqlLab } from './sql-lab.js';
import { IOREDIS } from '../../lib/stores/redis/clients/ioredis.js';
import { NODE_REDIS } from '../../lib/stores/redis/clients/node-redis.js';
import type { RedisClient } from '../../lib/stores/redis/clients/redis-client.js';
import { failoverEpoch } from '../../lib/stores/redis/client-life.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { systemTimers } from '../../lib/time/timers.js';

describe('redis failback', () => {
  const lab = new RedisLab();
  afterAll(() => lab.end());

  const WINDOWS = { failoverWindowMs: 0, clockDifferenceMs: 0 };
  const take = { kind: 'dense', counter: 'order', count: 5n, have: 0n, lossGap: 1000n } as const;
  const asked = { lock: 'order', label: 'one', ttlMs: 60_000, longestMs: 60_000, have: 0n };
  const keysOf = (namespace: string) =>
    ['registry', 'counters', 'locks'].map((what) => `snowflake:{${namespace}}:${what}`);

  let first: { port: number; pid: number };
  let watchPort: number;
  let sentinel: Redis;
  /** The grants of the other server. */
  const others: Record<string, LeaseGrant> = {};

  /** Each has a namespace of its own. */
  const WAYS: Readonly<Record<string, () => GivenClient | string>> = {
    url: () => `redis+sentinel://127.0.0.1:${watchPort}/mymaster`,
    'node-redis': () => {
      const sentinelRootNodes = [{ host: '127.0.0.1', port: watchPort }];
      return createSentinel({ name: 'mymaster', sentinelRootNodes });
    },
  };
  const NAMES = Object.keys(WAYS);

  const leadTo = (port: number) =>
    until(async () => {
      const address = await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster');
      return String(address).endsWith(`,${port}`);
    });

  const stores = (namespace: string) => {
    const redis = WAYS[namespace]!();
    return {
      support: lab.support({ redis, namespace, ...WINDOWS }),
      counters: redisCounters({ redis, namespace, lossWindowMs: 0 }),
      locks: redisLocks({ redis, namespace, lossWindowMs: 0 }),
    };
  };

  async function granted(namespace: string) {
    const { support, counters, locks } = stores(namespace);
    try {
      const lease = await support.getNextWorkId(request());
      const taken = await counters.take({ ...take, startAt: 1n });
      const lock = await locks.acquire({ ...asked, holder: 'newcomer' });
      return { lease, taken, lock };
    } finally {
      for (const store of [support, counters, locks]) await store.close?.();
    }
  }

  beforeAll(async () => {
    first = await lab.server();
    const second = await lab.server('--replicaof', '127.0.0.1', String(first.port));
    const patience = ['down-after-milliseconds mymaster 300', 'failover-timeout mymaster 300'];
    const watch = await lab.sentinel(first.port, ...patience.map((line) => `sentinel ${line}`));
    sentinel = lab.client(watch.port);
    watchPort = watch.port;
    const replica = lab.client(second.port);
    for (const name of NAMES) await granted(name);
    await until(async () => {
      const replicas = String(await sentinel.call('SENTINEL', 'REPLICAS', 'mymaster'));
      const copied = await replica.exists(...NAMES.flatMap(keysOf));
      return replicas.includes('master-link-status,ok') && copied === 3 * NAMES.length;
    });
    process.kill(first.pid, 'SIGSTOP');
    await leadTo(second.port);
    for (const name of NAMES) others[name] = (await granted(name)).lease as LeaseGrant;
    await second.stop();
    process.kill(first.pid, 'SIGCONT');
    await leadTo(first.port);
  }, 60_000);

  it.each(NAMES)('detects the failback at the first call of %s', async (name) => {
    const server = lab.client(first.port);
    const eras = () => Promise.all(keysOf(name).map((key) => server.hget(key, 'era')));
    const erasBefore = await eras();
    const { lease, taken, lock } = await granted(name);
    expect((lease as LeaseGrant).floorMs).toBeGreaterThanOrEqual(others[name]!.ceilingMs);
    // Two jumps from the same position are as long as one: the other server's jump ended at the
    // same place.
    expect(taken).toMatchObject({ status: 'ok', first: 2006n });
    expect(lock).toMatchObject({ status: 'wait' });
    expect(await eras()).not.toEqual(erasBefore);
    const erasAfter = await eras();
    await granted(name);
    expect(await eras()).toEqual(erasAfter);
  });
});

/*
 * An old copy replaces a running server's data. It looks like data without later writes, which is
 * beyond the promise. The next call of a process with a later grant shows the loss, and from then
 * on nothing is granted a second time.
 */
describe('unnoticed copies', () => {
  const lab = new RedisLab();
  const sql = new SqlLab();
  const folder = mkdtempSync(`${tmpdir()}/snowflake-copies-`);
  const ONE = { workerIdMin: 0, workerIdMax: 0, token: 'forgotten' } as const;

  afterAll(async () => {
    await lab.end();
    await sql.end();
    rmSync(folder, { recursive: true });
  });

  async function inRedis() {
    const { port } = await lab.server();
    const admin = lab.client(port);
    const support = lab.support({ redis: `redis://127.0.0.1:${port}` });
    return { admin, support, kept: () => admin.dumpBuffer(support.key) };
  }

  const COPIES = {
    async 'RESTORE over the key of Redis'() {
      const { admin, support, kept } = await inRedis();
      const keep = async () => {
        const copy = await kept();
        return () => admin.restore(support.key, 0, copy, 'REPLACE');
      };
      return { support, keep };
    },
    async 'SWAPDB of Redis'() {
      const { admin, support, kept } = await inRedis();
      const keep = async () => {
        const copy = await kept();
        await admin.select(1);
        await admin.restore(support.key, 0, copy);
        return () => admin.swapdb(0, 1);
      };
      return { support, keep };
    },
    async 'cp over a file of SQLite'() {
      const path = `${folder}/shop.db`;
      const database = new Database(path);
      database.exec(registryTable('sqlite'));
      const support = sqliteSupport({ database });
      const keep = async () => {
        const copy = readFileSync(path);
        return async () => writeFileSync(path, copy);
      };
      return { support, keep };
    },
    async 'rows loaded into MariaDB after TRUNCATE'() {
      const table = `copies_${randomUUID().replaceAll('-', '')}`;
      const pool = sql.mysql();
      await pool.query(registryTable('mysql', table));
      const support = mysqlSupport({ pool, table, replicated: false });
      const keep = async () => {
        await pool.query(`CREATE TABLE ${table}_kept AS SELECT * FROM ${table}`);
        return async () => {
          await pool.query(`TRUNCATE ${table}`);
          await pool.query(`INSERT INTO ${table} SELECT * FROM ${table}_kept`);
        };
      };
      return { support, keep };
    },
  };

  describe.each(Object.entries(COPIES))('%s', (_name, open) => {
    it('is detected by the next call of a process with a grant in between', async () => {
      const { support, keep } = await open();
      await leased(support, { workerIdMin: 1, workerIdMax: 1 });
      const putBack = await keep();
      const forgotten = await leased(support, ONE);
      await putBack();
      const lease = held(request(ONE), forgotten);
      expect(await support.refreshAlive(lease)).toMatchObject({ status: 'unknown' });
      const next = await leased(support, { ...ONE, token: 'next', takesOver: true });
      expect(next.workerId).toBe(forgotten.workerId);
      expect(next.floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
    });
  });
});

/*
 * A URL of a different kind of server, or of no server. The message states this.
 */
const REQUEST = {
  fingerprint: 'f',
  ttlMs: 60_000,
  minRangeMs: 50,
  quarantineMs: 0,
  token: 'token',
  nonce: 'nonce',
  workerIdMin: 0,
  workerIdMax: 7,
  haveMs: 0,
  holder: { host: 'host', pid: 1, application: 'test' },
} as const;

async function refusalOf(url: string): Promise<string> {
  const support = await supportOf(url, new Map());
  try {
    return JSON.stringify(await support.getNextWorkId(REQUEST));
  } catch (error) {
    return (error as Error).message;
  } finally {
    await support.close?.();
  }
}

const portOf = (url: string | undefined) => new URL(url!).port;
const { DATABASE_URL, MYSQL_URL, REDIS_URL } = process.env;

describe('a URL of another kind of server', () => {
  it('postgres:// on MariaDB', async () => {
    const said = await refusalOf(`postgres://user@127.0.0.1:${portOf(MYSQL_URL)}/a`);
    expect(said).toContain('does not speak the protocol of this database');
  });

  it.each([
    ['PostgreSQL', DATABASE_URL],
    ['MariaDB', MYSQL_URL],
    ['Redis', REDIS_URL],
  ])('etcd:// on %s', async (_what, url) => {
    const said = await refusalOf(`etcd://127.0.0.1:${portOf(url)}`);
    expect(said).toContain('Is this the client port of etcd (2379)');
  });

  it('etcd:// on a page, etcds:// on a plain port', async () => {
    const server = createServer((_request, response) => void response.end('<p>'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      expect(await refusalOf(`etcd://127.0.0.1:${port}`)).toContain('not a response of etcd');
      expect(await refusalOf(`etcds://127.0.0.1:${port}`)).toContain('that the port speaks TLS');
    } finally {
      server.close();
    }
  });

  it('file: on a file system without folders', async () => {
    expect(await refusalOf('file:/proc/x')).toContain('its file system takes no folders');
  });
});

// The number of the failover in which Sentinel named a master. Each client that uses Sentinels asks
// for it.

const host = '127.0.0.1';
const name = 'mymaster';
/** Of the master and of its Sentinel. */
const [inner, outer] = ['in/ner', 'ou&ter'];

describe('redis sentinels', () => {
  const lab = new RedisLab();
  let port: number;
  beforeAll(async () => {
    const master = await lab.server('--requirepass', inner);
    const lines = [`auth-pass ${name} ${inner}`, `config-epoch ${name} 7`];
    const asked = [...lines.map((line) => `sentinel ${line}`), `requirepass ${outer}`];
    ({ port } = await lab.sentinel(master.port, ...asked));
  });
  afterAll(() => lab.end());

  const url = (sentinelPassword = outer) => {
    const login = `sentinelPassword=${encodeURIComponent(sentinelPassword)}`;
    const server = `:${encodeURIComponent(inner)}@${host}:${port}`;
    return parseRedisUrl(`redis+sentinel://${server}/${name}?${login}`);
  };
  const givenIoredis = (made: typeof ioredis | typeof iovalkey) => {
    const sentinels = [
      { host, port: 1 },
      { host, port },
    ];
    const logins = { password: inner, sentinelPassword: outer };
    const given = new made.Redis({ sentinels, name, ...logins, lazyConnect: true });
    return IOREDIS.duplicate(given);
  };
  const givenNodeRedis = () =>
    six.createSentinel({
      name,
      sentinelRootNodes: [
        { host, port: 1 },
        { host, port },
      ],
      nodeClientOptions: { password: inner, database: 3 },
      sentinelClientOptions: { password: outer },
    });

  const WAYS: readonly (readonly [string, () => RedisClient])[] = [
    ['ioredis by URL', () => IOREDIS.build(url(), ioredis, 'ioredis')],
    ['iovalkey by URL', () => IOREDIS.build(url(), iovalkey, 'iovalkey')],
    ['node-redis 6 by URL', () => NODE_REDIS.build(url(), six, 'redis')],
    ['node-redis 5 by URL', () => NODE_REDIS.build(url(), five, 'redis')],
    ['a given client of ioredis', () => givenIoredis(ioredis)],
    ['a given client of iovalkey', () => givenIoredis(iovalkey)],
    ['a given client of node-redis 6', () => NODE_REDIS.duplicate(givenNodeRedis())],
  ];

  it.each(WAYS)('report a failover to %s, even if one is down', async (_, made) => {
    const client = made();
    try {
      await client.settle();
      const told = failoverEpoch(client, systemTimers);
      await told.asked;
      expect(told.epoch).toBe(8);
    } finally {
      client.disconnect();
    }
  });

  it('and a given client of node-redis are named, without their passwords', async () => {
    const support = lab.support({ redis: givenNodeRedis(), namespace: 'shop' });
    expect(support.location).toContain(`${host}:1,${host}:${port}, database 3`);
    expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    expect(NODE_REDIS.locate(givenNodeRedis()).secrets).toEqual([inner, outer]);
  });
});
