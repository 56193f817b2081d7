/**
 * The package as its users get it: packed, installed from the tarball into an application of
 * Nest 12 (ESM, current versions) and one of Nest 11 (CommonJS, the lowest that the peer ranges
 * let in), compiled, started, asked over HTTP and tested there.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ROOT } from '../tidy/tree.js';
import { ConsumerApp } from './applications.js';
import { linksToNowhere, textsThatNameNoFile, inspect, unpack } from './tarball.js';
import { packedLibrary } from '../support/builds.mjs';

/** Installing from a cold cache over a slow line takes minutes; a hang takes for ever. */
const SLOW = 600_000;

const CONSUMERS = ['nest-12-esm', 'nest-11-cjs'] as const;

/** The entries that load only where their package is installed. All others always do. */
const NEEDS: Readonly<Record<string, string>> = {
  './typeorm': 'typeorm',
  './swagger': '@nestjs/swagger',
  './class-validator': 'class-validator',
  './class-transformer': 'class-transformer',
  './zod': 'zod',
  './graphql': 'graphql',
  './health': '@nestjs/terminus',
};

/**
 * Of these the Nest 11 application has not the lowest: @nestjs/swagger 11 asks for 11.0.1, better-
 * sqlite3 would have to be compiled, and @prisma/client, which nothing imports, is 75 MB.
 */
const NOT_LOWEST = ['@nestjs/common', '@nestjs/core', '@prisma/client', 'better-sqlite3'];

/** What probes/compile.mjs finds. */
const COMPILED = { errors: '', ofTheLibrary: true };

let folder: string;
let tarball: string;
/** As the package exports them: `.`, `./core` and so on. */
let entries: string[];
let peers: Record<string, string>;
const apps = new Map<string, ConsumerApp>();

interface Declared {
  readonly exports: object;
  readonly peerDependencies: Record<string, string>;
}

const jsonOf = async <T>(path: string): Promise<T> =>
  JSON.parse(await readFile(`${ROOT}/${path}`, 'utf8')) as T;

const importOf = (entry: string): string => `nestjs-snowflake${entry.slice(1)}`;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-package-`));
  tarball = await packedLibrary();
  const { exports, peerDependencies } = await jsonOf<Declared>('package.json');
  entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'));
  peers = peerDependencies;
  const install = async (name: string): Promise<unknown> =>
    apps.set(name, await ConsumerApp.install(name, folder, tarball));
  await Promise.all(CONSUMERS.map(install));
}, SLOW);

afterAll(() => rm(folder, { recursive: true, force: true }), SLOW);

describe('the tarball', () => {
  it('has no fault that publint knows', async () => {
    expect(await inspect(tarball, 'publint', 'run', '--strict')).toContain('All good!');
  });

  it(
    'has types that every module resolution finds (attw)',
    async () => {
      const answer = await inspect(tarball, 'attw', '--no-definitely-typed', '--no-emoji');
      expect(answer).toContain('No problems found');
    },
    SLOW,
  );

  it('has no entry that the applications leave out', async () => {
    const source = await readFile(`${ROOT}/test/package/consumers/shared/src/entries.ts`, 'utf8');
    const isNamed = (entry: string): boolean => source.includes(` from '${importOf(entry)}';`);
    expect(entries.filter((entry) => !isNamed(entry))).toEqual([]);
  });

  it('lets in no lower peer than the Nest 11 application runs, but for a few', async () => {
    const path = 'test/package/consumers/nest-11-cjs/package.json';
    const { dependencies } = await jsonOf<{ dependencies: Record<string, string> }>(path);
    const lowestOf = (name: string): string | undefined => /\d+\.\d+\.\d+/.exec(peers[name]!)?.[0];
    const others = Object.keys(peers).filter((name) => dependencies[name] !== lowestOf(name));
    expect(others).toEqual(NOT_LOWEST);
  });
});

describe('what is in the tarball', () => {
  let files: Map<string, string>;
  beforeAll(async () => {
    files = await unpack(tarball, `${folder}/unpacked`);
  });

  it('has everything that its documents link to', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['README.md', 'README.zh-CN.md', 'docs/reference/options.md']),
    );
    expect(linksToNowhere(files)).toEqual([]);
  });

  it('has the rules and the dashboard for monitoring', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining([
        'docs/operating/monitoring/alert-rules.yaml',
        'docs/operating/monitoring/grafana-dashboard.json',
      ]),
    );
  });

  it('has every file that a message names', () => {
    expect(textsThatNameNoFile(files)).toEqual([]);
  });

  it('names no map of a source that is not there', () => {
    const mapped = [...files].filter(([, text]) => /^\/\/# sourceMappingURL=/m.test(text));
    expect(mapped.map(([path]) => path)).toEqual([]);
  });
});

describe.each(CONSUMERS)('in an application of %s', (name) => {
  const app = (): ConsumerApp => apps.get(name)!;
  afterAll(() => app().close());

  it(
    'types of all entries resolve',
    async () => {
      expect(await app().compile('tsconfig.json')).toEqual(COMPILED);
    },
    SLOW,
  );

  it(
    'the module starts first, injects IdMaker and ends last',
    async () => {
      const said = await app().script('start');
      const id = expect.stringMatching(/^\d{18,19}$/);
      expect(said).toEqual({ id, workerId: 7, inHooks: 2 });
    },
    SLOW,
  );

  it(
    'the installed ioredis leases a worker id',
    async () => {
      const env = { SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${randomUUID()}` };
      expect(await app().script('start', env)).toMatchObject({ workerId: expect.any(Number) });
    },
    SLOW,
  );

  it(
    'every door for ids answers over HTTP',
    async () => {
      const answered = (await app().script('edge')) as string[];
      const doors = new Set(answered.map((check) => `./${check.split(':')[0]}`));
      expect([...doors]).toEqual(
        expect.arrayContaining([...Object.keys(NEEDS), './http', './metrics']),
      );
    },
    SLOW,
  );

  it(
    "the application's own Jest test passes, over HTTP too",
    async () => {
      expect(await app().script('test')).toMatchObject({ numPassedTestSuites: 2, success: true });
    },
    SLOW,
  );

  it(
    'the program answers',
    async () => {
      const said = await app().bin('snowflake', 'decode', '382366441078288384');
      expect(said).toMatch(/time +2026-11-21T03:07:43.578Z\n/);
    },
    SLOW,
  );

  it(
    'import and require() give one instance of every class, of the name it is exported by',
    async () => {
      const expected = { entries: entries.length, different: [], renamed: [] };
      expect(await app().probe('entries', 'forms')).toEqual(expected);
    },
    SLOW,
  );

  it(
    'ids are available in the places that docs/reference/states.md lists',
    async () => {
      const page = await readFile(`${ROOT}/docs/reference/states.md`, 'utf8');
      const [, table = ''] = page.split('## Where IDs are available');
      const rows = table.split('\n## ')[0]!.matchAll(/<a id="([^"]+)">.* \| (.+) \| (.+) \|$/gm);
      const said = Object.fromEntries([...rows].map(([, place, ...calls]) => [place!, calls]));
      expect(await app().probe('places')).toEqual(said);
    },
    SLOW,
  );

  it(
    'with no optional package an entry loads, or its error names the package it needs',
    async () => {
      const outcome = (entry: string): string =>
        NEEDS[entry] === undefined ? 'loads' : `ERR_MODULE_NOT_FOUND ${NEEDS[entry]}`;
      const expected = entries.map((entry) => [importOf(entry), outcome(entry)]);
      await app().withoutOptional(async () => {
        expect(await app().probe('entries', 'missing')).toEqual({
          faults: Object.fromEntries(expected),
          refusals: {
            'redis://localhost': 'CONFIG_INVALID npm install ioredis@5',
            'postgres://localhost/shop': 'CONFIG_INVALID npm install pg',
            'mysql://localhost/shop': 'CONFIG_INVALID npm install mysql2',
          },
        });
        // An application of the root, /core and /http compiles.
        const project = ['tsconfig.without-optional.json', '--noEmit'];
        expect(await app().compile(...project)).toEqual(COMPILED);
      });
    },
    SLOW,
  );
});
