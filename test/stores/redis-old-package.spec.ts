/**
 * A Redis URL passes over a package `redis` before 5: its client is not ended by what ends ours, so
 * that a process with it would not end either.
 */
import { expect, it, jest } from '@jest/globals';

// As version 4 has it: the same, but for Sentinels.
const { createSentinel: _, ...four } = await import('redis');
jest.unstable_mockModule('redis', () => four);
for (const name of ['ioredis', 'iovalkey', '@valkey/valkey-glide']) {
  jest.unstable_mockModule(name, () => {
    const error = new Error(`Cannot find package '${name}' imported from here`);
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
  });
}
const { supportFromUrl } = await import('../../lib/stores/redis/redis.support.js');

it('is said to be none', async () => {
  const support = supportFromUrl('redis://127.0.0.1:1');
  await expect(support.workers()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/redis 5 or later.* None of them is installed/) as unknown,
  });
  await support.close();
});
