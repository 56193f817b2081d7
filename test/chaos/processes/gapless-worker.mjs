/**
 * One process of the chaos of a gapless series. It takes each number in the transaction of its row,
 * and records the number after the commit is acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { gaplessSeries } from 'nestjs-snowflake/sql';
import { Pool } from 'pg';
import { begin, keep, monotonicMs, report, tell } from './living.mjs';

const { CHAOS_SUPPORT = '', CHAOS_CALL_TIMEOUT_MS = '1500' } = process.env;
const [ADDRESS] = CHAOS_SUPPORT.split('?');

class AppModule {}
Module({})(AppModule);

const pool = new Pool({
  connectionString: ADDRESS,
  // The operator finds its connections by this name.
  application_name: 'nestjs-snowflake',
  // For a primary without a synchronous standby, this equals `on`.
  options: '-c synchronous_commit=remote_apply',
  max: 2,
  connectionTimeoutMillis: 1000,
  query_timeout: Number(CHAOS_CALL_TIMEOUT_MS),
});
pool.on('error', () => undefined);
const orders = gaplessSeries({
  name: 'order',
  period: 'year',
  timeZone: 'UTC',
  form: '{date}-{000000}',
});

async function book() {
  const client = await pool.connect();
  client.on('error', () => undefined);
  const query = (text, params) => client.query(text, params);
  try {
    await query('BEGIN');
    const text = await orders.nextIn({ query, dialect: 'postgres' });
    await query('INSERT INTO invoice VALUES ($1)', [text]);
    await query('COMMIT');
    keep(BigUint64Array.of(BigInt(orders.parse(text).number)));
    tell({ kind: 'grant', atMs: monotonicMs() });
    report({ text });
    client.release();
  } catch (error) {
    client.release(error);
    throw error;
  }
}

async function go() {
  // A failed request is repeated.
  for (;;) await book().catch(() => sleep(50));
}

await begin(AppModule);
void go();
void go();
