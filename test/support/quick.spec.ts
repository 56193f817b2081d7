/** The inner loop has everything that is asked of it, and what it prints about time is right. */
import { describe, expect, it, test } from '@jest/globals';
import { ROOT, readTree } from '../tidy/tree.js';
import { leftOut } from './quick.mjs';
import { inWords, timeLines } from './time-reporter.mjs';

const SPECS = readTree()
  .map(({ path }) => path)
  .filter((path) => path.endsWith('.spec.ts') && !path.includes('/consumers/'));

describe('npm run test:quick', () => {
  const without = leftOut(ROOT);

  it('runs everything of core and of the lease, and what of nest needs no server', () => {
    expect(without.filter((path) => /^test\/(core|lease)\//.test(path))).toEqual([]);
    expect(without).not.toContain('test/nest/snowflake.module.spec.ts');
    expect(without).toContain('test/nest/lease-from-redis.spec.ts');
  });

  it('leaves out what starts a server, also where another file of the tests does', () => {
    expect(SPECS).toEqual(expect.arrayContaining(without));
    expect(without).toEqual(
      expect.arrayContaining(['test/backends/redis.support.spec.ts', 'test/cli/program.spec.ts']),
    );
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

  it('is told in all and by folder, the longest first', () => {
    const suites = [
      { path: 'test/core/a.spec.ts', ms: 2000 },
      { path: 'test/nest/b.spec.ts', ms: 61_000 },
      { path: 'test/nest/c.spec.ts', ms: 9000 },
      { path: 'test/lease/d.spec.ts', ms: 10 },
    ];
    expect(timeLines(suites, 65_000)).toEqual([
      '[time] This run took 1 min 5 s in all. Files run side by side; one by one they took:',
      '  test/nest  1 min 10 s, of which b.spec.ts 1 min 1 s',
      '  test/core         2 s',
    ]);
  });
});
