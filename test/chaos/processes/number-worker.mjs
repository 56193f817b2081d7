/**
 * One process of the chaos of counters: a Nest application that takes numbers from segments, or IDs
 * from Redis.
 */
import { dirname } from 'node:path';
import { Module } from '@nestjs/common';
import { etcdCounters } from 'nestjs-snowflake/etcd';
import { redisCounters } from 'nestjs-snowflake/redis';
import { RedisIdsModule } from 'nestjs-snowflake/redis-ids';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { sqlCounters } from 'nestjs-snowflake/sql';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { givenClient } from './given-store.mjs';
import { highestNumber } from './highest-number.mjs';
import { keep, live, monotonicMs, report, tell } from './living.mjs';

const { CHAOS_SUPPORT = '', CHAOS_FILE = '', CHAOS_STORE = '{}' } = process.env;
const { CHAOS_SEGMENTS = '{}', CHAOS_CALL_TIMEOUT_MS = '500' } = process.env;
const { hasTable, ...terms } = JSON.parse(CHAOS_SEGMENTS);
const { CHAOS_IDS } = process.env;
const [ADDRESS] = CHAOS_SUPPORT.split('?');
const STORE = JSON.parse(CHAOS_STORE);
const REDIS = givenClient ?? ADDRESS;

const limits = { callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS), startTimeoutMs: 20_000 };

class AppModule {}
Module({
  imports: [
    CHAOS_IDS === undefined
      ? SegmentsModule.forRoot({
          store: storeOf(STORE),
          ...terms,
          // The records of all processes stand for the table with their numbers.
          ...(hasTable && { startAt: () => highestNumber(dirname(CHAOS_FILE)) }),
          ...limits,
        })
      : RedisIdsModule.forRoot({
          redis: REDIS,
          ...STORE,
          ...JSON.parse(CHAOS_IDS),
          ...limits,
        }),
  ],
})(AppModule);

let grantCount = 0;

function take(idMaker) {
  // Usually a few, sometimes so many that the buffer may run out.
  const count = Math.random() < 0.005 ? 500 : 1 + Math.floor(Math.random() * 4);
  const taken = new BigUint64Array(count);
  let at = 0;
  try {
    for (; at < count; at++) taken[at] = idMaker.nextId();
  } finally {
    keep(taken.subarray(0, at));
    tellGrants(idMaker.status.calls);
  }
}

function tellGrants({ countByAnswer: { ok = 0 } }) {
  for (; grantCount < ok; grantCount++) {
    tell({ kind: 'grant', atMs: monotonicMs() });
    report({ grantCount });
  }
}

function storeOf(options) {
  if (ADDRESS.startsWith('sqlite')) return CHAOS_SUPPORT;
  if (ADDRESS.startsWith('etcd')) {
    const hosts = ADDRESS.slice('etcd://'.length).split(',');
    return etcdCounters({ endpoints: hosts.map((host) => `http://${host}`), ...options });
  }
  if (ADDRESS.startsWith('redis')) return redisCounters({ redis: REDIS, ...options });
  if (ADDRESS.startsWith('mysql')) {
    const pool = createPool({ uri: ADDRESS, connectionLimit: 2, connectTimeout: 1000 });
    return sqlCounters({ pool, dialect: 'mysql', ...options });
  }
  const pool = new Pool({
    connectionString: ADDRESS,
    // The operator finds its connections by this name.
    application_name: 'nestjs-snowflake',
    max: 2,
    connectionTimeoutMillis: 1000,
  });
  pool.on('error', () => undefined);
  return sqlCounters({ pool, dialect: 'postgres', ...options });
}

await live(AppModule, take);
