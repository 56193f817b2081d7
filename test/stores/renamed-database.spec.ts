/**
 * An older copy of a database, made by the server and renamed into its place: its rows have the
 * stamps of the transactions that wrote them, and the server is the same.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { lockTable, sqlLocks } from '../../lib/stores/sql/index.js';
import { PostgresNode } from '../chaos/stores/postgres.mjs';
import { heldIn, namedLock } from '../lock/held-locks.js';
import { SqlLab } from './sql-lab.js';

describe('a copy of a database of PostgreSQL in its place', () => {
  const lab = new SqlLab();
  const node = new PostgresNode();
  afterAll(async () => {
    await lab.end();
    await node.stop();
  });

  it('grants a newcomer nothing that is held', async () => {
    await node.create();
    const base = `postgres://postgres@127.0.0.1:${node.port}`;
    const root = lab.pool({ connectionString: `${base}/postgres` });
    await root.query('CREATE DATABASE shop');
    const newcomer = async () => {
      const pool = new pg.Pool({ connectionString: `${base}/shop` });
      return { pool, locks: sqlLocks({ pool, dialect: 'postgres', replicated: false }) };
    };
    const first = await newcomer();
    await first.pool.query(lockTable('postgres'));
    await first.locks.release(await heldIn(first.locks, namedLock('a')));
    await first.pool.end();
    await root.query('CREATE DATABASE shop_copy TEMPLATE shop');
    const holder = await newcomer();
    await heldIn(holder.locks, namedLock('a', { ttlMs: 600_000, longestMs: 600_000 }));
    await holder.pool.end();
    await root.query('ALTER DATABASE shop RENAME TO shop_old');
    await root.query('ALTER DATABASE shop_copy RENAME TO shop');
    const next = await newcomer();
    expect(await next.locks.acquire(namedLock('a'))).toMatchObject({ status: 'wait' });
    await next.pool.end();
  });
});
