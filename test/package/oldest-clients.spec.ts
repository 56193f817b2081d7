/**
 * The oldest version that the guide names of each client keeps the contracts, and one that is older
 * is refused before anything is sent.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { GlideClient } from '@valkey/valkey-glide';
import type * as ioredis from 'ioredis';
import type * as redis from 'redis';
import { type GivenClient, redisSupport } from '../../lib/stores/redis/index.js';
import { describeContractsBy } from '../contract/contracts-by-client.js';
import { madeOnce } from '../support/made-once.mjs';
import { run } from './command.js';

const OLDEST = {
  ioredis: 'ioredis@5.4.0',
  'node-redis': 'redis@5.0.0',
  // There is no 0.3.0.
  iovalkey: 'iovalkey@0.3.1',
  glide: '@valkey/valkey-glide@2.0.1',
  'glide-1': '@valkey/valkey-glide@1.3.4',
} as const;

const folder = await madeOnce(
  'oldest-clients',
  ['test/package/oldest-clients.spec.ts'],
  async (made) => {
    const named = Object.entries(OLDEST).map(([name, version]) => [name, `npm:${version}`]);
    // Without one npm would install them into the repository.
    const manifest = { private: true, dependencies: Object.fromEntries(named) as object };
    await writeFile(`${made}/package.json`, JSON.stringify(manifest));
    await run(made, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund');
  },
);
const load = createRequire(`${folder}/package.json`);

it.each(Object.entries(OLDEST))('has %s in the version %s', async (name, version) => {
  const manifest = await readFile(`${folder}/node_modules/${name}/package.json`, 'utf8');
  expect(version).toMatch(new RegExp(`@${(JSON.parse(manifest) as { version: string }).version}$`));
});

const { hostname: host, port: text } = new URL(process.env['REDIS_URL']!);
const port = Number(text);
const closing: (() => unknown)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

function ofIoredis(name: 'ioredis' | 'iovalkey'): GivenClient {
  const { Redis } = load(name) as typeof ioredis;
  const client = new Redis({ host, port });
  closing.push(() => client.disconnect());
  return client;
}

async function ofGlide(name: 'glide' | 'glide-1'): Promise<GivenClient> {
  const { GlideClient: made } = load(name) as { GlideClient: typeof GlideClient };
  const client = await made.createClient({ addresses: [{ host, port }] });
  closing.push(() => client.close());
  return client;
}

const CLIENTS: readonly (readonly [string, GivenClient])[] = [
  [OLDEST.ioredis, ofIoredis('ioredis')],
  [
    OLDEST['node-redis'],
    (load('node-redis') as typeof redis).createClient({ socket: { host, port } }),
  ],
  [OLDEST.iovalkey, ofIoredis('iovalkey')],
  [OLDEST.glide, await ofGlide('glide')],
];

describe.each(CLIENTS)('by %s', (_name, client) => {
  describeContractsBy(client);
});

it('takes no client of GLIDE 1', async () => {
  const redis = await ofGlide('glide-1');
  expect(() => redisSupport({ redis })).toThrow(
    /^The given Redis client cannot be used: .* GLIDE 1, of which 2 or later is needed/,
  );
});
