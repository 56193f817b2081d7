/**
 * `snowflake sql --dialect mariadb` on a real MariaDB: no id twice, with six sessions, rollbacks
 * and a clock that is set back.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPool, type Pool, type PoolConnection, type RowDataPacket } from 'mysql2/promise';
import { layouts } from 'nestjs-snowflake/core';
import { layoutOfFingerprint } from '../../../lib/cli/layout-option.js';
import { printed } from './sql-lab.js';

const database = `ids_${randomUUID().replaceAll('-', '')}`;
let pool: Pool;

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

/** The statements as the client program reads them: DELIMITER is for it, not for the server. */
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

async function with6<T>(work: (client: PoolConnection, at: number) => Promise<T[]>): Promise<T[]> {
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

describe('ids made in MariaDB', () => {
  it.each([
    ['1023', []],
    ['7', ['--fields', 'timestamp:41,worker:10,sequence:4']],
  ])('of worker %s: six sessions get none twice', async (...how) => {
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

  it('are made as fast as the server can, none twice, by sessions of one clock', async () => {
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

  it('survive a clock that is set back, and grow', async () => {
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

  it('have the time, the worker id and the bits of their layout', async () => {
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
