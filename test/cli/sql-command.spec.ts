/**
 * `snowflake sql`: the arguments that it rejects, and its SQL on real databases.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  BitLayout,
  layouts,
  MemoryRows,
  MemorySupport,
  type RunningSnowflake,
  startSnowflake,
} from 'nestjs-snowflake';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import type { PoolConnection, RowDataPacket } from 'mysql2/promise';
import { Pool, type PoolClient } from 'pg';
import { command, printed } from './run-command.js';
import { layoutOfFingerprint } from '../../lib/cli/layout-option.js';

describe('snowflake sql', () => {
  it('names the layout, the worker ID and the call in the first lines', async () => {
    const { code, lines } = await command(['sql', '--worker', '1023']);
    expect(code).toBe(0);
    expect(lines.slice(0, 2)).toEqual([
      '-- Ids t41-w10-s12/1ms@1704067200000 of worker 1023, which no generator may lease.',
      '-- SELECT public.snowflake_id();',
    ]);
  });

  it.each([
    [[], 'Missing: --worker'],
    [['--worker', '1024'], '0 to 1023'],
    [['--worker', '-1'], 'whole number'],
    [['--worker', '1', '--dialect', 'oracle'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'constructor'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'MySQL'], 'MySQL has no sequences'],
    [['--worker', '1', '--name', `a'; DROP TABLE b; --`], 'lower-case letters'],
    [['--worker', '1', '--name', 'a.b.c'], 'lower-case letters'],
    [['--worker', '1', '--name', 'x'.repeat(60)], 'lower-case letters'],
  ])('rejects %j', async (args, said) => {
    const { code, out, err } = await command(['sql', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
  });
});

/*
 * Worker IDs that no process leases, for IDs made in SQL. A field above the worker ID reserves them
 * and leaves the rest of the layout unchanged.
 */
describe('reserved workers', () => {
  const layout = new BitLayout({
    fields: [
      ['timestamp', 41],
      ['pool', 1],
      ['worker', 9],
      ['sequence', 12],
    ],
  });

  // Otherwise each of hundreds of leases would be logged.
  beforeAll(() => Logger.overrideLogger(['error']));
  afterAll(() => Logger.overrideLogger(['log', 'warn', 'error']));

  describe('a layout with a pool', () => {
    it('equals the default layout, by its fingerprint and its IDs', () => {
      expect(layout.fingerprint).toBe(layouts.snowflake().fingerprint);
      const id = layout.compose({ timestampMs: Date.now(), workerId: 1023, sequence: 5 });
      expect(layouts.snowflake().parse(id)).toMatchObject({ workerId: 1023, sequence: 5 });
      expect(layout.parse(id).fields).toMatchObject({ pool: 1, worker: 511 });
    });

    it('leases only 0 to 511 in a registry that uses the default layout', async () => {
      const rows = new MemoryRows();
      const running: RunningSnowflake[] = [];
      const start = async (options: object) => {
        const support = new MemorySupport({ rows });
        const one = await startSnowflake({ support, startTimeoutMs: 200, ...options });
        running.push(one);
        return layout.parse(one.ids.nextId()).workerId;
      };
      try {
        const leased = [await start({ workerId: 0 })];
        for (let at = 1; at < 512; at++) {
          leased.push(await start({ layout, workerFields: { pool: 0 } }));
        }
        expect([Math.min(...leased), Math.max(...leased)]).toEqual([0, 511]);
        expect(new Set(leased).size).toBe(512);
        await expect(start({ layout, workerFields: { pool: 0 } })).rejects.toThrow(/worker id/);
        expect(await start({ layout, workerFields: { pool: 1 } })).toBeGreaterThan(511);
      } finally {
        await Promise.all(running.map((one) => one.close()));
      }
    });
  });
});

// `snowflake sql` on a real PostgreSQL generates no duplicate ID: with six sessions, rollbacks, a
// clock that is set back, and too few IDs in a tick. A function that many sites recommend fails
// here.

/** A separate schema with the printed functions, and a clock that the test sets. */
class SqlIdsLab {
  readonly schema = `ids_${randomUUID().replaceAll('-', '')}`;
  readonly pool = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 12 });

  async open(): Promise<void> {
    await this.pool.query(`
      CREATE SCHEMA ${this.schema};
      CREATE TABLE ${this.schema}.clock (at timestamptz);
      CREATE FUNCTION ${this.schema}.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT at FROM ${this.schema}.clock';`);
  }

  async close(): Promise<void> {
    await this.pool.query(`DROP SCHEMA ${this.schema} CASCADE`);
    await this.pool.end();
  }

  /** @returns the name of the function with its schema */
  async install(name: string, args: readonly string[]): Promise<string> {
    const full = `${this.schema}.${name}`;
    await this.pool.query(await printed(['--name', full, ...args]));
    return full;
  }

  /** Installs the same function, but with the clock of the test. */
  async installOnTestClock(name: string, args: readonly string[]): Promise<string> {
    const full = `${this.schema}.${name}`;
    const sql = await printed(['--name', full, ...args]);
    const parts = sql.split('clock_timestamp()');
    if (parts.length !== 2) throw new Error(`The clock is read ${parts.length - 1} times.`);
    await this.pool.query(parts.join(`${this.schema}.clock()`));
    return full;
  }

  async setClock(at: string): Promise<void> {
    await this.pool.query(`DELETE FROM ${this.schema}.clock`);
    await this.pool.query(`INSERT INTO ${this.schema}.clock VALUES ($1)`, [at]);
  }

  async ids(name: string, count: number, client: Pool | PoolClient = this.pool) {
    const sql = `SELECT ${name}() AS id FROM generate_series(1, $1::int)`;
    const { rows } = await client.query<{ id: string }>(sql, [count]);
    return rows.map(({ id }) => BigInt(id));
  }

  /** The IDs of concurrent sessions, from committed and rolled-back transactions. */
  async crowd(name: string, { sessions = 6, rounds = 12, count = 500 } = {}): Promise<bigint[]> {
    const one = async (at: number) => {
      const client = await this.pool.connect();
      const level = at % 2 === 0 ? 'READ COMMITTED' : 'REPEATABLE READ';
      const got: bigint[] = [];
      for (let round = 0; round < rounds; round++) {
        await client.query(`BEGIN ISOLATION LEVEL ${level}`);
        got.push(...(await this.ids(name, count, client)));
        await client.query(round % 3 === 0 ? 'ROLLBACK' : 'COMMIT');
      }
      client.release();
      return got;
    };
    return (await Promise.all(Array.from({ length: sessions }, (_, at) => one(at)))).flat();
  }
}

describe('snowflake sql on PostgreSQL', () => {
  const lab = new SqlIdsLab();
  beforeAll(() => lab.open());
  afterAll(() => lab.close());

  /** 16 IDs a tick, so a few sessions exceed it. */
  const NARROW = ['--fields', 'timestamp:41,worker:10,sequence:4', '--worker', '7'];

  const twice = (ids: readonly bigint[]) => ids.length - new Set(ids).size;

  /**
   * The function that many sites recommend: a sequence modulo the IDs of a tick, below the clock.
   */
  async function copiedFunction(sequenceBits: number): Promise<string> {
    const name = `${lab.schema}.copied_${sequenceBits}`;
    await lab.pool.query(`
    CREATE SEQUENCE ${name}_seq;
    CREATE FUNCTION ${name}() RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE seq bigint; now_ms bigint;
    BEGIN
      SELECT nextval('${name}_seq') % ${2 ** sequenceBits} INTO seq;
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
      RETURN ((now_ms - 1704067200000) << ${10 + sequenceBits}) | (7 << ${sequenceBits}) | seq;
    END $$;`);
    return name;
  }

  describe('six concurrent sessions', () => {
    it('get no duplicate ID, even in transactions that are rolled back', async () => {
      const name = await lab.install('crowded', ['--worker', '1023']);
      const ids = await lab.crowd(name);
      expect([ids.length, twice(ids)]).toEqual([36_000, 0]);
    });

    it('get no duplicate with 16 IDs a tick, unlike the copied function', async () => {
      const ids = await lab.crowd(await lab.install('narrow', NARROW));
      expect([ids.length, twice(ids)]).toEqual([36_000, 0]);
      const copied = await lab.crowd(await copiedFunction(4));
      expect(twice(copied)).toBeGreaterThan(100);
    });
  });

  describe('an ID made in SQL', () => {
    it.each([
      ['--worker', '1023'],
      ['--worker', '513', '--layout', 'twitter'],
      ['--worker', '65535', '--layout', 'sonyflake'],
      ['--worker', '4194303', '--layout', 'baidu'],
      ['--worker', '255', '--layout', 'javascriptSafe'],
      ['--worker', '0', '--layout', 'mastodon'],
      [
        '--worker',
        '3',
        '--fields',
        'timestamp:39,room:2,business:4:call,sequence:7',
        '--unit=10ms',
      ],
    ])('has the time, the worker ID and the bits of its layout: %s %s %s %s', async (...args) => {
      const given = args.filter((arg) => arg !== undefined);
      const sql = await printed(given);
      const layout = layoutOfFingerprint(/-- Ids (\S+) of worker/.exec(sql)![1]!)!;
      const before = Date.now();
      const name = await lab.install(`shaped_${layout.fingerprint.replaceAll(/\W/g, '_')}`, given);
      const ids = await lab.ids(name, 20);
      for (const id of ids) {
        const { workerId, timestampMs } = layout.parse(id);
        expect(workerId).toBe(Number(given[1]));
        expect(timestampMs).toBeGreaterThan(before - 2000 - layout.unitMs);
        expect(timestampMs).toBeLessThan(Date.now() + 2000);
      }
      expect(ids.toSorted((a, b) => Number(a - b))).toEqual(ids);
      expect(twice(ids)).toBe(0);
    });

    it('counts through a tick and into the next one, as its layout does', async () => {
      const name = await lab.installOnTestClock('counting', NARROW);
      await lab.setClock('2026-11-21T09:00:00.250Z');
      const layout = layoutOfFingerprint('t41-w10-s4/1ms@1704067200000')!;
      const parts = (await lab.ids(name, 40)).map((id) => layout.parse(id));
      expect(parts.map(({ sequence }) => sequence)).toEqual(
        Array.from({ length: 40 }, (_, at) => at % 16),
      );
      expect(new Set(parts.map(({ date }) => date.toISOString().slice(20)))).toEqual(
        new Set(['250Z', '251Z', '252Z']),
      );
    });
  });

  describe('a clock', () => {
    it('that is set back causes no duplicate and no smaller ID', async () => {
      const name = await lab.installOnTestClock('back', ['--worker', '7']);
      const ids: bigint[] = [];
      for (const at of [
        '12:00:00.000',
        '11:00:00.000',
        '11:59:59.999',
        '12:00:00.000',
        '12:00:01',
      ]) {
        await lab.setClock(`2026-11-21T${at}Z`);
        ids.push(...(await lab.ids(name, 3000)));
      }
      expect([ids.length, twice(ids)]).toEqual([15_000, 0]);
      expect(ids.toSorted((a, b) => Number(a - b))).toEqual(ids);
      const { last } = layouts.snowflake().idRange(new Date(0), new Date('2026-11-21T12:00:01Z'));
      expect(ids.at(-1)! <= last).toBe(true);
    });

    it('before the epoch, or after the end of the layout, causes no negative ID', async () => {
      const name = await lab.installOnTestClock('ends', ['--worker', '7']);
      await lab.setClock('1999-01-01T00:00:00Z');
      expect((await lab.ids(name, 3)).every((id) => id > 0n)).toBe(true);
      await lab.setClock('2094-01-01T00:00:00Z');
      await expect(lab.ids(name, 1)).rejects.toThrow(/out of bounds/);
    });
  });

  describe('the lock', () => {
    it('is released at once, not at the end of the transaction', async () => {
      const name = await lab.install('unlocked', ['--worker', '7']);
      const [one, other] = [await lab.pool.connect(), await lab.pool.connect()];
      try {
        await one.query('BEGIN');
        const [first] = await lab.ids(name, 1, one);
        await other.query(`SET lock_timeout = '2s'`);
        const [second] = await lab.ids(name, 1, other);
        expect(second).toBeGreaterThan(first!);
        await one.query('ROLLBACK');
        const [third] = await lab.ids(name, 1, one);
        expect(third).toBeGreaterThan(second!);
      } finally {
        await other.query('RESET lock_timeout');
        one.release();
        other.release();
      }
    });

    it('is not kept by a call that was cancelled during its wait', async () => {
      const name = await lab.install('cancelled', ['--worker', '7']);
      const [holder, waiter] = [await lab.pool.connect(), await lab.pool.connect()];
      try {
        await holder.query('BEGIN');
        const key = `1397641047, '${name}_last'::regclass::oid::int`;
        await holder.query(`SELECT pg_advisory_xact_lock(${key})`);
        await waiter.query(`SET statement_timeout = '50ms'`);
        await expect(lab.ids(name, 1, waiter)).rejects.toThrow(/statement timeout/);
        await holder.query('COMMIT');
        await waiter.query('RESET statement_timeout');
        expect(await lab.ids(name, 1, waiter)).toHaveLength(1);
        const { rows } = await lab.pool.query(
          `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1397641047`,
        );
        expect(rows).toEqual([]);
      } finally {
        holder.release();
        waiter.release();
      }
    });
  });

  describe('rights', () => {
    it('to call the function are enough to get IDs, and do not allow a reset', async () => {
      const name = await lab.install('shared', ['--worker', '7']);
      const client = await lab.pool.connect();
      const role = `${lab.schema}_role`;
      try {
        await client.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${lab.schema} TO ${role}`);
        await client.query(`SET ROLE ${role}`);
        expect(await lab.ids(name, 1, client)).toHaveLength(1);
        await expect(client.query(`SELECT setval('${name}_last', 1)`)).rejects.toThrow(
          /permission/,
        );
      } finally {
        await client.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
        client.release();
      }
    });

    it('of a read-only transaction lead to an error, not to an ID', async () => {
      const name = await lab.install('reading', ['--worker', '7']);
      const client = await lab.pool.connect();
      await client.query('BEGIN READ ONLY');
      await expect(lab.ids(name, 1, client)).rejects.toThrow(/read-only/);
      await client.query('ROLLBACK');
      client.release();
    });
  });
});

/*
 * `snowflake sql --dialect mariadb` on a real MariaDB generates no duplicate ID: with six sessions,
 * rollbacks and a clock that is set back.
 */
describe('snowflake sql on MariaDB', () => {
  const database = `ids_${randomUUID().replaceAll('-', '')}`;
  let pool: MysqlPool;

  beforeAll(async () => {
    pool = createPool({
      uri: process.env['MYSQL_URL']!,
      connectionLimit: 8,
      supportBigNumbers: true,
      bigNumberStrings: true,
    });
    await pool.query(`CREATE DATABASE ${database}`);
  });

  afterAll(async () => {
    await pool.query(`DROP DATABASE ${database}`);
    await pool.end();
  });

  /** Splits the statements as the client program does; the server does not accept DELIMITER. */
  function statementsOf(sql: string): string[] {
    const [plain = '', body = ''] = sql.split('DELIMITER $$');
    const procedure = body.replace(/\$\$\s*DELIMITER ;\s*$/, '');
    return [...plain.split(';'), procedure].filter((part) => part.replaceAll(/--.*$/gm, '').trim());
  }

  async function install(name: string, args: readonly string[]): Promise<string> {
    const full = `${database}.${name}`;
    const sql = await printed(['--dialect', 'mariadb', '--name', full, ...args]);
    for (const statement of statementsOf(sql)) await pool.query(statement);
    return full;
  }

  async function idOf(name: string, client: PoolConnection): Promise<bigint> {
    await client.query(`CALL ${name}(@id)`);
    const [rows] = await client.query<RowDataPacket[]>('SELECT @id AS id');
    return BigInt(rows[0]!['id'] as string);
  }

  async function with6<T>(
    work: (client: PoolConnection, at: number) => Promise<T[]>,
  ): Promise<T[]> {
    const one = async (_: unknown, at: number) => {
      const client = await pool.getConnection();
      try {
        return await work(client, at);
      } finally {
        client.release();
      }
    };
    return (await Promise.all(Array.from({ length: 6 }, one))).flat();
  }

  const twice = (ids: readonly bigint[]) => ids.length - new Set(ids).size;

  describe('IDs made in MariaDB', () => {
    it.each([
      ['1023', []],
      ['7', ['--fields', 'timestamp:41,worker:10,sequence:4']],
    ])('have no duplicates for worker %s and six sessions', async (...how) => {
      const [worker, layout] = how;
      const name = await install(`crowd_${worker}`, ['--worker', worker, ...layout]);
      const ids = await with6(async (client, at) => {
        const got: bigint[] = [];
        for (let round = 0; round < 10; round++) {
          await client.query('START TRANSACTION');
          for (let n = 0; n < 50; n++) got.push(await idOf(name, client));
          await client.query((round + at) % 3 === 0 ? 'ROLLBACK' : 'COMMIT');
        }
        return got;
      });
      expect([ids.length, twice(ids)]).toEqual([3000, 0]);
    });

    it('have no duplicates at full speed, with the same clock in all sessions', async () => {
      const name = await install('loop', ['--worker', '9']);
      await pool.query(`CREATE TABLE ${database}.made (id BIGINT)`);
      await pool.query(`CREATE PROCEDURE ${database}.many(count INT) BEGIN
      DECLARE n INT DEFAULT 0; DECLARE x BIGINT;
      WHILE n < count DO
        CALL ${name}(x); INSERT INTO ${database}.made VALUES (x); SET n = n + 1;
      END WHILE; END`);
      await with6(async (client) => {
        await client.query(`SET timestamp = UNIX_TIMESTAMP('2026-11-21 09:00:00')`);
        await client.query(`START TRANSACTION`);
        await client.query(`CALL ${database}.many(2000)`);
        await client.query('COMMIT');
        await client.query('SET timestamp = DEFAULT');
        return [];
      });
      const [rows] = await pool.query<RowDataPacket[]>(
        `SELECT COUNT(*) AS made, COUNT(DISTINCT id) AS different FROM ${database}.made`,
      );
      expect(rows[0]).toEqual({ made: '12000', different: '12000' });
    });

    it('stay unique and rise after a clock is set back', async () => {
      const name = await install('back', ['--worker', '7']);
      const ids = await with6(async (client, at) => {
        if (at > 0) return [];
        const got: bigint[] = [];
        for (const time of ['12:00:00', '11:00:00', '11:59:59', '12:00:00', '12:00:01']) {
          await client.query(`SET time_zone = '+00:00'`);
          await client.query(`SET timestamp = UNIX_TIMESTAMP('2026-11-21 ${time}')`);
          for (let n = 0; n < 100; n++) got.push(await idOf(name, client));
        }
        await client.query('SET timestamp = DEFAULT');
        return got;
      });
      expect([ids.length, twice(ids)]).toEqual([500, 0]);
      expect(ids.toSorted((a, b) => Number(a - b))).toEqual(ids);
      expect(layouts.snowflake().parse(ids.at(-1)!).date).toEqual(new Date('2026-11-21T12:00:01Z'));
    });

    it('have the time, the worker ID and the bits of their layout', async () => {
      const layout = layoutOfFingerprint(layouts.sonyflake().fingerprint)!;
      const name = await install('shaped', ['--worker', '65535', '--layout', 'sonyflake']);
      const before = Date.now();
      const ids = await with6(async (client) => [await idOf(name, client)]);
      for (const id of ids) {
        const { workerId, timestampMs } = layout.parse(id);
        expect(workerId).toBe(65_535);
        expect(Math.abs(timestampMs - before)).toBeLessThan(10_000);
      }
    });
  });
});
