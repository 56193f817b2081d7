/**
 * The package on other runtimes than Node: what docs/guides/runtimes.md says was run there is run,
 * the TypeScript of consumers/runtimes as its author wrote it, against a real Redis.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it, afterAll } from '@jest/globals';
import type { GlideClient } from '@valkey/valkey-glide';
import type * as ioredis from 'ioredis';
import type * as redis from 'redis';
import { installPackages } from '../../scripts/install-packages.mjs';
import { NODES, SAID, WORKERD } from '../../scripts/runtimes.mjs';
import { packedLibrary } from '../support/packed-library.mjs';
import { ROOT } from '../tidy/tree.js';
import { rowsOf } from '../docs/sections.js';
import { until } from '../until.js';
import { lastLine, run, runWith } from './command.js';
import { type GivenClient, redisSupport } from '../../lib/stores/redis/index.js';
import { describeContractsBy } from '../contract/contracts-by-client.js';
import { madeOnce } from '../support/made-once.mjs';

const FOLDER = `${ROOT}/test/package/consumers/runtimes`;

const RUNTIMES = [
  ['Bun', 'bun', ['run']],
  ['Deno', 'deno', ['run', '--allow-all']],
] as const;

beforeAll(async () => {
  installPackages(pathToFileURL(`${FOLDER}/`));
  const library = `${FOLDER}/node_modules/nestjs-snowflake`;
  await rm(library, { recursive: true, force: true });
  await mkdir(library);
  await run(library, 'tar', 'xzf', await packedLibrary(), '--strip-components=1');
});

describe.each(RUNTIMES)('on %s', (name, program, args) => {
  const binary = `${FOLDER}/node_modules/.bin/${program}`;
  const support = () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const runOn = async (file: string, url = support()): Promise<unknown> => {
    const env = { SNOWFLAKE_SUPPORT: url };
    return lastLine(await runWith(env, FOLDER, binary, ...args, `src/${file}`));
  };

  it('the generator makes ids', async () => {
    expect(await runOn('core.ts')).toEqual(SAID.core);
  });

  it('worker ids are leased from Redis, renewed and given back', async () => {
    expect(await runOn('lease.ts')).toEqual(SAID.lease);
  });

  it('threads share a lease, or have one of their own', async () => {
    expect(await runOn('threads.ts')).toEqual(SAID.threads);
  });

  it('a Nest application answers ids, and gives its worker id back at SIGTERM', async () => {
    const url = support();
    const env = { ...process.env, SNOWFLAKE_SUPPORT: url };
    const child = spawn(binary, [...args, 'src/app.ts'], { cwd: FOLDER, env, detached: true });
    let [said, hasEnded] = ['', false];
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    const ended = once(child, 'close').finally(() => (hasEnded = true));
    try {
      await until(() => hasEnded || said.includes('{"isNew"'));
      expect(said).toMatch(/\{"isNew":true,"workerId":0\}\n$/);
      expect(await workers(url)).toMatch(/\b1 held\b/);
    } finally {
      // Below npm's program lies that of the runtime.
      if (!hasEnded) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
    expect(await workers(url)).toMatch(/\b0 held\b/);
  });

  /** The program of the package, on this runtime too. */
  const workers = (url: string): Promise<string> => {
    const main = 'node_modules/nestjs-snowflake/dist/esm/cli/main.js';
    return run(FOLDER, binary, ...args, main, 'workers', '--support', url);
  };

  it('the guide names the version', async () => {
    const manifest = JSON.parse(await readFile(`${FOLDER}/package.json`, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const guide = await readFile(`${ROOT}/docs/guides/runtimes.md`, 'utf8');
    expect(rowsOf(guide, 'runtime').get(name)?.[0]).toBe(manifest.dependencies[program]);
  });
});

// `npm run runtimes` tries these, in CI.

it('are in the guide, in the versions that are tried', async () => {
  const guide = await readFile(`${ROOT}/docs/guides/runtimes.md`, 'utf8');
  const workflow = await readFile(`${ROOT}/.github/workflows/ci.yml`, 'utf8');
  expect(rowsOf(guide, 'runtime').get('workerd')?.[0]).toBe(WORKERD);
  expect(workflow).toContain('npm run runtimes');
  const majors = NODES.map((version) => version.replace(/(?<!^20)\..*|\.0$/, ''));
  expect(workflow).toContain(`node: ['${majors.join("', '")}']`);
});

// The oldest version that the guide names of each client keeps the contracts, and one that is older
// is refused before anything is sent.

const OLDEST = {
  ioredis: 'ioredis@5.4.0',
  'node-redis': 'redis@5.0.0',
  // There is no 0.3.0.
  iovalkey: 'iovalkey@0.3.1',
  glide: '@valkey/valkey-glide@2.0.1',
  'glide-1': '@valkey/valkey-glide@1.3.4',
} as const;

const folder = await madeOnce('oldest-clients', ['test/package/runtimes.spec.ts'], async (made) => {
  const named = Object.entries(OLDEST).map(([name, version]) => [name, `npm:${version}`]);
  // Without one npm would install them into the repository.
  const manifest = { private: true, dependencies: Object.fromEntries(named) as object };
  await writeFile(`${made}/package.json`, JSON.stringify(manifest));
  await run(made, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund');
});
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
