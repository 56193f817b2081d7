/**
 * A schema of its own in the PostgreSQL of the tests, with the functions that `snowflake sql`
 * prints and a clock in the hands of the test.
 */
import { randomUUID } from 'node:crypto';
import { Pool, type PoolClient } from 'pg';
import { command } from '../run-command.js';

export async function printed(args: readonly string[]): Promise<string> {
  const { code, out, err } = await command(['sql', ...args]);
  if (code !== 0) throw new Error(err);
  return out;
}

export class SqlIdsLab {
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

  /** @returns the function's name with its schema */
  async install(name: string, args: readonly string[]): Promise<string> {
    const full = `${this.schema}.${name}`;
    await this.pool.query(await printed(['--name', full, ...args]));
    return full;
  }

  /** The same function, but it reads the clock of the test. */
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

  /** What sessions of their own got at the same time, committed or rolled back. */
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
