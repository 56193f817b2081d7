// How much of the library one operation runs: `npm run walk`. Counts the files and functions of
// each, by the precise coverage of V8, on servers of its own: what a reader has to follow.
//
// Guarantee: each operation has run once before it is counted, so that no first call is counted.
import { existsSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import 'reflect-metadata';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Pool } from 'pg';
import { startPostgres } from './servers/start-postgres.mjs';
import { startRedis } from './servers/start-redis.mjs';

const ROOM = new URL('../dist/lib/', import.meta.url);
if (!existsSync(ROOM)) throw new Error('There is no dist/lib: run `npm run build` first.');
const load = (/** @type {string} */ path) => import(new URL(path, ROOM).href);

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Timers that run on from what came before end within this. */
const SETTLED_MS = 100;

/** @returns {Promise<{ files: number, functions: number, calls: number }>} */
async function counted(/** @type {() => Promise<unknown>} */ operation) {
  await sleep(SETTLED_MS);
  await session.post('Profiler.takePreciseCoverage');
  await operation();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ours = result.filter(({ url }) => url.startsWith(ROOM.href));
  const ran = ours.flatMap(({ url, functions }) =>
    functions
      .filter(({ functionName, ranges: [whole] }) => functionName || (whole?.startOffset ?? 0) > 0)
      .map(({ ranges: [whole] }) => ({ url, count: whole?.count ?? 0 }))
      .filter(({ count }) => count > 0),
  );
  return {
    files: new Set(ran.map(({ url }) => url)).size,
    functions: ran.length,
    calls: ran.reduce((sum, { count }) => sum + count, 0),
  };
}

const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
const { RefreshAlive, SnowflakeModule, startSnowflake } = await load('index.js');
const { DistributedLock } = await load('lock/distributed-lock.js');
const { locksOf } = await load('stores/schemes.js');
const { registryTable } = await load('stores/sql/index.js');

/** @returns {Promise<{ close(): Promise<void> }>} that has an id */
async function started() {
  const snowflake = await startSnowflake({ support: redis.url });
  snowflake.ids.nextId();
  return snowflake;
}

async function start() {
  await (await started()).close();
  let running;
  const result = await counted(async () => (running = await started()));
  await running?.close();
  return result;
}

async function renewal() {
  const pool = new Pool({ connectionString: postgres.url });
  await pool.query(registryTable('postgres'));
  await pool.end();
  class AppModule {}
  const support = postgres.url;
  Module({ imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support })] })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const job = app.get(RefreshAlive);
  await job.run();
  const result = await counted(() => job.run());
  await app.close();
  return result;
}

async function lock() {
  const store = await locksOf(redis.url);
  const locks = new DistributedLock(store, {});
  // A new store grants nothing for a while.
  const once = () => locks.using('order', { waitMs: 60_000 }, async () => undefined);
  await once();
  const result = await counted(once);
  await locks.close();
  return result;
}

Logger.overrideLogger(false);
console.table({
  'start with a Redis URL, to the first id': await start(),
  'renewal on PostgreSQL': await renewal(),
  'lock, acquired and released on Redis': await lock(),
});
await Promise.all([redis.stop(), postgres.stop()]);
