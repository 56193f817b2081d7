/** Every spec has one kind, and the time report of a run is correct. */
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
  it('contain every spec file exactly once', () => {
    expect(Object.values(KINDS).flat().toSorted()).toEqual(SPECS.toSorted());
  });

  it('quick contains all of core and lease, and the parts of nest without a server', () => {
    // These break the library on purpose, or start many applications.
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

  it('follow from the names in a spec, and in the test files that it imports', () => {
    expect(KINDS.stores).toEqual(
      expect.arrayContaining(['test/stores/redis.support.spec.ts', 'test/cli/release.spec.ts']),
    );
    expect(KINDS.e2e).toContain('test/dashboard/page.spec.ts');
    expect(KINDS.e2e).toContain('test/package/package.spec.ts');
    expect(KINDS.proof).toContain('test/simulation/simulation.spec.ts');
  });

  it('are skipped by `npm test` if they are slow, and run by `npm run test:slow`', () => {
    const kindsOf = (...args: string[]) => projectsFor(args).map(({ displayName }) => displayName);
    expect(slowProjects.map(({ displayName }) => displayName)).toEqual(SLOW);
    const plain = ['stores', 'quick', 'thorough'];
    expect(kindsOf('--json', '--outputFile=a.json')).toEqual(plain);
    expect(kindsOf('--maxWorkers', '2')).toEqual(plain);
    expect(kindsOf('-w', '50%')).toEqual(plain);
    expect(kindsOf('--selectProjects', 'e2e')).toEqual(Object.keys(KINDS));
    expect(kindsOf('test/package/api')).toEqual(Object.keys(KINDS));
  });

  it('start the servers of the selected specs', () => {
    const some = specsOf(ROOT, 'stores', ['test/contract/servers', 'redis.support']);
    expect(some).toEqual(['test/contract/servers.spec.ts', 'test/stores/redis.support.spec.ts']);
    const all = ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL'];
    expect(variablesOf(ROOT, some)).toEqual(all);
  });

  test.each([
    ['quick', []],
    ['thorough', []],
    ['stores', ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL']],
    ['proof', ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL']],
  ] as const)('%s starts %j', (kind, variables) => {
    expect(variablesOf(ROOT, KINDS[kind])).toEqual(variables);
  });

  it('have a setup file if they need servers', () => {
    const withSetup = Object.entries(KINDS).filter(([, specs]) => variablesOf(ROOT, specs).length);
    const paths = withSetup.map(([kind]) => `test/support/setup-${kind}.mjs`);
    expect(readTree().map(({ path }) => path)).toEqual(expect.arrayContaining(paths));
  });
});

describe('the order of the spec files', () => {
  it('begins with the longest specs, all of which exist', () => {
    expect(SPECS).toEqual(expect.arrayContaining([...LONGEST]));
  });
});

describe('the duration of a run', () => {
  test.each([
    [400, '0 s'],
    [59_600, '1 min 0 s'],
    [372_000, '6 min 12 s'],
  ])('%d ms is printed as %s', (ms, words) => {
    expect(inWords(ms)).toBe(words);
  });

  it('is reported in total, by kind, and by folder, longest first', () => {
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

/* Shared builds run once for all requests, and again after other sources or a failure. */
describe('shared builds', () => {
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

  describe('a build', () => {
    it('runs once, even for concurrent requests', async () => {
      expect(await Promise.all([ask(name), ask(name)])).toEqual(['1', '1']);
      expect(await ask(name)).toBe('1');
    });

    it('runs again if the sources change', async () => {
      await ask(name);
      writeFileSync(join(ROOT_URL, own, 'source'), 'two');
      expect(await ask(name)).toBe('2');
    });

    it('runs again after a failure', async () => {
      await expect(ask(name, true)).rejects.toThrow('no room');
      expect(await ask(name)).toBe('2');
    });

    it('does not wait for a process that has exited', async () => {
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

/* Jest's modules read built-in names once each, and are otherwise unchanged. */
describe('a transformed module', () => {
  it('reads its built-in names once, on its first line', () => {
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
    ['imports all names as one', "import * as Math from './math.js';\nMath.floor(1);"],
  ])('stays unchanged if it %s', (_where, code) => {
    expect(withBuiltIns(code)).toBe(code);
  });
});

test('every listed built-in name exists in the engine', () => {
  expect(BUILT_IN.filter((name) => !(name in globalThis))).toEqual([]);
});
