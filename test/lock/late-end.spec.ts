/**
 * A section that ends after the shutdown: its lock is released, its connection to the server
 * closes, and an idle process exits.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import { registryTable } from '../../lib/stores/sql/index.js';
import { locksOf } from '../../lib/stores/schemes.js';
import { ownDatabase } from '../own-database.js';
import { MuteProxy } from '../stores/network.js';
import { bundledScript } from '../support/builds.mjs';
import { until } from '../until.js';

/** A hang lasts forever, and everything else is much shorter. */
const SLOW = 300_000;

interface Server {
  readonly url: string;
  /** The number of other connections to the server. */
  readonly count: () => Promise<number>;
}

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const SERVERS: Record<string, () => Promise<Server>> = {
  async Redis() {
    const { port, client, stop } = await redisServer();
    ends.push(stop);
    const names = async () =>
      String(await client.call('CLIENT', 'LIST'))
        .trim()
        .split('\n');
    const count = async () => (await names()).length - 1;
    return { url: `redis://127.0.0.1:${port}?namespace=late`, count };
  },
  async PostgreSQL() {
    const own = await ownDatabase(process.env['DATABASE_URL']!);
    const pool = new Pool({ connectionString: own.url, max: 1 });
    ends.push(own.drop, () => pool.end());
    await pool.query(registryTable('postgres'));
    const sql =
      'SELECT count(*)::int AS n FROM pg_stat_activity ' +
      'WHERE datname = current_database() AND pid <> pg_backend_pid()';
    const count = async () => (await pool.query<{ n: number }>(sql)).rows[0]!.n;
    return { url: `${own.url}?namespace=late&replicated=false`, count };
  },
  async MariaDB() {
    const own = await ownDatabase(process.env['MYSQL_URL']!);
    const pool = createPool({ uri: own.url, connectionLimit: 1 });
    ends.push(own.drop, () => pool.end());
    await pool.query(registryTable('mysql'));
    const sql =
      'SELECT count(*) AS n FROM information_schema.processlist ' +
      'WHERE db = database() AND id <> connection_id()';
    const count = async () => {
      const [rows] = await pool.query(sql);
      return Number((rows as { n: unknown }[])[0]!.n);
    };
    return { url: `${own.url}?namespace=late&replicated=false`, count };
  },
  async etcd() {
    // This server does not list its connections, so a proxy counts them.
    const proxy = await new MuteProxy(Number(new URL(process.env['ETCD_URL']!).port)).listen();
    ends.push(() => proxy.end());
    const url = `etcd://127.0.0.1:${proxy.port}?namespace=${randomUUID()}`;
    return { url, count: async () => proxy.openCount };
  },
};

async function redisServer() {
  const { Redis } = await import('ioredis');
  const server = await startRedis();
  const client = new Redis({ port: server.port });
  const stop = async () => {
    client.disconnect();
    await server.stop();
  };
  return { port: server.port, client, stop };
}

describe.each(Object.keys(SERVERS))('a lock in %s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await SERVERS[name]!();
  }, SLOW);

  it('is released after the shutdown, and the server keeps no connection', async () => {
    const { url, count } = server;
    const open = async () => new DistributedLock(await locksOf(url), { ttlMs: 2000, drainMs: 0 });
    const [locks, others] = [await open(), await open()];
    const held = await locks.tryAcquire('late', { waitMs: 600_000 });
    expect(await count()).toBeGreaterThan(0);
    await locks.close();
    await until(async () => (await count()) === 0);
    let isConfirmed: boolean | undefined;
    locks.listen((event) => event.kind === 'released' && ({ isConfirmed } = event));
    await held!.release();
    expect(isConfirmed).toBe(true);
    await until(async () => (await count()) === 0);
    expect(await others.list()).toEqual([]);
    await others.close();
    await until(async () => (await count()) === 0);
  });
});

describe('a process that shuts down while a section runs', () => {
  it(
    'ends even if the section does not',
    async () => {
      const outcome = await ended({ url: 'memory:', ttlMs: 600_000, isEnded: false });
      expect(outcome).toEqual({ output: 'closed', exitCode: 0 });
    },
    SLOW,
  );

  let script: string;
  beforeAll(async () => {
    script = await bundledScript('support/worker.mjs');
  }, SLOW);

  /** Runs such a process, and returns its output and exit code. */
  async function ended(run: object): Promise<unknown> {
    const child = spawn(process.execPath, [script], {
      env: { ...process.env, WORKER: JSON.stringify({ does: 'late end', ...run }) },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: SLOW / 2,
    });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    const [exitCode] = (await once(child, 'close')) as [number | null];
    return { output, exitCode };
  }

  it(
    'ends after the section, with any store',
    async () => {
      const servers = await Promise.all(Object.values(SERVERS).map((start) => start()));
      const outcomes = await Promise.all(
        servers.map(({ url }) => ended({ url, ttlMs: 2000, isEnded: true })),
      );
      expect(outcomes).toEqual(servers.map(() => ({ output: 'closed', exitCode: 0 })));
    },
    SLOW,
  );
});
