/**
 * A database for one file of tests, on the server that the setup has started.
 */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { until } from '../../../until.js';

interface OwnDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

const named = (variable: string, url: string | undefined): [name: string, server: URL] => {
  if (url === undefined) throw new Error(`${variable} is not set; the global setup sets it.`);
  return [`drizzle_${randomBytes(6).toString('hex')}`, new URL(url)];
};

export async function ownPostgres(): Promise<OwnDatabase> {
  const [name, server] = named('DATABASE_URL', process.env['DATABASE_URL']);
  const onServer = async (sql: string): Promise<void> => {
    const client = new pg.Client(server.href);
    await client.connect();
    const sessions = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}'`;
    await until(async () => (await client.query(sessions)).rows.length === 0);
    await client.query(sql);
    await client.end();
  };
  await onServer(`CREATE DATABASE ${name}`);
  const url = new URL(`/${name}`, server).href;
  // A pool has ended before the server knows it; a session that is ended by force fails in it.
  return { url, drop: () => onServer(`DROP DATABASE ${name}`) };
}

export async function ownMariadb(): Promise<OwnDatabase> {
  const [name, server] = named('MYSQL_URL', process.env['MYSQL_URL']);
  const onServer = async (sql: string): Promise<void> => {
    const connection = await createConnection(server.href);
    await connection.query(sql);
    await connection.end();
  };
  await onServer(`CREATE DATABASE ${name}`);
  const url = new URL(`/${name}`, server).href;
  return { url, drop: () => onServer(`DROP DATABASE ${name}`) };
}
