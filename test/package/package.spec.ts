/**
 * The package as users get it: packed, and installed from the tarball into an application of Nest
 * 12 (ESM, current versions) and of Nest 11 (CommonJS, lowest versions of the peer ranges). The
 * tests compile, start and test it there and send HTTP requests.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ROOT } from '../tidy/tree.js';
import { ConsumerApp } from './applications.js';
import { linksToNowhere, textsThatNameNoFile, inspect, unpack } from './tarball.js';
import { packedLibrary } from '../support/builds.mjs';

/** A cold cache and a slow connection take minutes. A hang never ends. */
const SLOW = 600_000;

const CONSUMERS = ['nest-12-esm', 'nest-11-cjs'] as const;

/** The entries that load only if their package is installed. All others always load. */
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
 * The Nest 11 application does not have the lowest versions of these: @nestjs/swagger 11 requires
 * 11.0.1, better-sqlite3 would need compilation, and @prisma/client, which is unused, is 75 MB.
 */
const NOT_LOWEST = ['@nestjs/common', '@nestjs/core', '@prisma/client', 'better-sqlite3'];

/** The result of probes/compile.mjs without errors. */
const COMPILED = { errors: '', ofTheLibrary: true };

let folder: string;
let tarball: string;
/** The entries as the package exports them: `.`, `./core` and so on. */
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
  it('has no fault that publint finds', async () => {
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

  it('has no entry that the applications do not use', async () => {
    const source = await readFile(`${ROOT}/test/package/consumers/shared/src/entries.ts`, 'utf8');
    const isNamed = (entry: string): boolean => source.includes(` from '${importOf(entry)}';`);
    expect(entries.filter((entry) => !isNamed(entry))).toEqual([]);
  });

  it('allows no peer lower than the Nest 11 application has, with a few exceptions', async () => {
    const path = 'test/package/consumers/nest-11-cjs/package.json';
    const { dependencies } = await jsonOf<{ dependencies: Record<string, string> }>(path);
    const lowestOf = (name: string): string | undefined => /\d+\.\d+\.\d+/.exec(peers[name]!)?.[0];
    const others = Object.keys(peers).filter((name) => dependencies[name] !== lowestOf(name));
    expect(others).toEqual(NOT_LOWEST);
  });
});

describe('the contents of the tarball', () => {
  let files: Map<string, string>;
  beforeAll(async () => {
    files = await unpack(tarball, `${folder}/unpacked`);
  });

  it('include every file that the documents link to', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['README.md', 'README.zh-CN.md', 'docs/reference/options.md']),
    );
    expect(linksToNowhere(files)).toEqual([]);
  });

  it('include the rules and the dashboard for monitoring', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining([
        'docs/operating/monitoring/alert-rules.yaml',
        'docs/operating/monitoring/grafana-dashboard.json',
      ]),
    );
  });

  it('include every file that a message names', () => {
    expect(textsThatNameNoFile(files)).toEqual([]);
  });

  it('refer to no missing source map', () => {
    const mapped = [...files].filter(([, text]) => /^\/\/# sourceMappingURL=/m.test(text));
    expect(mapped.map(([path]) => path)).toEqual([]);
  });
});

describe.each(CONSUMERS)('an application of %s', (name) => {
  const app = (): ConsumerApp => apps.get(name)!;
  afterAll(() => app().close());

  it(
    'resolves the types of all entries',
    async () => {
      expect(await app().compile('tsconfig.json')).toEqual(COMPILED);
    },
    SLOW,
  );

  it(
    'starts the module first, injects IdMaker and ends the module last',
    async () => {
      const said = await app().script('start');
      const id = expect.stringMatching(/^\d{18,19}$/);
      expect(said).toEqual({ id, workerId: 7, inHooks: 2 });
    },
    SLOW,
  );

  it(
    'leases a worker ID with the installed ioredis',
    async () => {
      const env = { SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${randomUUID()}` };
      expect(await app().script('start', env)).toMatchObject({ workerId: expect.any(Number) });
    },
    SLOW,
  );

  it(
    'serves IDs over HTTP through every entry',
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
    'passes its own Jest tests, including those over HTTP',
    async () => {
      expect(await app().script('test')).toMatchObject({ numPassedTestSuites: 2, success: true });
    },
    SLOW,
  );

  it(
    'runs the command of the package',
    async () => {
      const said = await app().bin('snowflake', 'decode', '382366441078288384');
      expect(said).toMatch(/time +2026-11-21T03:07:43.578Z\n/);
    },
    SLOW,
  );

  it(
    'gets one instance and name of every class from import and require()',
    async () => {
      const expected = { entries: entries.length, different: [], renamed: [] };
      expect(await app().probe('entries', 'forms')).toEqual(expected);
    },
    SLOW,
  );

  it(
    'has IDs in exactly the places that docs/reference/states.md lists',
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
    'loads each entry without optional packages, or names the missing one',
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
        // The part of the application that uses only the root, /core and /http still compiles.
        const project = ['tsconfig.without-optional.json', '--noEmit'];
        expect(await app().compile(...project)).toEqual(COMPILED);
      });
    },
    SLOW,
  );
});
