/** Every spec is of one kind, and what a run prints about its time is right. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { projectsFor } from '../../jest.config.js';
import { slowProjects } from '../../jest.slow.config.js';
import { readTree, ROOT } from '../tidy/tree.js';
import { BUILT_IN, withBuiltIns } from './transform.mjs';
import { LONGEST, SLOW, specsByKind, specsOf, variablesOf } from './kinds.mjs';
import { madeOnce, ROOT as ROOT_URL } from './made-once.mjs';
import { inWords, timeLines } from './time-reporter.mjs';

const SPECS = readTree()
  .map(({ path }) => path)
  .filter((path) => path.endsWith('.spec.ts') && !path.includes('/consumers/'));

const KINDS = specsByKind(ROOT);

describe('the kinds of tests', () => {
  it('have every spec file between them, each once', () => {
    expect(Object.values(KINDS).flat().toSorted()).toEqual(SPECS.toSorted());
  });

  it('quick has everything of core and of the lease, and what of nest needs no server', () => {
    // These break the library, or start many applications.
    const isLong = (path: string) => /\/(invariants|regions|supports)\.spec/.test(path);
    const ofRooms = SPECS.filter((path) => /^test\/(core|lease)\//.test(path) && !isLong(path));
    expect(KINDS.quick).toEqual(expect.arrayContaining(ofRooms));
    expect(KINDS.quick).toContain('test/nest/snowflake.module.spec.ts');
    const small = ['cli/command-line', 'metrics/monitoring', 'docs/tables', 'tidy/rules'];
    expect(KINDS.quick).toEqual(
      expect.arrayContaining(small.map((name) => `test/${name}.spec.ts`)),
    );
    expect(KINDS.quick).not.toContain('test/nest/with-redis.spec.ts');
  });

  it('follow from what a spec names, also where another file of the tests does', () => {
    expect(KINDS.stores).toEqual(
      expect.arrayContaining(['test/stores/redis.support.spec.ts', 'test/cli/release.spec.ts']),
    );
    expect(KINDS.e2e).toContain('test/dashboard/page.spec.ts');
    expect(KINDS.e2e).toContain('test/package/package.spec.ts');
    expect(KINDS.proof).toContain('test/simulation/simulation.spec.ts');
  });

  it('are left out by `npm test` where they are slow, and run by `npm run test:slow`', () => {
    const kindsOf = (...args: string[]) => projectsFor(args).map(({ displayName }) => displayName);
    expect(slowProjects.map(({ displayName }) => displayName)).toEqual(SLOW);
    const plain = ['stores', 'quick', 'thorough'];
    expect(kindsOf('--json', '--outputFile=a.json')).toEqual(plain);
    expect(kindsOf('--maxWorkers', '2')).toEqual(plain);
    expect(kindsOf('-w', '50%')).toEqual(plain);
    expect(kindsOf('--selectProjects', 'e2e')).toEqual(Object.keys(KINDS));
    expect(kindsOf('test/package/api')).toEqual(Object.keys(KINDS));
  });

  it('start the servers of the specs that are asked for', () => {
    const some = specsOf(ROOT, 'stores', ['test/contract/servers', 'redis.support']);
    expect(some).toEqual(['test/contract/servers.spec.ts', 'test/stores/redis.support.spec.ts']);
    const all = ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL'];
    expect(variablesOf(ROOT, some)).toEqual(all);
  });

  test.each([
    ['quick', []],
    ['thorough', []],
    ['stores', ['REDIS_URL', 'VALKEY_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL']],
    ['proof', ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL']],
  ] as const)('%s starts %j', (kind, variables) => {
    expect(variablesOf(ROOT, KINDS[kind])).toEqual(variables);
  });

  it('that start a server have a setup', () => {
    const withSetup = Object.entries(KINDS).filter(([, specs]) => variablesOf(ROOT, specs).length);
    const paths = withSetup.map(([kind]) => `test/support/setup-${kind}.mjs`);
    expect(readTree().map(({ path }) => path)).toEqual(expect.arrayContaining(paths));
  });
});

describe('the order of the spec files', () => {
  it('begins with the longest, which are there', () => {
    expect(SPECS).toEqual(expect.arrayContaining([...LONGEST]));
  });
});

describe('the time of a run', () => {
  test.each([
    [400, '0 s'],
    [59_600, '1 min 0 s'],
    [372_000, '6 min 12 s'],
  ])('%d ms are %s', (ms, words) => {
    expect(inWords(ms)).toBe(words);
  });

  it('is told in all, by kind and by folder, the longest first', () => {
    const suites = [
      { path: 'test/core/a.spec.ts', kind: 'quick', ms: 2000 },
      { path: 'test/nest/b.spec.ts', kind: 'stores', ms: 61_000 },
      { path: 'test/nest/c.spec.ts', kind: 'stores', ms: 9000 },
      { path: 'test/lease/d.spec.ts', kind: 'quick', ms: 10 },
    ];
    expect(timeLines(suites, 65_000)).toEqual([
      '[time] This run took 1 min 5 s in all. Files run side by side; one by one they took:',
      '  stores  1 min 10 s, of which b.spec.ts 1 min 1 s',
      '  quick          2 s, of which a.spec.ts 2 s',
      'By folder:',
      '  test/nest  1 min 10 s, of which b.spec.ts 1 min 1 s',
      '  test/core         2 s',
    ]);
  });
});

/* What is made once is made once, whoever asks, and again for other sources or after a failure. */
describe('made once', () => {
  const own = join('.data', `sources-${randomUUID()}`);
  const folders: string[] = [];
  let made = 0;

  async function ask(name: string, fails = false): Promise<string> {
    const folder = await madeOnce(name, [own], async (part) => {
      made++;
      await Promise.resolve();
      if (fails) throw new Error('no room');
      writeFileSync(join(part, 'count'), String(made));
    });
    folders.push(folder);
    return readFileSync(join(folder, 'count'), 'utf8');
  }

  let name: string;
  beforeEach(() => {
    made = 0;
    name = `test-${randomUUID()}`;
    mkdirSync(join(ROOT_URL, own), { recursive: true });
    writeFileSync(join(ROOT_URL, own, 'source'), 'one');
  });

  afterAll(() => {
    for (const folder of [join(ROOT_URL, own), ...folders]) {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  describe('what is made of sources', () => {
    it('is made once, also where two ask at a time', async () => {
      expect(await Promise.all([ask(name), ask(name)])).toEqual(['1', '1']);
      expect(await ask(name)).toBe('1');
    });

    it('is made again of other sources', async () => {
      await ask(name);
      writeFileSync(join(ROOT_URL, own, 'source'), 'two');
      expect(await ask(name)).toBe('2');
    });

    it('is made again after a failure', async () => {
      await expect(ask(name, true)).rejects.toThrow('no room');
      expect(await ask(name)).toBe('2');
    });

    it('does not wait for a process that has ended', async () => {
      const { pid } = spawnSync(process.execPath, ['-e', '']);
      await ask(name);
      const folder = folders.at(-1)!;
      rmSync(folder, { recursive: true });
      writeFileSync(`${folder}.lock`, String(pid));
      expect(await ask(name)).toBe('2');
      expect(existsSync(`${folder}.lock`)).toBe(false);
    });
  });
});

/* What Jest runs reads built-in names once for each module, and nothing else is changed. */
describe('a module', () => {
  it('reads the built-in names that it uses at its head, in its first line', () => {
    const code = 'export const a = new Map();\nMath.floor(a.size);';
    expect(withBuiltIns(code)).toBe(`const {Map,Math}=globalThis;${code}`);
  });

  test.each([
    ['uses none', 'export const a = 1;'],
    ['has properties of these names', 'a.Map = { b: c.Promise };'],
    ['uses longer names', 'MapStore(WeakMapped, $Map);'],
    ['uses what a test may replace', 'Date.now(); setTimeout(fetch, process.pid);'],
    ['declares them', 'class Map {}\nfunction Set() {}\nconst Math = new Map(Set);'],
    ['imports them', "import {\n  Map,\n  b as Set } from './a.js';\nnew Map(new Set());"],
    ['imports all as one', "import * as Math from './math.js';\nMath.floor(1);"],
  ])('stays as it is where it %s', (_where, code) => {
    expect(withBuiltIns(code)).toBe(code);
  });
});

test('every name is one that the engine has', () => {
  expect(BUILT_IN.filter((name) => !(name in globalThis))).toEqual([]);
});
