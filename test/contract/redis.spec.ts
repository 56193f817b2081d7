/**
 * Redis keeps the contract: the scripts with time and server in the hands of the test, and the
 * support as applications use it, by Redis' own clock, where that is enough.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisSupport } from '../../lib/backends/redis/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { redisStore } from './settable-stores.js';

describe('the scripts of the Redis support', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  describeDistributedSupport({ test: it, expect, ...redisStore(() => redis) });
});

describe('RedisSupport', () => {
  const opened: RedisSupport[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((support) => support.close()));
  });

  describeDistributedSupport({
    test: it,
    expect,
    createSupport(namespace) {
      const support = new RedisSupport({ redis: process.env['REDIS_URL']!, namespace });
      opened.push(support);
      return support;
    },
    leaveOut: ['clock', 'losses'],
  });
});
