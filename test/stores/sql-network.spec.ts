/**
 * The network between an application and its database, and the wrong kind of database: PgBouncer, a
 * standby, a read-only server, and a user without a right.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import {
  mysqlSupport,
  postgresSupport,
  registryTable,
  sqlSupport,
} from '../../lib/stores/sql/index.js';
import { openClient } from '../../lib/stores/sql/open-client.js';
import { OwnConnection, type SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { parseSqlUrl, type ServerUrl } from '../../lib/stores/sql/sql-options.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPgbouncer } from '../../scripts/servers/start-pgbouncer.mjs';
import { startPostgres, startWithStandby } from '../../scripts/servers/start-postgres.mjs';
import { command } from '../cli/run-command.js';
import { until } from '../until.js';
import { Certificates, MuteProxy } from './network.js';
import { failureOf, request } from './redis-lab.js';
import { leased, SqlLab } from './sql-lab.js';

describe('sql network', () => {
  const lab = new SqlLab();
  afterAll(() => lab.end());

  const named = () => ({ table: lab.table, namespace: randomUUID(), replicated: false });
  const textOf = (options: object) =>
    Object.entries(options)
      .map(([name, value]) => `${name}=${value}`)
      .join('&');

  async function workerIdsOf(supports: readonly IDistributedSupport[]): Promise<Set<number>> {
    const grants = await Promise.all(supports.map((support) => leased(support)));
    return new Set(grants.map(({ workerId }) => workerId));
  }

  /** The count of concurrent processes. */
  const eight = (support: IDistributedSupport) => Array.from({ length: 8 }, () => support);

  describe.each(['transaction', 'statement'])('PgBouncer that pools by %s', (pool_mode) => {
    let bouncer: Awaited<ReturnType<typeof startPgbouncer>>;
    beforeAll(async () => {
      await lab.postgresTable();
      bouncer = await startPgbouncer(process.env['DATABASE_URL']!, {
        pool_mode,
        default_pool_size: 2,
      });
    });
    afterAll(() => bouncer.stop());

    it('serves processes that lease by URL, each on one connection', async () => {
      const url = `${bouncer.url}?${textOf(named())}`;
      const supports = [1, 2, 3, 4].map(() => supportFromUrl(url));
      expect((await workerIdsOf(supports)).size).toBe(4);
      await Promise.all(supports.map((support) => support.close()));
    });

    it('serves many at once through a pool', async () => {
      const pool = lab.unkept({ connectionString: bouncer.url, max: 20 });
      const support = postgresSupport({ pool, ...named() });
      expect((await workerIdsOf(eight(support))).size).toBe(8);
      await pool.end();
    });

    it('is found again by a process after a restart', async () => {
      const settings = { pool_mode, listen_port: bouncer.port };
      const support = supportFromUrl(`${bouncer.url}?${textOf(named())}`);
      const { workerId } = await leased(support);
      await bouncer.stop();
      expect(await failureOf(support.workers())).toMatchObject({ retryable: true });
      bouncer = await startPgbouncer(process.env['DATABASE_URL']!, settings);
      expect(await support.workers()).toMatchObject([{ workerId }]);
      await support.close();
    });
  });

  describe('a pool of one connection', () => {
    it('serves many at once', async () => {
      await lab.mysqlTable();
      const pool = lab.pool({ max: 1 });
      expect((await workerIdsOf(eight(postgresSupport({ pool, ...named() })))).size).toBe(8);
      const mysql = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 1 });
      expect((await workerIdsOf(eight(mysqlSupport({ pool: mysql, ...named() })))).size).toBe(8);
      await mysql.end();
    });
  });

  describe('a standby of PostgreSQL', () => {
    let primary: Awaited<ReturnType<typeof startWithStandby>>['primary'];
    let standby: typeof primary;
    const [pools, location] = [[] as Pool[], named()];

    beforeAll(async () => {
      ({ primary, standby } = await startWithStandby());
      pools.push(...[primary, standby].map(({ url }) => lab.unkept({ connectionString: url })));
      await pools[0]!.query(registryTable('postgres', lab.table));
      const sees = () => pools[1]!.query(`SELECT FROM ${lab.table}`).then(Boolean, () => false);
      await until(sees);
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await Promise.all([standby.stop(), primary.stop()]);
    });

    it('leases nothing and names the primary as the cure', async () => {
      const support = postgresSupport({ pool: pools[1]!, ...location });
      expect(await failureOf(support.getNextWorkId(request()))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: true,
        details: { refusal: 'replica' },
        message: expect.stringContaining('Name the primary') as unknown,
      });
    });

    it('is found by doctor, which also accepts its primary', async () => {
      const doctor = (url: string) =>
        command(['doctor', '--support', `${url}?${textOf(location)}`]).then(({ out }) => out);
      expect(await doctor(standby.url)).toMatch(/^fault +replication +This server is a replica/m);
      expect(await doctor(primary.url)).toMatch(
        /^warning +replication +A replica follows this server/m,
      );
    });

    it('gets no lease through a proxy that routes reads to it', async () => {
      const query: SqlQuery = (sql, params) =>
        pools[sql.startsWith('SELECT') ? 1 : 0]!.query(sql, params);
      const support = sqlSupport({ query, dialect: 'postgres', ...location });
      const failure = await failureOf(support.getNextWorkId(request()));
      expect(failure).toMatchObject({ retryable: true, details: { refusal: 'replica' } });
      expect(failure.message).toContain('a proxy that sends reads to replicas');
    });
  });

  describe('a MariaDB', () => {
    let server: Awaited<ReturnType<typeof startMariadb>>;
    const location = named();
    const asShop = () => `${server.url.replace('root', 'shop')}?${textOf(location)}`;
    const refusedTo = async (url: string) => {
      const support = supportFromUrl(url);
      const failure = await failureOf(support.getNextWorkId(request()));
      await support.close();
      return failure;
    };

    beforeAll(async () => {
      server = await startMariadb(['--performance-schema=ON']);
      const root = createPool(server.url);
      await root.query(registryTable('mysql', lab.table));
      await root.query(`CREATE USER shop@'127.0.0.1'`);
      await root.query(`GRANT SELECT ON test.${lab.table} TO shop@'127.0.0.1'`);
      await root.end();
    });
    afterAll(() => server.stop());

    it('behaves as MySQL if it is configured as one', async () => {
      const root = createPool(server.url);
      const sent: string[] = [];
      const query: SqlQuery = async (sql, params) => {
        sent.push(sql);
        const answer = await root.execute(sql, params);
        if (!sql.startsWith('SHOW VARIABLES')) return answer;
        const told = answer[0] as unknown as { Variable_name: string; Value: string }[];
        const ofBoth = told.filter((row) => row.Variable_name !== 'server_uid');
        return ofBoth.map((row) =>
          row.Variable_name === 'version' ? { ...row, Value: '8.0.40' } : row,
        );
      };
      const support = sqlSupport({ query, dialect: 'mysql', ...location });
      expect((await workerIdsOf(eight(support))).size).toBe(8);
      const text = sent.join();
      expect(text).toContain('performance_schema.global_status');
      expect(text).not.toMatch(
        /in_transaction =|information_schema\.global_status|server_uid(?!')/,
      );
      await root.end();
    });

    it('whose user has no write access reports which rights are needed', async () => {
      const failure = await refusedTo(asShop());
      expect(failure).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
      expect(failure.message).toContain('SELECT, INSERT and UPDATE');
    });

    it('that is read-only leases nothing and names the cure', async () => {
      const root = createPool(server.url);
      await root.query(`GRANT INSERT, UPDATE ON test.${lab.table} TO shop@'127.0.0.1'`);
      await root.query('SET GLOBAL read_only = 1');
      const failure = await refusedTo(asShop());
      expect(failure).toMatchObject({ retryable: true, details: { refusal: 'replica' } });
      expect(failure.message).toContain('Name the primary');
      const { out } = await command(['doctor', '--support', asShop()]);
      expect(out).toMatch(/^fault +replication +This server is read-only/m);
      await root.query('SET GLOBAL read_only = 0');
      await root.end();
    });
  });

  describe('a URL of PostgreSQL', () => {
    it('sends one query at a time, as its driver requires', async () => {
      const warnings: string[] = [];
      const note = (warning: Error) => warnings.push(warning.message);
      process.on('warning', note);
      const table = `at_once_${randomUUID().replaceAll('-', '')}`;
      const pool = new Pool({ connectionString: process.env['DATABASE_URL']! });
      await pool.query(registryTable('postgres', table));
      const support = supportFromUrl(`${process.env['DATABASE_URL']!}?table=${table}`);
      try {
        const lists = await Promise.all(Array.from({ length: 8 }, () => support.workers!()));
        expect(lists).toEqual(Array.from({ length: 8 }, () => []));
        expect(warnings).toEqual([]);
      } finally {
        process.off('warning', note);
        await support.close();
        await pool.query(`DROP TABLE ${table}`);
        await pool.end();
      }
    });
  });
});

/*
 * TLS to databases with certificates from a private authority. Verified connections work by URL and
 * by pool, and all others are refused with a clear message.
 */
describe('sql tls', () => {
  const made = new Certificates();
  const ca = made.authority('authority');
  const stranger = made.authority('stranger');
  const text = (path: string) => readFileSync(path, 'utf8');

  /** Each test has its own files, which it replaces at run time. */
  function own(name: string) {
    made.server(`${name}-elsewhere`, 'DNS:elsewhere.test', 'authority');
    return made.server(name, 'DNS:localhost', 'authority');
  }
  const [ofPostgres, ofMariadb] = [own('postgres'), own('mariadb')];

  const DATABASES = [
    {
      name: 'PostgreSQL',
      start: () => {
        const { cert, key } = ofPostgres;
        return startPostgres(['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`]);
      },
      present: async (url: string) => {
        made.replace('postgres', 'postgres-elsewhere');
        const pool = new Pool({ connectionString: url });
        await pool.query('SELECT pg_reload_conf()');
        await pool.end();
      },
      pool: (url: URL, tls: object) => {
        const pool = new Pool({ connectionString: url.href, ssl: tls });
        return { support: postgresSupport({ pool }), end: () => pool.end() };
      },
    },
    {
      name: 'MariaDB',
      start: () => startMariadb([`--ssl-cert=${ofMariadb.cert}`, `--ssl-key=${ofMariadb.key}`]),
      present: async (url: string) => {
        made.replace('mariadb', 'mariadb-elsewhere');
        const pool = createPool(url);
        await pool.query('FLUSH SSL');
        await pool.end();
      },
      pool: (url: URL, tls: object) => {
        const pool = createPool({ uri: url.href, ssl: { ...tls, verifyIdentity: true } });
        return { support: mysqlSupport({ pool }), end: () => pool.end() };
      },
    },
  ];

  const REFUSED = {
    code: 'STORE_UNAVAILABLE',
    retryable: false,
    details: { refusal: 'tls' },
    message: expect.stringContaining('sslrootcert'),
  };

  afterAll(() => made.remove());

  describe.each(DATABASES)('$name', ({ start, pool, present }) => {
    let running: Awaited<ReturnType<typeof start>>;
    let named: URL;

    beforeAll(async () => {
      running = await start();
      named = new URL(running.url);
      named.hostname = 'localhost';
      await command(['registry', 'create', '--yes', '--support', running.url]);
    });
    afterAll(() => running.stop());

    async function byUrl(host: string, query: string, use: (support: RegistrySupport) => unknown) {
      const url = new URL(running.url);
      url.hostname = host;
      const support = supportFromUrl(`${url.href}?namespace=${randomUUID()}&${query}`);
      try {
        return await use(support);
      } finally {
        await support.close();
      }
    }

    it.each([
      ['the authority is named', 'localhost', `sslmode=verify-full&sslrootcert=${ca}`],
      ['the authority is named, for require', 'localhost', `sslmode=require&sslrootcert=${ca}`],
      ['nothing is checked', '127.0.0.1', 'sslmode=no-verify'],
    ])('connects if %s', async (_where, host, query) => {
      expect(await byUrl(host, query, (support) => support.workers())).toEqual([]);
    });

    it.each([
      ['the authority is unknown', 'localhost', 'sslmode=require'],
      ['the authority is another one', 'localhost', `sslmode=verify-full&sslrootcert=${stranger}`],
    ])('is refused if %s', async (_where, host, query) => {
      const failure = await byUrl(host, query, (support) => failureOf(support.workers()));
      expect(failure).toMatchObject(REFUSED);
    });

    it('accepts a pool that trusts the authority, and no other', async () => {
      const [own, other] = [ca, stranger].map((path) => pool(named, { ca: text(path) }));
      expect(await own!.support.workers()).toEqual([]);
      expect(await failureOf(other!.support.workers())).toMatchObject({
        details: { refusal: 'tls' },
      });
      await Promise.all([own!.end(), other!.end()]);
    });

    // The last one: no other certificate follows.
    it('is refused if the certificate names another host', async () => {
      await present(running.url);
      const query = `sslmode=require&sslrootcert=${ca}`;
      const refused = () =>
        byUrl('localhost', query, (support) => support.workers().catch((error: unknown) => error));
      // PostgreSQL reads its files a moment later.
      await until(async () => !Array.isArray(await refused()));
      expect(await refused()).toMatchObject(REFUSED);
    });
  });

  it.each([
    [`postgres://localhost/shop?sslrootcert=${ca}`, 'is for an sslmode of'],
    [`mysql://localhost/shop?sslmode=no-verify&sslrootcert=${ca}`, 'is for an sslmode of'],
    [`postgres://localhost/shop?sslmode=require&sslrootcert=/nowhere`, 'cannot be read (ENOENT)'],
    [`mysql://127.0.0.1/shop?sslmode=require&sslrootcert=${ca}`, 'by name alone'],
    [`mariadb://[::1]/shop?sslmode=verify-full`, 'by name alone'],
  ])('%s is refused before a connection opens', async (url, message) => {
    const failure = await failureOf((async () => supportFromUrl(url))());
    expect(failure).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(failure.message).toContain(message);
  });
});

/*
 * A database that vanishes silently, like a machine that is gone. The first call fails, and its
 * connection closes.
 */
describe('sql silence', () => {
  let proxy: MuteProxy;
  afterEach(() => proxy.end());

  /** Like a driver that keeps a prepared statement. */
  const PREPARED = 'SELECT 1 AS one';
  const NEW = 'SELECT 2 AS two';

  it.each([
    ['PostgreSQL', 'DATABASE_URL'],
    ['MariaDB', 'MYSQL_URL'],
  ])('is replaced by another connection: %s', async (_, variable) => {
    const server = new URL(process.env[variable]!);
    proxy = await new MuteProxy(Number(server.port)).listen();
    server.port = String(proxy.port);
    const url = parseSqlUrl(server.href) as ServerUrl;
    const connection = new OwnConnection({ text: 'here' } as never, () => openClient(url));
    await connection.query(PREPARED, []);
    proxy.mute();
    await expect(connection.query(PREPARED, [])).rejects.toThrow(/read timeout/i);
    expect(await connection.query(PREPARED, [])).toBeDefined();
    proxy.mute();
    await expect(connection.query(NEW, [])).rejects.toThrow(/read timeout/i);
    expect(await connection.query(NEW, [])).toBeDefined();
    expect(proxy.count).toBe(3);
    await connection.close();
  });
});
