/**
 * Private tables in the servers of the tests, and statements with a broken condition.
 */
import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool, type PoolConfig } from 'pg';
import type { IDistributedSupport, LeaseGrant } from '../../lib/lease/distributed-support.js';
import { registryTable } from '../../lib/stores/sql/index.js';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { request } from './redis-lab.js';
export class SqlLab {
  readonly table = `lab_${randomUUID().replaceAll('-', '')}`;
  private readonly ends: (() => Promise<unknown>)[] = [];

  pool(config: PoolConfig = {}): Pool {
    const pool = this.unkept({ connectionString: process.env['DATABASE_URL']!, ...config });
    this.ends.push(() => pool.end());
    return pool;
  }

  /** The caller must end it. */
  unkept(config: PoolConfig): Pool {
    const pool = new Pool(config);
    // A killed backend ends a connection that is idle.
    pool.on('error', () => undefined);
    return pool;
  }

  mysql(): MysqlPool {
    const pool = createPool({ uri: process.env['MYSQL_URL']!, connectionLimit: 10 });
    this.ends.push(() => pool.end());
    return pool;
  }

  async postgresTable(): Promise<Pool> {
    const pool = this.pool();
    await pool.query(registryTable('postgres', this.table));
    this.ends.unshift(() => pool.query(`DROP TABLE IF EXISTS ${this.table}`));
    return pool;
  }

  async mysqlTable(): Promise<MysqlPool> {
    const pool = this.mysql();
    await pool.query(registryTable('mysql', this.table));
    this.ends.unshift(() => pool.query(`DROP TABLE IF EXISTS ${this.table}`));
    return pool;
  }

  async end(): Promise<void> {
    for (const end of this.ends) await end();
  }

  /**
   * A PostgreSQL with a table, where asynchronous commits never reach the disk. `crashed()` kills a
   * backend, and returns a pool to the server after its recovery.
   */
  async unwritten(table: string) {
    const server = await startPostgres([
      'synchronous_commit=off',
      'wal_writer_delay=10s',
      'autovacuum=off',
      'restart_after_crash=on',
    ]);
    const own = this.unkept({ connectionString: server.url });
    const again = this.unkept({ connectionString: server.url });
    await onceUp(own, table);
    await own.query('CHECKPOINT');
    // Each of the server's own processes may write an asynchronous commit: the WAL writer when it
    // wakes, the background writer and the checkpointer before a page.
    const helpers = await own.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE backend_type <> 'client backend'`,
    );
    if (helpers.rows.length < 3) throw new Error('There are too few of its own processes.');
    for (const { pid } of helpers.rows) process.kill(pid, 'SIGSTOP');
    const crashed = async (): Promise<Pool> => {
      const { rows } = await own.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const witness = this.unkept({ connectionString: server.url });
      const seen = await witness.connect();
      process.kill(rows[0]!.pid, 'SIGKILL');
      // Before the server detects the crash, it would answer from memory that it is about to lose.
      await new Promise((resolve) => seen.once('error', resolve));
      seen.release(true);
      await Promise.all([own.end(), witness.end()]).catch(() => undefined);
      await onceUp(again, 'SELECT 1');
      return again;
    };
    const stop = async () => {
      await again.end();
      await server.stop();
    };
    return { own, crashed, stop };
  }
}

/** A server refuses connections while it starts or recovers. */
async function onceUp(database: Pool, sql: string): Promise<void> {
  while ((await database.query(sql).catch(() => undefined)) === undefined);
}

/** The same function with a part of each statement replaced. Its values keep their places. */
export function broken(query: SqlQuery, from: string | RegExp, to: string): SqlQuery {
  return (sql: string, params: SqlParameter[]) => query(sql.replace(from, to), params);
}

/** Every second of the first writes uses a connection with an open transaction. */
export function forgetful(pool: Pool) {
  const forgotten = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 1 });
  let writeCount = 0;
  const query: SqlQuery = async (sql, params) => {
    if (!sql.startsWith('WITH changed') || ++writeCount > 4) return pool.query(sql, params);
    const isForgotten = writeCount % 2 === 1;
    await forgotten.query(isForgotten ? 'BEGIN' : 'ROLLBACK');
    return (isForgotten ? forgotten : pool).query(sql, params);
  };
  const rollBack = async () => {
    await forgotten.query('ROLLBACK');
    await forgotten.end();
  };
  return { given: { query, dialect: 'postgres' as const }, rollBack };
}

/* A lease from a support in a database, after the wait that a new registry requires. */

export async function leased(
  support: IDistributedSupport,
  terms: Parameters<typeof request>[0] = {},
): Promise<LeaseGrant> {
  for (;;) {
    const answer = await support.getNextWorkId(request(terms));
    if (answer.status === 'ok') return answer;
    expect(answer).toMatchObject({ status: 'wait' });
  }
}
