/**
 * What README and docs/internals/performance.md take from the tables of bench/RESULTS.md is as it
 * is there. The figures of all documents are in figures.spec.ts.
 */
import { describe, expect, it } from '@jest/globals';
import { readTree } from '../tidy/tree.js';
import {
  ALONE,
  APART,
  MANY,
  nsOf,
  ONE_ID,
  ONE_TEXT,
  sectionOf,
  tableUnder,
  WAITING,
} from './figures/figure.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const PERFORMANCE = textOf('docs/internals/performance.md');

const idOf = (name: string) => nsOf(ONE_ID, name);
const textIdOf = (name: string) => nsOf(ONE_TEXT, name);
const alone = (what: string) => nsOf(ALONE, what);
const parsing = (how: string) => nsOf(APART, how);
const OURS = '**nestjs-snowflake**';

describe('README.md', () => {
  const README = textOf('README.md');

  it('shows rows of the results as they are', () => {
    const measured = tableUnder(ONE_ID);
    const [, ...rows] = tableUnder('Fast', README);
    expect(rows.length).toBeGreaterThan(4);
    for (const [library, ns, ratio, faults] of rows) {
      const row = measured.find(([name]) => name === library)!;
      expect([row[2], row[4]!.split(' ←')[0], row[6]]).toEqual([ns, ratio, faults]);
    }
  });

  it.each(['nextIds(1000)', 'nextIdStrings(1000)', 'fill(1,000,000)'])('tells %s', (call) => {
    const row = tableUnder(MANY).find(([how]) => how!.includes(call));
    expect(sectionOf(README, 'Fast')).toContain(row![2]);
  });
});

describe('docs/internals/performance.md', () => {
  it.each([
    ['0.54 of the fastest', idOf(OURS) / idOf('snowyflake')],
    ['0.51 of the fastest 64-bit one', idOf(OURS) / idOf('snowflake-uuid')],
    [
      '0.50: one clock read and one BigInt',
      alone('the least: Date.now(), two 32-bit words, one bigint') / idOf('snowyflake'),
    ],
    [
      '0.16 possible',
      alone('nextId(), the clock read for every 8th id only (not offered)') / idOf('snowyflake'),
    ],
    ['0.49', textIdOf(OURS) / textIdOf('snowyflake')],
    ['0.35', alone('Date.now() alone') / textIdOf('snowyflake')],
    [
      "2.1 times sapphire's",
      parsing('**nestjs-snowflake parse()**') / parsing('@sapphire/snowflake deconstruct()'),
    ],
    [
      '1.4 times;',
      parsing('**nestjs-snowflake parse() of text**') /
        parsing('@sapphire/snowflake deconstruct() of text'),
    ],
    [
      '1.06',
      nsOf('Through Nest', '**IdMaker of a Nest application**') /
        nsOf('Through Nest', '**SnowflakeGenerator**'),
    ],
  ])('measures %s as the results do', (said, ratio) => {
    expect(sectionOf(PERFORMANCE, 'Targets')).toContain(said);
    const [digits = '', decimals = ''] = /^\d\.(\d+)/.exec(said)!;
    expect(ratio.toFixed(decimals.length)).toBe(digits);
  });
});

it('docs/guides/locks.md shows what was measured of waiting, store by store', () => {
  const plain = (rows: string[][]) =>
    rows.slice(1).map((row) => row.map((cell) => cell.replaceAll('*', '')));
  const format = tableUnder('Who gets it next', textOf('docs/guides/locks.md'));
  expect(plain(format)).toEqual(plain(tableUnder(WAITING)));
});
