/**
 * The tests of the Redis support, repeated with ioredis 6 instead of 5.
 */
import { expect, it, jest } from '@jest/globals';

const six = await import('ioredis-6');
jest.unstable_mockModule('ioredis', () => six);

it('the client under test is ioredis 6', async () => {
  const { Redis } = await import('ioredis');
  expect(Redis).toBe(six.Redis);
  const { version } = (await import('ioredis-6/package.json', { with: { type: 'json' } })).default;
  expect(version).toMatch(/^6\./);
});

for (const spec of ['redis.support', 'redis-inspector', 'redis-client', 'redis-errors']) {
  await import(`./${spec}.spec.js`);
}
