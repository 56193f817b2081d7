/**
 * What README and docs/internals/performance.md take from the tables of bench/RESULTS.md is as it
 * is there. The figures of all documents are in figures.spec.ts.
 */
import { describe, expect, it } from '@jest/globals';
import { readTree } from '../tidy/tree.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const RESULTS = textOf('bench/RESULTS.md');
const PERFORMANCE = textOf('docs/internals/performance.md');

const sectionOf = (document: string, heading: string): string =>
  document.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;

/** The cells of each table row between a heading and the next one, the head first. */
function tableUnder(document: string, heading: string): string[][] {
  const rows = sectionOf(document, heading)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((row) => row.split('|').slice(1, -1));
  rows.splice(1, 1);
  return rows.map((row) => row.map((cell) => cell.trim()));
}

/** What a row of the results costs. */
function nsOf(heading: string, name: string): number {
  const [head, ...rows] = tableUnder(RESULTS, heading);
  const row = rows.find(([what]) => what === name)!;
  return Number(row[head!.findIndex((title) => /^ns\b/.test(title))]);
}

const idOf = (name: string) => nsOf('One id, as each library gives it', name);
const textIdOf = (name: string) => nsOf('One id as decimal text', name);
const alone = (what: string) => nsOf('The arithmetic alone', what);
const parsing = (how: string) => nsOf('Taking an id apart', how);
const OURS = '**nestjs-snowflake**';

describe('README.md', () => {
  const README = textOf('README.md');

  it('shows rows of the results as they are', () => {
    const measured = tableUnder(RESULTS, 'One id, as each library gives it');
    const [, ...rows] = tableUnder(README, 'Fast');
    expect(rows.length).toBeGreaterThan(4);
    for (const [library, ns, ratio, faults] of rows) {
      const row = measured.find(([name]) => name === library)!;
      expect([row[2], row[4]!.split(' ←')[0], row[6]]).toEqual([ns, ratio, faults]);
    }
  });

  it.each(['nextIds(1000)', 'nextIdStrings(1000)', 'fill(1,000,000)'])('tells %s', (call) => {
    const row = tableUnder(RESULTS, 'Many at once').find(([how]) => how!.includes(call));
    expect(sectionOf(README, 'Fast')).toContain(row![2]);
  });

  it('tells the cost of one id, and of the clock, rounded', () => {
    const [facts] = README.split('\n## ');
    expect(facts).toContain(`${Math.round(idOf(OURS))} ns`);
    expect(facts).toContain(`clock is ${Math.round(alone('Date.now() alone'))} ns`);
  });
});

describe('docs/internals/performance.md', () => {
  it('says where the time goes', () => {
    const [, ...parts] = tableUnder(PERFORMANCE, 'Where the time goes');
    const measured = [
      'Date.now() alone',
      'the least: Date.now(), two 32-bit words, one bigint',
      '**nestjs-snowflake nextId()**',
      'nextId(), the clock frozen',
    ].map((what) => alone(what).toFixed(1));
    expect(parts.map(([, ns]) => ns)).toEqual(measured);
  });

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
