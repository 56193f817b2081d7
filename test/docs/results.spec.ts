/**
 * The figures in both READMEs are those of bench/RESULTS.md: nobody updates one and not the other.
 */
import { describe, expect, it } from '@jest/globals';
import { readTree } from '../tidy/tree.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const RESULTS = textOf('bench/RESULTS.md');

/** The cells of each table row between a heading and the next one. */
function rowsUnder(document: string, heading: string): string[][] {
  const [, below = ''] = document.split(`\n## ${heading}\n`);
  const lines = below.split('\n## ')[0]!.split('\n');
  const rows = lines.filter((line) => line.startsWith('|')).slice(2);
  return rows
    .map((row) => row.split('|').slice(1, -1))
    .map((row) => row.map((cell) => cell.trim()));
}

const measured = rowsUnder(RESULTS, 'One id, as each library gives it');

describe.each([
  ['README.md', 'Fast'],
  ['README.zh-CN.md', '快'],
])('%s', (path, heading) => {
  it('shows rows of the results as they are', () => {
    const rows = rowsUnder(textOf(path), heading);
    expect(rows.length).toBeGreaterThan(4);
    for (const [library, ns, ratio, faults] of rows) {
      const row = measured.find(([name]) => name === library)!;
      expect([row[2], row[4]!.split(' ←')[0], row[6]]).toEqual([ns, ratio, faults]);
    }
  });

  it.each(['nextIds(1000)', 'nextIdStrings(1000)', 'fill(1,000,000)'])('tells %s', (call) => {
    const row = rowsUnder(RESULTS, 'Many at once').find(([how]) => how?.includes(call));
    const section = textOf(path).split(`\n## ${heading}\n`)[1]!.split('\n## ')[0];
    expect(section).toContain(row![2]);
  });

  it('tells the cost of one id, and of the clock, rounded', () => {
    const [, , oneId] = measured.find(([name]) => name === '**nestjs-snowflake**')!;
    const clock = rowsUnder(RESULTS, 'The arithmetic alone').find(([what]) => {
      return what!.includes('Date.now() alone');
    })![1];
    const [facts] = textOf(path).split('\n## ');
    expect(facts).toContain(`${Math.round(Number(oneId))} ns`);
    expect(facts).toContain(` ${Math.round(Number(clock))} `);
  });
});
