/**
 * A Redis URL passes over a package `redis` before 5, whose client is not ended by what ends ours,
 * so that a process with it would not end either, and over GLIDE 1, which has other words for what
 * a server answered.
 */
import { expect, it, jest } from '@jest/globals';

// As version 4 has it: the same, but for Sentinels.
const { createSentinel: _, ...four } = await import('redis');
jest.unstable_mockModule('redis', () => four);
// As version 1 has it.
const { Batch: __, ...one } = await import('@valkey/valkey-glide');
jest.unstable_mockModule('@valkey/valkey-glide', () => one);
for (const name of ['ioredis', 'iovalkey']) {
  jest.unstable_mockModule(name, () => {
    const error = new Error(`Cannot find package '${name}' imported from here`);
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
  });
}
const { supportFromUrl } = await import('../../lib/stores/redis/redis.support.js');

it.each([
  ['redis://127.0.0.1:1', 'redis and @valkey/valkey-glide'],
  // GLIDE is not looked for there, whichever it is.
  ['redis+sentinel://127.0.0.1:1/mymaster', 'redis'],
])('is said of %s to be older', async (url, older) => {
  const support = supportFromUrl(url);
  await expect(support.workers()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    retryable: false,
    message: expect.stringMatching(
      new RegExp(
        'redis 5 or later.* @valkey/valkey-glide 2. None of them is installed, ' +
          `but an older version of ${older}. Run: npm install`,
      ),
    ) as unknown,
  });
  await support.close();
});
