/**
 * How much memory a registry takes on a real Redis, as the documents say.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { settleRegistry } from './settled-registry.js';

const HOLDER_COUNT = 1024;
const LEASE = {
  fingerprint: 't41-w10-s12/1ms@1704067200000',
  ttlMs: 60_000,
  minRangeMs: 1002,
  quarantineMs: 0,
  workerIdMin: 0,
  workerIdMax: HOLDER_COUNT - 1,
  haveMs: 0,
};

let redis: Redis;
beforeAll(() => {
  redis = new Redis(process.env['REDIS_URL']!);
});
afterAll(() => redis.quit());

it('takes about 0.4 MB for 1024 holders, 350 bytes each', async () => {
  const support = redisSupport({ redis, namespace: randomUUID() });
  await settleRegistry(redis, support.key);
  for (let pid = 0; pid < HOLDER_COUNT; pid++) {
    const holder = { host: `shop-7d9c6b5f4-${pid}`, pid, application: 'shop' };
    const [token, nonce] = [randomUUID(), randomUUID()];
    await support.getNextWorkId({ ...LEASE, token, nonce, holder });
  }
  const byteCount = Number(await redis.call('MEMORY', 'USAGE', support.key, 'SAMPLES', '0'));
  expect((byteCount / 1e6).toFixed(1)).toBe('0.4');
  expect(Math.abs(byteCount / HOLDER_COUNT - 350)).toBeLessThan(50);
  await redis.del(support.key);
  await support.close();
});
