/**
 * A database of its own on the PostgreSQL of the test run.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';

export interface ShopDatabase {
  readonly url: string;
  /** Drops it under whoever is connected; again is harmless. */
  drop(): Promise<void>;
}

export async function createShopDatabase(): Promise<ShopDatabase> {
  const name = `shop_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(process.env['DATABASE_URL']!);
  const server = url.href;
  url.pathname = name;
  await query(server, `CREATE DATABASE ${name}`);
  const drop = async () => {
    await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  return { url: url.href, drop };
}

export async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<object>(sql)).rows;
  } finally {
    await client.end();
  }
}
