/**
 * Redis passes the contract with the support that applications use. One suite sets time and
 * server, and another uses the server's own clock for the cases that allow it.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisSupport } from '../../lib/stores/redis/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { redisStore } from './settable-stores.js';

const opened: RedisSupport[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((support) => support.close()));
});

describe('RedisSupport with a test clock', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  describeDistributedSupport({ test: it, expect, ...redisStore(() => redis, opened) });
});

describe('RedisSupport', () => {
  const prefix = `${randomUUID()}:`;

  describeDistributedSupport({
    test: it,
    expect,
    createSupport(namespace) {
      const support = new RedisSupport({ redis: process.env['REDIS_URL']!, namespace, prefix });
      opened.push(support);
      return support;
    },
    leaveOut: ['clock', 'losses', 'version'],
  });
});
