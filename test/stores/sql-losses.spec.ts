/**
 * A table restored from a dump while its server runs. All grants since the dump count as lost, even
 * if the first caller is new.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection, createPool, type Pool } from 'mysql2/promise';
import pg from 'pg';
import { layouts } from '../../lib/core/layout/presets.js';
import { type RunningSnowflake, startSnowflake } from '../../lib/index.js';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { POSTGRES_HISTORY } from '../../lib/stores/sql/dialects/postgres.js';
import { MYSQL_DURABLE, mysqlHistory, mysqlServer } from '../../lib/stores/sql/dialects/mysql.js';
import {
  registryTable,
  mysqlSupport,
  postgresSupport,
  sqlCounters,
  sqlLocks,
} from '../../lib/stores/sql/index.js';
import type { SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { freePort } from '../../scripts/servers/ports.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { PostgresNode } from '../chaos/stores/postgres.mjs';
import { heldIn, namedLock } from '../lock/held-locks.js';
import { until } from '../until.js';
import { failureOf, held, request } from './redis-lab.js';
import { leased, SqlLab } from './sql-lab.js';

describe('sql restores', () => {
  const lab = new SqlLab();
  const ALONE = { replicated: false } as const;
  const ONE = { workerIdMin: 0, workerIdMax: 0 } as const;
  const TAKE = { kind: 'dense', counter: 'c', count: 10n, lossGap: 1000n, startAt: 1n } as const;
  const tables = () => `put_back_${randomUUID().replaceAll('-', '')}`;

  const POSTGRES = () => {
    const pool = lab.pool();
    const query: SqlQuery = (...asking) => pool.query(...asking);
    return { dialect: 'postgres', query, support: postgresSupport, given: { pool } } as const;
  };
  const MARIADB = () => {
    const pool = lab.mysql();
    const query: SqlQuery = (...asking) => pool.execute(...asking);
    return { dialect: 'mysql', query, support: mysqlSupport, given: { pool } } as const;
  };
  afterAll(() => lab.end());

  it('recognizes a MariaDB server whose clock is before its start', async () => {
    const connection = await lab.mysql().getConnection();
    const runs: unknown[] = [];
    for (const time of ['DEFAULT', '1000', '2000']) {
      await connection.query(`SET timestamp = ${time}`);
      runs.push((await connection.query(`SELECT ${RUN} AS run`))[0]);
    }
    connection.destroy();
    expect(runs.slice(1)).toEqual([runs[0], runs[0]]);
  });

  describe.each([
    ['PostgreSQL', POSTGRES],
    ['MariaDB', MARIADB],
  ])('%s', (_name, open) => {
    let database: ReturnType<typeof open>;
    beforeAll(() => {
      database = open();
    });
    const run = (sql: string) => database.query(sql, []);

    /** The output of mysqldump and pg_dump in a later second, since MariaDB compares seconds. */
    async function dumped(table: string, create: string) {
      await run(`CREATE TABLE ${table}_kept AS SELECT * FROM ${table}`);
      const beganMs = Date.now();
      return async () => {
        await until(async () => Date.now() > beganMs + 1000);
        await run(`DROP TABLE ${table}`);
        await run(create);
        await run(`INSERT INTO ${table} SELECT * FROM ${table}_kept`);
        await run(`DROP TABLE ${table}_kept`);
      };
    }

    const asOf = (table: string) => {
      const { given, dialect } = database;
      return { ...given, dialect, table, namespace: 'shop' } as never;
    };

    it('leases no worker ID below the range of a forgotten holder', async () => {
      const table = tables();
      const create = registryTable(database.dialect, table);
      await run(create);
      const support = () => database.support({ ...(asOf(table) as object), ...ALONE } as never);
      await leased(support(), { workerIdMin: 1, workerIdMax: 1 });
      const putBack = await dumped(table, create);
      const forgotten = await leased(support(), ONE);
      await putBack();
      const newcomer = await leased(support(), ONE);
      expect(newcomer.workerId).toBe(forgotten.workerId);
      expect(newcomer.floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
      await run(`DROP TABLE ${table}`);
    });

    it('skips the forgotten numbers, one time', async () => {
      const table = tables();
      const create = registryTable(database.dialect, table);
      await run(create);
      const window = { failoverWindowMs: 1, clockDifferenceMs: 0 };
      const taken = async (have = 0n) => {
        const store = sqlCounters({ ...(asOf(table) as object), ...window } as never);
        for (;;) {
          const answer = await store.take({ ...TAKE, have });
          if (answer.status === 'ok') return answer;
          expect(answer.status).toBe('wait');
        }
      };
      await taken();
      const putBack = await dumped(table, create);
      await taken();
      const forgotten = await taken();
      await putBack();
      const next = await taken();
      expect(next.first).toBeGreaterThanOrEqual(forgotten.end);
      expect((await taken()).first).toBe(next.end);
      await run(`DROP TABLE ${table}`);
    });

    it.each(['a pool', 'a URL'])('grants no lock that may be held, by %s', async (way) => {
      const table = tables();
      const create = registryTable(database.dialect, table);
      await run(create);
      const byPool = () => sqlLocks({ ...(asOf(table) as object), ...ALONE } as never);
      const base = process.env[database.dialect === 'mysql' ? 'MYSQL_URL' : 'DATABASE_URL']!;
      const asked = { url: `${base}?table=${table}&namespace=shop&replicated=false` };
      const store = way === 'a URL' ? sqlLocks(asked) : byPool();
      await store.release(await heldIn(store, namedLock('a')));
      const putBack = await dumped(table, create);
      const { token } = await heldIn(byPool(), namedLock('a'));
      await putBack();
      expect(await store.acquire(namedLock('a'))).toMatchObject({ status: 'wait' });
      expect((await heldIn(store, namedLock('a'))).token > token).toBe(true);
      await store.close!();
      await run(`DROP TABLE ${table}`);
    });
  });

  /*
   * Rows loaded into the existing table after TRUNCATE. The table is as old as before, which is
   * beyond the promise. The next call of a process with a later grant shows the loss.
   */
  describe('rows loaded into MariaDB after TRUNCATE', () => {
    const pool = lab.mysql();
    const run = (sql: string) => pool.query(sql);
    const asOf = (table: string) => ({ pool, table, namespace: 'shop', ...ALONE });

    async function loaded(table: string) {
      await run(`CREATE TABLE ${table}_kept AS SELECT * FROM ${table}`);
      return async () => {
        await run(`TRUNCATE ${table}`);
        await run(`INSERT INTO ${table} SELECT * FROM ${table}_kept`);
        await run(`DROP TABLE ${table}_kept`);
      };
    }

    it('are detected by the renewal of a worker ID leased since', async () => {
      const table = tables();
      await run(registryTable('mysql', table));
      const support = mysqlSupport(asOf(table));
      await leased(support, { workerIdMin: 1, workerIdMax: 1 });
      const putBack = await loaded(table);
      const own = { ...ONE, token: 'forgotten' };
      const forgotten = await leased(support, own);
      await putBack();
      const lease = held(request(own), forgotten);
      expect(await support.refreshAlive(lease)).toMatchObject({ status: 'unknown' });
      const next = await leased(support, { ...ONE, token: 'next', takesOver: true });
      expect(next.workerId).toBe(forgotten.workerId);
      expect(next.floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
      await run(`DROP TABLE ${table}`);
    });

    it('are detected by a call with numbers granted since', async () => {
      const table = tables();
      await run(registryTable('mysql', table));
      const window = { failoverWindowMs: 1, clockDifferenceMs: 0 };
      const store = sqlCounters({ ...asOf(table), dialect: 'mysql', ...window, replicated: true });
      const taken = async (have = 0n) => {
        for (;;) {
          const answer = await store.take({ ...TAKE, have });
          if (answer.status === 'ok') return answer;
          expect(answer.status).toBe('wait');
        }
      };
      await taken();
      const putBack = await loaded(table);
      const forgotten = await taken();
      await putBack();
      const next = await taken(forgotten.end);
      expect(next.first).toBeGreaterThanOrEqual(forgotten.end);
      expect((await taken()).first).toBe(next.end);
      await run(`DROP TABLE ${table}`);
    });

    it('are detected by the extension of a lock granted since', async () => {
      const table = tables();
      await run(registryTable('mysql', table));
      const store = sqlLocks({ ...asOf(table), dialect: 'mysql' });
      await store.release(await heldIn(store, namedLock('a')));
      const putBack = await loaded(table);
      const own = await heldIn(store, namedLock('a'));
      await putBack();
      const terms = { ttlMs: 2000, era: 0 };
      expect(await store.extend({ ...own, ...terms })).toMatchObject({ status: 'lost' });
      expect(await store.acquire(namedLock('a'))).toMatchObject({ status: 'wait' });
      const next = await heldIn(store, namedLock('a'));
      expect(next.token > own.token).toBe(true);
      await run(`DROP TABLE ${table}`);
    });
  });

  describe('PostgreSQL during the load of a dump', () => {
    it('adds no row to a table without its key, or with two headers', async () => {
      const pool = lab.pool();
      const table = tables();
      const support = () => postgresSupport({ pool, table, namespace: 'shop', ...ALONE });
      await pool.query(registryTable('postgres', table));
      await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`);
      const failure = await failureOf(support().getNextWorkId(request()));
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(failure.message).toContain('primary key');
      await pool.query(`ALTER TABLE ${table} ADD PRIMARY KEY (namespace, kind, name)`);
      await leased(support());
      await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`);
      await pool.query(`INSERT INTO ${table} SELECT * FROM ${table} WHERE name = '|'`);
      expect((await failureOf(support().getNextWorkId(request()))).message).toContain(
        'primary key',
      );
      await pool.query(`DROP TABLE ${table}`);
    });

    it('refuses a connection that wraps each statement in a savepoint', async () => {
      const pool = lab.pool();
      const table = tables();
      await pool.query(registryTable('postgres', table));
      const query: SqlQuery = async (sql, params) => {
        const client = await pool.connect();
        try {
          await client.query('BEGIN; SAVEPOINT one');
          return await client.query(sql, params);
        } finally {
          await client.query('COMMIT');
          client.release();
        }
      };
      const support = postgresSupport({ pool: { query }, table, namespace: 'shop', ...ALONE });
      const failure = await failureOf(support.getNextWorkId(request()));
      expect(failure.message).toContain('inside a transaction');
      await pool.query(`DROP TABLE ${table}`);
    });
  });
});

/*
 * An older copy of the data folder. Only the start of the server distinguishes it from the current
 * data, so a restart counts as a loss.
 */
describe('a restored PostgreSQL data folder', () => {
  const lab = new SqlLab();
  const nodes: PostgresNode[] = [];
  afterAll(async () => {
    await lab.end();
    for (const node of nodes) await node.stop();
  });

  it.each([
    ['grants a new process nothing that is held', undefined, 'wait'],
    ['would, if a timeline identified a server', POSTGRES_HISTORY, 'ok'],
  ] as const)('%s', async (_what, serverSql, status) => {
    const node = new PostgresNode();
    nodes.push(node);
    await node.create();
    await node.sql(registryTable('postgres'));
    const { port } = node;
    /** The state of a new process. */
    const newcomer = () => {
      const connectionString = `postgres://postgres@127.0.0.1:${port}/postgres`;
      const pool = lab.pool({ connectionString });
      const asked = { pool, dialect: 'postgres', namespace: 'shop', replicated: false } as const;
      return sqlLocks(serverSql === undefined ? asked : { ...asked, serverSql });
    };
    const ready = async () => {
      const store = newcomer();
      await store.release(await heldIn(store, namedLock('a')));
      return store;
    };
    await ready();
    await node.backup();
    const long = { ttlMs: 600_000, longestMs: 600_000 };
    await heldIn(await ready(), namedLock('a', long));
    expect(await newcomer().acquire(namedLock('a', long))).toMatchObject({ status: 'held' });
    await node.restore();
    expect(await newcomer().acquire(namedLock('a', long))).toMatchObject({ status });
  });
});

/*
 * A server whose own clock is set while processes use it, and which then loses its data. The test
 * uses the real module, a PostgreSQL, and a clock that libfaketime moves. The chaos does the same
 * with Redis in its topology `clock`.
 */
describe('store clock', () => {
  const BACK_S = 300;
  const YEAR_S = 365 * 24 * 3600;
  const TTL_MS = 20_000;
  const TERMS = { ttlMs: TTL_MS, fingerprint: layouts.snowflake().fingerprint };

  const endings: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of endings.toReversed()) await end();
  });

  /** A server, and a function that sets its clock through a file that is read each second. */
  async function movableServer() {
    const folder = mkdtempSync(`${tmpdir()}/snowflake-clock-`);
    // The server runs as another user.
    chmodSync(folder, 0o755);
    const clockFile = `${folder}/offset`;
    const set = (seconds: number) =>
      writeFileSync(clockFile, seconds < 0 ? `${seconds}` : `+${seconds}`);
    set(0);
    const server = await startPostgres([], clockFile);
    endings.push(() => server.stop());
    const pool = new pg.Pool({ connectionString: server.url });
    endings.push(() => pool.end());
    await pool.query(registryTable('postgres'));
    const offsetS = async () => {
      const asked = 'SELECT extract(epoch FROM clock_timestamp())::float8 AS now';
      const { rows } = await pool.query<{ now: number }>(asked);
      return rows[0]!.now - Date.now() / 1000;
    };
    const move = async (seconds: number) => {
      set(seconds);
      await until(async () => Math.abs((await offsetS()) - seconds) < 2);
    };
    return { url: `${server.url}?replicated=false`, pool, move };
  }

  async function living(url: string): Promise<RunningSnowflake> {
    const options = { support: url, leaseTtlMs: TTL_MS, refreshAliveIntervalMs: 500 };
    const running = await startSnowflake(options);
    endings.push(() => running.close());
    return running;
  }

  const endOf = ({ ids }: RunningSnowflake): number => Number(ids.status.leaseEndsAt);

  describe('a server whose clock is set', () => {
    it('back, and whose data is lost, gets its former time from a surviving process', async () => {
      const { url, pool, move } = await movableServer();
      const survivor = await living(url);
      const { incarnation } = survivor.ids.status;
      await move(-BACK_S);
      // The process ends without notice, and the registry loses its range.
      const { workerId, ceilingMs } = await leased(
        postgresSupport({ pool, replicated: false }),
        TERMS,
      );
      expect(ceilingMs).toBeGreaterThan(Date.now() - BACK_S * 500);
      await pool.query('DELETE FROM snowflake_registry');
      await until(() => ![undefined, incarnation].includes(survivor.ids.status.incarnation));
      const own = { workerIdMin: workerId, workerIdMax: workerId, token: 'next' };
      const next = await leased(postgresSupport({ pool, replicated: false }), { ...TERMS, ...own });
      expect(next.floorMs).toBeGreaterThanOrEqual(ceilingMs);
    });

    it('forward by a year is not followed', async () => {
      const { url, move } = await movableServer();
      const running = await living(url);
      await move(YEAR_S);
      const beforeMs = endOf(running);
      await until(() => endOf(running) > beforeMs);
      const all = [running, await living(url)];
      await move(0);
      all.push(await living(url));
      const latestMs = Date.now() + 3 * TTL_MS;
      for (const each of all) {
        expect(each.ids.parse(each.ids.nextId()).timestampMs).toBeLessThan(latestMs);
        expect(endOf(each)).toBeLessThan(latestMs);
      }
    });
  });
});

/*
 * A registry in a real Galera cluster of two members, both used by processes.
 */
describe('galera', () => {
  /** Of the package galera-4, which MariaDB of Debian depends on. */
  const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
  const HOST = '127.0.0.1';

  const endings: (() => unknown)[] = [];
  const pools: Pool[] = [];

  /** @param peers the ports of the existing members */
  async function startMember(...peers: number[]): Promise<number> {
    const port = await freePort();
    const provider = {
      'gmcast.listen_addr': `tcp://${HOST}:${port}`,
      'ist.recv_addr': `${HOST}:${await freePort()}`,
      'gcache.size': '1M',
    };
    const options = Object.entries(provider).map(([name, value]) => `${name}=${value}`);
    const { url, stop } = await startMariadb([
      '--wsrep-on=ON',
      `--wsrep-provider=${PROVIDER}`,
      `--wsrep-cluster-address=gcomm://${peers.map((peer) => `${HOST}:${peer}`).join(',')}`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=${HOST}:${await freePort()}`,
      `--wsrep-node-address=${HOST}`,
      `--wsrep-provider-options=${options.join(';')}`,
      '--binlog-format=ROW',
    ]);
    const pool = createPool({ uri: url, connectionLimit: 4 });
    pools.push(pool);
    endings.unshift(stop);
    endings.unshift(() => pool.end());
    return port;
  }

  beforeAll(async () => {
    const port = await startMember();
    await startMember(port);
    await pools[0]!.query(registryTable('mysql'));
  }, 300_000);
  afterAll(async () => {
    for (const end of endings) await end();
  }, 300_000);

  const CAUGHT_UP = 'SET STATEMENT wsrep_sync_wait = 1 FOR SELECT * FROM snowflake_registry';
  const supportAt = (pool: Pool, namespace: string) =>
    mysqlSupport({ pool, namespace, replicated: false, serverSql: `'the cluster'` });

  /** After the wait that a new registry requires. */
  async function leased(support: ReturnType<typeof supportAt>) {
    const asked = request();
    for (;;) {
      const answer: LeaseAnswer = await support.getNextWorkId(asked);
      if (answer.status === 'ok') return held(asked, answer);
      // The store's answer states how long, by its own clock.
      await sleep('waitMs' in answer ? answer.waitMs : 1);
    }
  }

  describe('two Galera members', () => {
    it('lease each worker ID once, and renew what the other one leased', async () => {
      const namespace = randomUUID();
      const [one, other] = pools.map((pool) => supportAt(pool, namespace));
      const leases = await Promise.all(
        Array.from({ length: 20 }, (_, at) => leased(at % 2 === 0 ? one! : other!)),
      );
      expect(new Set(leases.map(({ workerId }) => workerId)).size).toBe(20);
      // A member that has not received a lease yet delays its renewal, as after a loss of data.
      for (const pool of pools) await pool.query(CAUGHT_UP);
      const renewals = await Promise.all(
        leases.map((lease, at) => (at % 2 === 0 ? other! : one!).refreshAlive(lease)),
      );
      expect(renewals.map(({ status }) => status)).toEqual(Array(20).fill('ok'));
    });

    it('are reported as Galera', async () => {
      const advice = await supportAt(pools[0]!, randomUUID()).advice!();
      expect(advice.join(' ')).toMatch(/Galera cluster .* one member.*`serverSql`/);
    });
  });
});

/*
 * Two MariaDB servers with the same hardware address and port, like containers on two hosts.
 * MariaDB treats them as one server, but a client that fails over must see two.
 */
const IDENTITY = 'server_uid';
const RUN = mysqlServer(true, IDENTITY);
const ASKED =
  `SELECT @@${IDENTITY} AS uid, ${mysqlHistory(IDENTITY, RUN, MYSQL_DURABLE)} AS history, ` +
  `${RUN} AS run`;
type Known = Record<'uid' | 'history' | 'run', string>;

async function knownBy(serverId: number, wanted?: number): Promise<[Known, number]> {
  const durable = ['--innodb-flush-log-at-trx-commit=1', `--server-id=${serverId}`];
  await using server = await startMariadb(durable, wanted);
  const connection = await createConnection(server.url);
  const [rows] = await connection.query(ASKED);
  connection.destroy();
  return [(rows as Known[])[0]!, server.port];
}

it('is identified by server_id, which differs on its replica', async () => {
  const [primary, port] = await knownBy(1);
  const [replica] = await knownBy(2, port);
  expect(replica.uid).toBe(primary.uid);
  expect(replica.history).not.toBe(primary.history);
  const withoutStart = ({ run }: Known) => run.replace(/\d+$/, '');
  expect(withoutStart(replica)).not.toBe(withoutStart(primary));
  const [again] = await knownBy(1, port);
  expect(again.history).toBe(primary.history);
}, 300_000);
