/**
 * A Redis URL uses an installed client, in the guide's order. It skips a package `redis` before 5,
 * whose client does not end when the library closes it and keeps the process alive. It also skips
 * GLIDE 1, which has different names for a server's answers.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type * as glide from '@valkey/valkey-glide';
import type * as redis from 'redis';
import { startRedis } from '../../scripts/servers/start-redis.mjs';

const PACKAGES = ['ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide'] as const;
const absent = new Set<string>(PACKAGES);
/** The modules of the packages that are not absent. */
const installed = new Map<string, object>();

for (const name of PACKAGES) {
  installed.set(name, (await import(name)) as object);
  jest.unstable_mockModule(name, () => {
    if (!absent.has(name)) return installed.get(name)!;
    const error = new Error(`Cannot find package '${name}' imported from here`);
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
  });
}

const { inspectorFromUrl } = await import('../../lib/stores/redis/redis-inspector.js');

let server: Awaited<ReturnType<typeof startRedis>>;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function asked(url = server.url): Promise<string> {
  const inspector = inspectorFromUrl(url);
  try {
    const [version] = await inspector.findings();
    return version!.text;
  } finally {
    await inspector.close();
  }
}

it('names all packages if none is installed', async () => {
  const inspector = inspectorFromUrl(server.url);
  const failure = await inspector.read().catch((error: Error) => error);
  for (const name of PACKAGES) expect((failure as Error).message).toContain(name);
  await inspector.close();
});

// A package that was found once stays found.
it.each([...PACKAGES].reverse())('prefers %s to later ones', async (name) => {
  absent.delete(name);
  const url = server.url.replace('redis:', 'valkey:');
  expect(await asked(url)).toMatch(new RegExp(`^Redis [0-9.]+, asked by the package ${name}\\.$`));
});

describe('an outdated package', () => {
  beforeAll(() => {
    // Clears the packages found so far.
    jest.resetModules();
    for (const name of PACKAGES) absent.add(name);
    // The shape of version 4: the same without Sentinels.
    const { createSentinel: _, ...four } = installed.get('redis') as typeof redis;
    // The shape of version 1.
    const { Batch: __, ...one } = installed.get('@valkey/valkey-glide') as typeof glide;
    for (const [name, old] of Object.entries({ redis: four, '@valkey/valkey-glide': one })) {
      installed.set(name, old);
      absent.delete(name);
    }
  });

  it.each([
    ['redis://127.0.0.1:1', 'redis and @valkey/valkey-glide'],
    // This URL does not try any version of GLIDE.
    ['redis+sentinel://127.0.0.1:1/mymaster', 'redis'],
  ])('%s is reported as outdated', async (url, older) => {
    const { supportFromUrl } = await import('../../lib/stores/redis/redis.support.js');
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
});
