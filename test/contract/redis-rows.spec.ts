/**
 * Rows in a Redis hash pass the contracts of worker IDs, counters, and locks. The test sets time
 * and server.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { connectionTo } from '../../lib/stores/redis/redis-options.js';
import { RedisRows } from '../../lib/stores/redis/redis-rows.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
} from '../../lib/testing/index.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';
import { settableRedis, TIMED_ROWS } from './settable-stores.js';

let redis: Redis;
const opened: RedisRows[] = [];
beforeAll(() => void (redis = new Redis(process.env['REDIS_URL']!)));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((rows) => rows.close()));
});
afterAll(() => redis.quit());

const PARTS = {
  lossWindowMs: LOSS_WINDOW_MS,
  statement: false,
  evicted: () => 'evicted',
  unread: () => 'unread',
};

function rowsOf(kind: 'registry' | 'counters' | 'locks') {
  const { keyOf, controls, optionsOf } = settableRedis(() => redis, kind, TIMED_ROWS);
  const versionOf = (version: string) => async (name: string) =>
    void (await redis.hset(keyOf(name), 'version', version));
  return {
    test: it,
    expect,
    ...controls,
    versionControl: { raise: versionOf('3'), lower: versionOf('2') },
    rows: (name: string): RedisRows => {
      const connection = connectionTo(optionsOf(name).redis);
      const key = keyOf(name);
      const rows = new RedisRows({ ...PARTS, connection, key });
      opened.push(rows);
      return rows;
    },
  };
}

describe('RedisRows under RegistrySupport', () => {
  const { rows, ...parts } = rowsOf('registry');
  const createSupport = (name: string) => new RegistrySupport(rows(name));
  describeDistributedSupport({ ...parts, createSupport });
});

describe('RedisRows under RowCounters', () => {
  const { rows, ...parts } = rowsOf('counters');
  describeCounterStore({ ...parts, createStore: (name) => new RowCounters(rows(name)) });
});

describe('RedisRows under RowLocks', () => {
  const { rows, ...parts } = rowsOf('locks');
  const createStore = (name: string) => new RowLocks(rows(name));
  describeLockStore({ ...parts, createStore, leaveOut: ['untilReleased'] });
});
