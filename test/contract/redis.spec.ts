/**
 * Redis keeps the contract: the support as applications use it, once with the time and the server
 * in the hands of the test, once by Redis' own clock, where that is enough. What is kept in Redis
 * is kept in Valkey as well, by every client.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { GlideClient } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import { Redis as RedisOfSix } from 'ioredis-6';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { createClient as createClientOfFive } from 'redis-5';
import { type GivenClient, RedisSupport } from '../../lib/stores/redis/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { inspectorFromUrl } from '../../lib/stores/redis/redis-inspector.js';
import { describeContractsBy } from './contracts-by-client.js';
import { redisStore } from './settable-stores.js';

const opened: RedisSupport[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((support) => support.close()));
});

describe('RedisSupport, told the time by the test', () => {
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

/*
 * Valkey, by every client.
 */

const { hostname: host, port } = new URL(process.env['VALKEY_URL']!);
const address = { host, port: Number(port) };
const iovalkey = new Valkey(address);
const [ioredis5, ioredis6] = [new Redis(address), new RedisOfSix(address)];
const glide = await GlideClient.createClient({ addresses: [address] });
afterAll(() => {
  for (const client of [iovalkey, ioredis5, ioredis6]) client.disconnect();
  glide.close();
});

it('Valkey is known as such, and the doctor says which', async () => {
  const [, version] = /^valkey_version:(\S+)/m.exec(await iovalkey.info('server'))!;
  const inspector = inspectorFromUrl(process.env['VALKEY_URL']!);
  const [found] = await inspector.findings();
  await inspector.close();
  expect(found).toMatchObject({
    level: 'ok',
    text: `Valkey ${version}, asked by the package ioredis.`,
  });
});

const CLIENTS: readonly (readonly [string, GivenClient])[] = [
  ['ioredis 5', ioredis5],
  ['ioredis 6', ioredis6],
  ['iovalkey', iovalkey],
  ['Valkey GLIDE', glide],
  ['node-redis 6', createClient({ socket: address })],
  ['node-redis 5', createClientOfFive({ socket: address }) as unknown as GivenClient],
];
describe.each(CLIENTS)('Valkey by %s', (_name, redis) => {
  describeContractsBy(redis);
});
