/** Every spec is of one kind, and what a run prints about its time is right. */
import { describe, expect, it, test } from '@jest/globals';
import { ROOT, readTree } from '../tidy/tree.js';
import { specsByKind, variablesOf } from './kinds.mjs';
import { LONGEST } from './long-first.mjs';
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
    const ofRooms = SPECS.filter((path) => /^test\/(core|lease)\//.test(path));
    expect(KINDS.quick).toEqual(expect.arrayContaining(ofRooms));
    expect(KINDS.quick).toContain('test/nest/snowflake.module.spec.ts');
    const small = ['cli/command-line', 'metrics/monitoring-docs', 'docs/tables', 'tidy/rules'];
    expect(KINDS.quick).toEqual(
      expect.arrayContaining(small.map((name) => `test/${name}.spec.ts`)),
    );
    expect(KINDS.quick).not.toContain('test/nest/lease-from-redis.spec.ts');
  });

  it('follow from what a spec names, also where another file of the tests does', () => {
    expect(KINDS.stores).toEqual(
      expect.arrayContaining(['test/stores/redis.support.spec.ts', 'test/cli/program.spec.ts']),
    );
    expect(KINDS.browser).toContain('test/dashboard/page.spec.ts');
    expect(KINDS.package).toContain('test/package/package.spec.ts');
    expect(KINDS.thorough).toContain('test/simulation/mutants.spec.ts');
  });

  test.each([
    ['quick', []],
    ['thorough', []],
    ['stores', ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL']],
    ['package', ['REDIS_URL']],
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
