/**
 * A Redis URL uses whichever client is installed, in the order that the guide gives.
 */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { startRedis } from '../../scripts/servers/start-redis.mjs';

const PACKAGES = ['ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide'] as const;
const absent = new Set<string>(PACKAGES);

for (const name of PACKAGES) {
  const real = await import(name);
  jest.unstable_mockModule(name, () => {
    if (!absent.has(name)) return real;
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

it('names them all where none is installed', async () => {
  const inspector = inspectorFromUrl(server.url);
  const failure = await inspector.read().catch((error: Error) => error);
  for (const name of PACKAGES) expect((failure as Error).message).toContain(name);
  await inspector.close();
});

// One that was found once is found for good.
it.each([...PACKAGES].reverse())('uses %s before those that come later', async (name) => {
  absent.delete(name);
  const url = server.url.replace('redis:', 'valkey:');
  expect(await asked(url)).toMatch(new RegExp(`^Redis [0-9.]+, asked by the package ${name}\\.$`));
});
