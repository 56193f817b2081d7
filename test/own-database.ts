/**
 * A separate database for a test file, on a server that all files share. Guarantee: it ends no
 * session. A pool reports its end before the server has, and a forced end would then fail in a
 * client without listeners. So the database is dropped after the last session has ended.
 */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { until } from './until.js';

type Rows = Record<string, unknown>[];

export interface OwnDatabase {
  readonly url: string;
  /** May be called repeatedly. */
  readonly drop: () => Promise<void>;
}

/** @param server a PostgreSQL or a MariaDB: DATABASE_URL or MYSQL_URL */
export async function ownDatabase(server: string, name = newName()): Promise<OwnDatabase> {
  const run = server.startsWith('postgres') ? onPostgres : onMariadb;
  await run(server, `CREATE DATABASE ${name}`);
  const drop = async (): Promise<void> => {
    if (run === onPostgres) await untilUnused(server, name);
    await run(server, `DROP DATABASE IF EXISTS ${name}`);
  };
  return { url: new URL(`/${name}`, server).href, drop };
}

const newName = (): string => `own_${randomBytes(6).toString('hex')}`;

/** The rows of a PostgreSQL query on a separate connection. */
export async function onPostgres(server: string, sql: string): Promise<Rows> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    return (await client.query(sql)).rows as Rows;
  } finally {
    await client.end();
  }
}

/** MariaDB can drop a database in use. */
async function onMariadb(server: string, sql: string): Promise<void> {
  // The driver times out after 10 s, which is short for a busy machine.
  const connection = await createConnection({ uri: server, connectTimeout: 120_000 });
  await connection.query(sql);
  await connection.end();
}

async function untilUnused(server: string, name: string): Promise<void> {
  const sessions = `SELECT query FROM pg_stat_activity WHERE datname = '${name}'`;
  let open: Rows = [];
  await until(
    async () => (open = await onPostgres(server, sessions)).length === 0,
    () => `These sessions of the database were not ended: ${JSON.stringify(open)}`,
  );
}
