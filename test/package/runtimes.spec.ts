/**
 * The package on runtimes other than Node, as docs/start.md documents it. Runs the unchanged
 * TypeScript of consumers/runtimes with a real Redis.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it, afterAll } from '@jest/globals';
import type { GlideClient } from '@valkey/valkey-glide';
import type * as ioredis from 'ioredis';
import type * as redis from 'redis';
import { installPackages } from '../../scripts/install-packages.mjs';
import { NODES, SAID, WORKERD } from '../../scripts/runtimes.mjs';
import { packedLibrary } from '../support/builds.mjs';
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

describe.each(RUNTIMES)('the package on %s', (name, program, args) => {
  const binary = `${FOLDER}/node_modules/.bin/${program}`;
  const support = () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const runOn = async (file: string, url = support()): Promise<unknown> => {
    const env = { SNOWFLAKE_SUPPORT: url };
    return lastLine(await runWith(env, FOLDER, binary, ...args, `src/${file}`));
  };

  it('generates IDs', async () => {
    expect(await runOn('core.ts')).toEqual(SAID.core);
  });

  it('leases worker IDs from Redis, renews and releases them', async () => {
    expect(await runOn('lease.ts')).toEqual(SAID.lease);
  });

  it('lets threads share a lease, or lease their own worker ID', async () => {
    expect(await runOn('threads.ts')).toEqual(SAID.threads);
  });

  it('serves IDs in a Nest application, and releases its worker ID on SIGTERM', async () => {
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
      expect(said).toMatch(/\{"isNew":true,"isWorker":true\}\n$/);
      expect(await workers(url)).toMatch(/\b1 held\b/);
    } finally {
      // npm's program starts the runtime as a child process.
      if (!hasEnded) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
    expect(await workers(url)).toMatch(/\b0 held\b/);
  });

  /** Runs the command of the package on this runtime. */
  const workers = (url: string): Promise<string> => {
    const main = 'node_modules/nestjs-snowflake/dist/esm/cli/main.js';
    return run(FOLDER, binary, ...args, main, 'workers', '--support', url);
  };

  it('has the version that the guide names', async () => {
    const manifest = JSON.parse(await readFile(`${FOLDER}/package.json`, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const guide = await readFile(`${ROOT}/docs/start.md`, 'utf8');
    expect(rowsOf(guide, 'Runtime').get(name)?.[0]).toBe(manifest.dependencies[program]);
  });
});

// `npm run runtimes` tests these in CI.

it('the guide names the runtimes and versions that CI tests', async () => {
  const guide = await readFile(`${ROOT}/docs/start.md`, 'utf8');
  const workflow = await readFile(`${ROOT}/.github/workflows/ci.yml`, 'utf8');
  expect(rowsOf(guide, 'Runtime').get('workerd')?.[0]).toBe(WORKERD);
  expect(workflow).toContain('npm run runtimes');
  const majors = NODES.map((version) => version.replace(/(?<!^20)\..*|\.0$/, ''));
  expect(workflow).toContain(`node: ['${majors.join("', '")}']`);
});

// The oldest client versions in the guide fulfill the contracts. An older client is refused before
// it sends a command.

/** A node of Maelstrom's unique-ids workload, with Maelstrom's own protocol. */
class MaelstromNode {
  readonly ids: string[] = [];
  readonly errors: unknown[] = [];
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly awaited = new Map<number, (body: Answer) => void>();

  constructor(
    private readonly id: string,
    support: string,
  ) {
    const env = { ...process.env, SNOWFLAKE_SUPPORT: support };
    this.child = spawn(process.execPath, ['maelstrom.mjs'], { cwd: FOLDER, env });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const { src, dest, body } = JSON.parse(line) as Record<string, unknown> & { body: Answer };
      if (src !== this.id || dest !== 'c1') this.errors.push(line);
      this.awaited.get(body.in_reply_to)?.(body);
    });
    this.child.stderr.resume();
    // A killed node closes its input.
    this.child.stdin.on('error', () => undefined);
  }

  ask(type: string, more: object = {}): Promise<Answer> {
    const body = { type, msg_id: this.awaited.size + 1, ...more };
    this.child.stdin.write(`${JSON.stringify({ src: 'c1', dest: this.id, body })}\n`);
    return new Promise((resolve) => this.awaited.set(body.msg_id, resolve));
  }

  async generate(count: number): Promise<void> {
    const answers = Array.from({ length: count }, () => this.ask('generate'));
    for (const answer of answers) {
      const { type, id } = await answer;
      if (type === 'generate_ok') this.ids.push(id!);
    }
  }

  async ended(how: () => unknown): Promise<unknown> {
    const exited = once(this.child, 'exit');
    how();
    return (await exited)[0];
  }

  readonly kill = () => this.ended(() => this.child.kill('SIGKILL'));
  readonly end = () => this.ended(() => this.child.stdin.end());
}

interface Answer {
  readonly type: string;
  readonly in_reply_to: number;
  readonly id?: string;
  readonly code?: number;
}

describe("the nodes of Maelstrom's workload unique-ids", () => {
  beforeAll(() => copyFile(`${ROOT}/scripts/maelstrom.mjs`, `${FOLDER}/maelstrom.mjs`));
  afterAll(() => rm(`${FOLDER}/maelstrom.mjs`));

  const NODES = ['n1', 'n2', 'n3'];
  const nodes = (support: string) => NODES.map((id) => new MaelstromNode(id, support));
  const init = (node: MaelstromNode) => node.ask('init', { node_id: 'n1', node_ids: NODES });

  it.each([
    ['a folder', () => pathToFileURL(`${FOLDER}/node_modules/.cache/${randomUUID()}`).href],
    ['Redis', () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`],
  ])('generate no duplicates over %s, even if one node is killed', async (_, supportOf) => {
    const support = supportOf();
    const [first, ...others] = nodes(support);
    const killed = first!;
    expect(await Promise.all([killed, ...others].map(init))).toMatchObject(
      NODES.map(() => ({ type: 'init_ok' })),
    );
    await Promise.all([killed, ...others].map((node) => node.generate(1000)));
    // The killed node may leave some of these requests without a response.
    void killed.generate(1000);
    await killed.kill();
    const again = new MaelstromNode('n1', support);
    await init(again);
    const all = [killed, again, ...others];
    await Promise.all([again, ...others].map((node) => node.generate(1000)));
    const ids = all.flatMap((node) => node.ids);
    expect(ids.length).toBeGreaterThanOrEqual(6000);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await again.ask('echo')).toMatchObject({ type: 'error', code: 10 });
    for (const node of [again, ...others]) expect(await node.end()).toBe(0);
    expect(all.flatMap(({ errors }) => errors)).toEqual([]);
  });

  it('generate detectable duplicates if all share one worker ID', async () => {
    const all = nodes('static:7');
    await Promise.all(all.map(init));
    await Promise.all(all.map((node) => node.generate(20_000)));
    const ids = all.flatMap((node) => node.ids);
    expect(ids.length).toBe(60_000);
    expect(new Set(ids).size).toBeLessThan(ids.length);
    await Promise.all(all.map((node) => node.kill()));
  });
});

const OLDEST = {
  ioredis: 'ioredis@5.4.0',
  'node-redis': 'redis@5.0.0',
  // Version 0.3.0 does not exist.
  iovalkey: 'iovalkey@0.3.1',
  glide: '@valkey/valkey-glide@2.0.1',
  'glide-1': '@valkey/valkey-glide@1.3.4',
} as const;

const folder = await madeOnce('oldest-clients', ['test/package/runtimes.spec.ts'], async (made) => {
  const named = Object.entries(OLDEST).map(([name, version]) => [name, `npm:${version}`]);
  // Without a manifest, npm would install the packages into the repository.
  const manifest = { private: true, dependencies: Object.fromEntries(named) as object };
  await writeFile(`${made}/package.json`, JSON.stringify(manifest));
  await run(made, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund');
});
const load = createRequire(`${folder}/package.json`);

it.each(Object.entries(OLDEST))('the installed version of %s is %s', async (name, version) => {
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

describe.each(CLIENTS)('the oldest supported client, %s', (_name, client) => {
  describeContractsBy(client);
});

it('GLIDE 1 clients are refused', async () => {
  const redis = await ofGlide('glide-1');
  expect(() => redisSupport({ redis })).toThrow(
    /^The given Redis client cannot be used: .* GLIDE 1, of which 2 or later is needed/,
  );
});
