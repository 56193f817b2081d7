/**
 * One process of the chaos of counters: a Nest application that takes numbers by segments as long
 * as it lives, and writes down what worker.mjs does. It runs where that runs.
 */
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { redisCounters } from 'nestjs-snowflake/redis';
import { segments } from 'nestjs-snowflake/segments';
import { sqlCounters } from 'nestjs-snowflake/sql';
import { Pool } from 'pg';
import { highestNumber } from './highest-number.mjs';

const { CHAOS_SUPPORT = '', CHAOS_FILE = '', CHAOS_BORN_MS = '0', CHAOS_PLACE } = process.env;
const { CHAOS_STORE = '{}', CHAOS_SEGMENTS = '{}', CHAOS_CALL_TIMEOUT_MS = '500' } = process.env;
const { hasTable, ...terms } = JSON.parse(CHAOS_SEGMENTS);
const TICK_MS = 2;
const GAP_MS = 200;

const numbers = openSync(`${CHAOS_FILE}.ids`, 'a');
const events = openSync(`${CHAOS_FILE}.events`, 'a');
const tell = (event) => writeSync(events, `${JSON.stringify(event)}\n`);
const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

class AppModule {}
Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({
      generator: segments({
        store: storeOf(CHAOS_SUPPORT, JSON.parse(CHAOS_STORE)),
        ...terms,
        // What all processes have written down is the table in which their numbers are stored.
        ...(hasTable && { startAt: () => highestNumber(dirname(CHAOS_FILE)) }),
      }),
      callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS),
      startTimeoutMs: 20_000,
    }),
  ],
})(AppModule);

let lastMs = Number(CHAOS_BORN_MS);
let lastError = 'starting';
let grantCount = 0;

process.send?.({ isUp: true }, () => undefined);
const app = await NestFactory.createApplicationContext(AppModule, {
  logger: false,
  abortOnError: false,
});
app.enableShutdownHooks(['SIGTERM']);
const idMaker = app.get(IdMaker);

process.on('message', ({ blockMs }) => {
  for (const endMs = monotonicMs() + blockMs; monotonicMs() < endMs;);
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
setInterval(take, TICK_MS);

function take() {
  // Mostly a few; at times so many that all that is in hand may be used up.
  const count = Math.random() < 0.005 ? 500 : 1 + Math.floor(Math.random() * 4);
  const taken = new BigUint64Array(count);
  let at = 0;
  try {
    for (; at < count; at++) taken[at] = idMaker.nextId();
  } catch (error) {
    lastError = error.code ?? error.message;
  }
  writeSync(numbers, taken.subarray(0, at));
  tellGrants();
  if (at < count) return;
  const nowMs = monotonicMs();
  if (nowMs - lastMs > GAP_MS || lastError === 'starting') {
    tell({ kind: 'gap', place: CHAOS_PLACE, fromMs: lastMs, toMs: nowMs, error: lastError });
  }
  lastError = 'none';
  lastMs = nowMs;
}

function tellGrants() {
  const { ok = 0 } = idMaker.status.calls.countByAnswer;
  for (; grantCount < ok; grantCount++) {
    tell({ kind: 'grant', atMs: monotonicMs() });
    process.send?.({ grantCount }, () => undefined);
  }
}

function storeOf(support, options) {
  const [url] = support.split('?');
  if (url.startsWith('redis')) return redisCounters({ redis: url, ...options });
  const pool = new Pool({
    connectionString: url,
    // By which the operator finds its connections.
    application_name: 'nestjs-snowflake',
    max: 2,
    connectionTimeoutMillis: 1000,
  });
  pool.on('error', () => undefined);
  return sqlCounters({ pool, dialect: 'postgres', ...options });
}
