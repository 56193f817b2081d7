/**
 * A database of its own on the PostgreSQL of the test run.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { ShopProcess } from './shop-process.js';
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

/*
 * Orders and invoices over HTTP, and what is wrong with the numbers of all invoices there are.
 */

export interface ShownInvoice {
  readonly id: string;
  readonly number: string;
  readonly orderId: string;
}

export async function orderBy(
  shop: ShopProcess,
  customerId: string,
): Promise<{ id: string; publicId: string }> {
  const lines = [{ product: 'tea', quantity: 2, priceCents: 450 }];
  const { body } = await shop.post('/orders', { customerId, lines });
  return body as { id: string; publicId: string };
}

export function invoicesOf(answers: readonly { status: number; body: unknown }[]): ShownInvoice[] {
  return answers.filter(({ status }) => status === 201).map(({ body }) => body as ShownInvoice);
}

/** Numbers of a day that are there twice, or beyond how many the day has: so one is missing. */
export function gapsIn(invoices: readonly ShownInvoice[]): string[] {
  const counted = new Map<string, number>();
  return invoices
    .map(({ number }) => number)
    .toSorted()
    .filter((number) => {
      const day = number.slice(0, 'INV-20261122-'.length);
      const nth = (counted.get(day) ?? 0) + 1;
      counted.set(day, nth);
      return number !== `${day}${String(nth).padStart(6, '0')}`;
    });
}
