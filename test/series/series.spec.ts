/**
 * Series by day, month, and year: formatting and parsing, the day's edge in its zone, and invalid
 * values.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it, afterAll, beforeAll } from '@jest/globals';
import { MemoryCounters } from 'nestjs-snowflake';
import { series, type SeriesOptions } from 'nestjs-snowflake/segments';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import Database from 'libsql';
import mariadb from 'mariadb';
import { createPool } from 'mysql2/promise';
import {
  CreateSnowflakeSeries1767225600002,
  gaplessSeries,
  seriesTable,
  type TransactionQuery,
} from 'nestjs-snowflake/sql';
import pg from 'pg';
import postgres from 'postgres';
import { DataSource, type EntityManager } from 'typeorm';
import { codeOf } from '../until.js';
import { freshPglite } from '../support/made-once.mjs';

function invoices(options: Partial<SeriesOptions> = {}, now = '2026-11-20T15:59:59.999Z') {
  const clock = { ms: Date.parse(now), now: () => clock.ms };
  const made = series({
    store: new MemoryCounters({ clock }),
    name: 'invoice',
    period: 'day',
    timeZone: 'Asia/Shanghai',
    form: 'INV-{date}-{000000}',
    clock,
    ...options,
  });
  return { clock, made };
}

describe('a series', () => {
  it('restarts with the day of its zone', async () => {
    const { clock, made } = invoices();
    expect([await made.next(), await made.next()]).toEqual([
      'INV-20261120-000001',
      'INV-20261120-000002',
    ]);
    clock.ms += 1;
    expect(await made.next()).toBe('INV-20261121-000001');
    clock.ms -= 1;
    expect(await made.next()).toBe('INV-20261120-000003');
  });

  it.each([
    ['month', 'R{date}/{0000}', 'R202611/0001'],
    ['year', '{date}{000}', '2026001'],
    ['day', '{date}.{0}.X', '20261120.1.X'],
  ] as const)('by %s in the form %s', async (period, form, text) => {
    expect(await invoices({ period, form }).made.next()).toBe(text);
  });

  it.each([
    ['Pacific/Kiritimati', '20261231'],
    ['Pacific/Pago_Pago', '20261229'],
    ['UTC', '20261230'],
  ])('uses the day in %s', async (timeZone, day) => {
    const { made } = invoices({ timeZone, form: '{date}-{0}' }, '2026-12-30T10:00:00Z');
    expect(await made.next()).toBe(`${day}-1`);
  });

  it('gives each caller another number', async () => {
    const { made } = invoices();
    const all = await Promise.all(Array.from({ length: 200 }, () => made.next()));
    expect(new Set(all).size).toBe(200);
    expect(all.toSorted().at(-1)).toBe('INV-20261120-000200');
  });

  it('ends with its digits, and repeats nothing', async () => {
    const { made } = invoices({ form: '{date}-{0}' });
    for (let number = 1; number <= 9; number++) await made.next();
    await expect(made.next()).rejects.toMatchObject({ code: 'COUNTER_FULL' });
    await expect(made.next()).rejects.toMatchObject({ code: 'COUNTER_FULL' });
  });

  it('parses its own format', () => {
    const { made } = invoices({ form: 'A.{date}+{000}(x)' });
    const parts = { period: '20261120', number: 42 };
    expect(made.textOf(parts)).toBe('A.20261120+042(x)');
    expect(made.parse('A.20261120+042(x)')).toEqual(parts);
    for (const wrong of ['A.20261120+42(x)', 'Ax20261120+042(x)', 'A.20261120+000(x)', '', 7]) {
      expect(codeOf(() => made.parse(wrong as string))).toBe('ID_INVALID');
    }
    for (const wrong of [{ number: 0 }, { number: 1.5 }, { period: '2026' }, { period: 'x' }]) {
      expect(codeOf(() => made.textOf({ ...parts, ...wrong }))).toBe('ARGUMENT_INVALID');
    }
    expect(codeOf(() => made.textOf({ ...parts, number: 1000 }))).toBe('COUNTER_FULL');
  });

  it.each([
    [{ timeZone: 'Mars/Olympus' }],
    [{ timeZone: undefined as never }],
    [{ period: 'week' as never }],
    [{ form: 'INV-{000}' }],
    [{ form: '{000}-{date}' }],
    [{ form: '{date}-{0000000000000000}' }],
    [{ name: 'a/b' }],
    [{ store: {} as never }],
    [{ store: Object.assign(new MemoryCounters(), { lossWindowMs: 1 }) as never }],
  ])('%# is refused', (options) => {
    expect(codeOf(() => invoices(options))).toBe('CONFIG_INVALID');
  });
});

// Gapless series on real databases: a rolled-back number is given again, and a committed number
// only once, for any number of concurrent transactions.

describe('gapless series', () => {
  const table = `series_${randomUUID().replaceAll('-', '')}`;
  const clock = { now: () => Date.parse('2026-11-20T00:00:00Z') };
  const SERVERS = [
    ['postgres', 'DATABASE_URL'],
    ['mysql', 'MYSQL_URL'],
  ] as const;

  describe.each(SERVERS)('%s', (type, variable) => {
    const database = new DataSource({ type, url: process.env[variable]! });
    const invoices = gaplessSeries({
      name: 'invoice',
      period: 'year',
      timeZone: 'UTC',
      form: 'R-{date}-{0000}',
      table,
      clock,
    });
    beforeAll(async () => {
      await database.initialize();
      await database.query(seriesTable(type, table));
    });
    afterAll(async () => {
      await database.query(`DROP TABLE ${table}`);
      await database.destroy();
    });

    const numberOf = async (work: (manager: EntityManager) => Promise<string>) =>
      invoices.parse(await database.transaction(work)).number;

    it('issues each number once if one transaction takes several at a time', async () => {
      const form = '{date}-{00}';
      const several = gaplessSeries({
        name: 'several',
        period: 'year',
        timeZone: 'UTC',
        form,
        table,
      });
      const texts = await database.transaction((manager) =>
        Promise.all([1, 2, 3].map(() => several.nextIn(manager))),
      );
      expect(new Set(texts).size).toBe(3);
    });

    it('counts committed numbers, and reissues rolled-back ones', async () => {
      expect(await numberOf((manager) => invoices.nextIn(manager))).toBe(1);
      const rolledBack = numberOf(async (manager) => {
        expect(await invoices.nextIn(manager)).toBe('R-2026-0002');
        throw new Error('no stock');
      });
      await expect(rolledBack).rejects.toThrow('no stock');
      const query = (manager: EntityManager) => ({
        dialect: type,
        query: (sql: string, params: (string | number | null)[]) => manager.query(sql, params),
      });
      expect(await numberOf((manager) => invoices.nextIn(query(manager)))).toBe(2);
    });

    it('has no gap and no duplicate, with one in three rolled back', async () => {
      const work = async (at: number) => {
        try {
          return await numberOf(async (manager) => {
            const text = await invoices.nextIn(manager);
            if (at % 3 === 0) throw new Error('rolled back');
            return text;
          });
        } catch {
          return undefined;
        }
      };
      const all = await Promise.all(Array.from({ length: 60 }, (_, at) => work(at)));
      const given = all.filter((number) => number !== undefined).toSorted((a, b) => a - b);
      expect(given).toEqual(Array.from({ length: 40 }, (_, at) => 3 + at));
    });

    it('issues each number once if concurrent calls pass separate objects', async () => {
      // Syntax that only MariaDB reads: MySQL and MariaDB 10.4 return no row.
      const asMysql = (text: string) => text.replace(/\/\*M!100500.*?\*\//, '');
      const numbers = (manager: EntityManager) =>
        Array.from({ length: 10 }, async () => {
          const query = (text: string, params: (string | number | null)[]) =>
            manager.query<unknown>(asMysql(text), params);
          return invoices.parse(await invoices.nextIn({ query, dialect: type })).number;
        });
      const given = await database.transaction((manager) => Promise.all(numbers(manager)));
      const [first = 0] = given;
      expect(given).toEqual(Array.from({ length: 10 }, (_, at) => first + at));
    });

    it('refuses to count outside a transaction', async () => {
      await expect(invoices.nextIn(database.manager)).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
      });
    });
  });

  it('creates its table by a migration', async () => {
    const migrations = [CreateSnowflakeSeries1767225600002];
    const options = { type: 'better-sqlite3', database: ':memory:', driver: Database, migrations };
    const database = await new DataSource(options as never).initialize();
    const invoices = gaplessSeries({
      name: 'invoice',
      period: 'year',
      timeZone: 'UTC',
      form: 'R{date}-{000}',
      clock,
    });
    const next = () => database.transaction((manager) => invoices.nextIn(manager));
    await database.runMigrations();
    expect([await next(), await next()]).toEqual(['R2026-001', 'R2026-002']);
    await database.undoLastMigration();
    await expect(next()).rejects.toThrow('no such table');
    await database.destroy();
  });
});

/*
 * Gapless series with every supported client. A transaction takes a number, even as its first
 * statement; a call outside a transaction, which could not roll back, is rejected.
 */
describe('open transaction', () => {
  type Query = TransactionQuery['query'];
  type Dialect = TransactionQuery['dialect'];
  interface Client {
    /** Outside of any transaction. */
    readonly query: Query;
    /** Within a committed transaction. */
    within<T>(work: (query: Query) => Promise<T>): Promise<T>;
    close(): unknown;
  }

  const table = `series_${randomUUID().replaceAll('-', '')}`;
  const DATABASE_URL = process.env['DATABASE_URL']!;
  const MYSQL_URL = process.env['MYSQL_URL']!;
  /** Replaces placeholders for a client that expects question marks. */
  const asked = (text: string) => text.replaceAll(/\$\d+/g, '?');

  /** Runs a transaction for a client that uses plain statements. */
  async function between<T>(query: Query, work: (query: Query) => Promise<T>): Promise<T> {
    await query('BEGIN', []);
    try {
      return await work(query);
    } finally {
      await query('COMMIT', []);
    }
  }

  const POSTGRES: Readonly<Record<string, () => Client>> = {
    'a pool of pg'() {
      const pool = new pg.Pool({ connectionString: DATABASE_URL });
      return {
        query: (...asking) => pool.query(...asking),
        async within(work) {
          const client = await pool.connect();
          try {
            return await between((...asking) => client.query(...asking), work);
          } finally {
            client.release();
          }
        },
        close: () => pool.end(),
      };
    },
    'postgres.js'() {
      const db = postgres(DATABASE_URL);
      return {
        query: (text, params) => db.unsafe(text, params),
        within: (work) =>
          db.begin((tx) => work((text, params) => tx.unsafe(text, params))) as Promise<never>,
        close: () => db.end(),
      };
    },
    Kysely() {
      const dialect = new PostgresDialect({
        pool: new pg.Pool({ connectionString: DATABASE_URL }),
      });
      const db = new Kysely<never>({ dialect });
      const by = (one: typeof db): Query => {
        return (text, params) => one.executeQuery(CompiledQuery.raw(text, params));
      };
      return {
        query: by(db),
        within: (work) => db.transaction().execute((trx) => work(by(trx))),
        close: () => db.destroy(),
      };
    },
    Knex() {
      const db = knex({ client: 'pg', connection: DATABASE_URL });
      const by = (one: typeof db): Query => {
        return async (text, params) => (await one.raw(asked(text), params)) as unknown;
      };
      return {
        query: by(db),
        within: (work) => db.transaction((trx) => work(by(trx))),
        close: () => db.destroy(),
      };
    },
    Drizzle() {
      const pool = new pg.Pool({ connectionString: DATABASE_URL });
      const db = drizzle(pool);
      const by = (one: Pick<typeof db, 'execute'>): Query => {
        return (text, params) => {
          const parts = text.split(/\$\d+/).map((part) => sql.raw(part));
          const chunks = parts.flatMap((part, at) =>
            at === 0 ? [part] : [sql`${params[at - 1]}`, part],
          );
          return one.execute(sql.join(chunks));
        };
      };
      return {
        query: by(db),
        within: (work) => db.transaction((tx) => work(by(tx))),
        close: () => pool.end(),
      };
    },
  };

  const MARIADB: Readonly<Record<string, () => Client>> = {
    'execute of mysql2'() {
      const pool = createPool({ uri: MYSQL_URL });
      return {
        query: (...asking) => pool.execute(...asking),
        async within(work) {
          const connection = await pool.getConnection();
          try {
            await connection.beginTransaction();
            return await work((...asking) => connection.execute(...asking));
          } finally {
            await connection.commit();
            connection.release();
          }
        },
        close: () => pool.end(),
      };
    },
    'a session of mysql2 without autocommit'() {
      const pool = createPool({ uri: MYSQL_URL });
      return {
        query: (...asking) => pool.query(...asking),
        async within(work) {
          const connection = await pool.getConnection();
          try {
            await connection.query('SET autocommit = 0');
            return await work((...asking) => connection.query(...asking));
          } finally {
            await connection.commit();
            connection.destroy();
          }
        },
        close: () => pool.end(),
      };
    },
    mariadb() {
      const { hostname: host, port, username: user } = new URL(MYSQL_URL);
      const database = new URL(MYSQL_URL).pathname.slice(1);
      const pool = mariadb.createPool({ host, port: Number(port), user, database });
      return {
        query: (...asking) => pool.query(...asking),
        async within(work) {
          const connection = await pool.getConnection();
          try {
            return await between((...asking) => connection.query(...asking), work);
          } finally {
            await connection.release();
          }
        },
        close: () => pool.end(),
      };
    },
    Knex() {
      const db = knex({ client: 'mysql2', connection: MYSQL_URL });
      const by = (one: typeof db): Query => {
        return async (text, params) => (await one.raw(text, params)) as unknown;
      };
      return {
        query: by(db),
        within: (work) => db.transaction((trx) => work(by(trx))),
        close: () => db.destroy(),
      };
    },
  };

  const EMBEDDED: readonly [Dialect, string, () => Promise<Client>][] = [
    [
      'postgres',
      'PGlite',
      async () => {
        const db = await freshPglite();
        const query: Query = (...asking) => db.query(...asking);
        return {
          query,
          within: (work) => db.transaction((tx) => work((...asking) => tx.query(...asking))),
          close: () => db.close(),
        };
      },
    ],
    [
      'sqlite',
      'a handle of SQLite',
      async () => {
        const db = new Database(':memory:');
        const query: Query = async (text, params) =>
          /^(BEGIN|COMMIT)/.test(text) ? db.exec(text) : db.prepare(text).all(...params);
        return { query, within: (work) => between(query, work), close: () => db.close() };
      },
    ],
  ];

  const CLIENTS: readonly [Dialect, string, () => Client | Promise<Client>][] = [
    ...Object.entries(POSTGRES).map(([name, open]) => ['postgres', name, open] as const),
    ...Object.entries(MARIADB).map(([name, open]) => ['mysql', name, open] as const),
    ...EMBEDDED,
  ].map(([...entry]) => entry as [Dialect, string, () => Client | Promise<Client>]);

  describe.each(CLIENTS)('%s by %s', (dialect, name, open) => {
    const invoices = gaplessSeries({
      name: name.replaceAll(' ', '-'),
      period: 'year',
      timeZone: 'UTC',
      form: '{date}-{0000}',
      table,
      clock: { now: () => Date.parse('2026-11-20T00:00:00Z') },
    });
    let client: Client;
    beforeAll(async () => {
      client = await open();
      await client.query(seriesTable(dialect, table), []);
    });
    afterAll(async () => void (await client.close()));
    const within = () => client.within((query) => invoices.nextIn({ query, dialect }));

    it('takes a number inside a transaction only', async () => {
      const outside = { query: client.query, dialect };
      const refused = { code: 'ARGUMENT_INVALID' };
      await expect(invoices.nextIn(outside)).rejects.toMatchObject(refused);
      expect(await within()).toBe('2026-0001');
      await expect(invoices.nextIn(outside)).rejects.toMatchObject(refused);
      expect(await within()).toBe('2026-0002');
      // Two numbers of one transaction.
      const both = await client.within(async (query) => [
        await invoices.nextIn({ query, dialect }),
        await invoices.nextIn({ query, dialect }),
      ]);
      expect(both).toEqual(['2026-0003', '2026-0004']);
      // A transaction's leftovers in a session do not count as a transaction.
      const many = Array.from({ length: 12 }, () => invoices.nextIn(outside));
      const settled = await Promise.allSettled(many);
      expect(settled.map(({ status }) => status)).toEqual(many.map(() => 'rejected'));
      expect(await within()).toBe('2026-0005');
    });
  });
});
