/**
 * The figures in the documents are those of bench/RESULTS.md: nobody updates one and not the other.
 * A figure of speed that is not measured follows from a layout, or is shown by a test.
 */
import { describe, expect, it } from '@jest/globals';
import { layouts, type BitLayout } from 'nestjs-snowflake/core';
import { linesOf } from '../tidy/check.js';
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

/** How documents write a figure of speed, in either language; its first group is the number. */
const SPEEDS: readonly (readonly [unit: string, says: RegExp])[] = [
  ['ns', /([\d][\d,.]*) (?:ns|纳秒)/g],
  ['µs', /([\d][\d,.]*) (?:µs|微秒)/g],
  ['times', /([\d][\d,.]*) times (?:as |faster|slower)/g],
  ['per ms', /([\d][\d,]*)(?: ids)? per (?:ms|millisecond)|每毫秒 ?([\d][\d,]*)/g],
  ['per second', /([\d][\d,]*)(?: ids| numbers)? (?:per|a) second|每秒 ?([\d][\d,]*)/g],
];

const perSecond = ({ sequence, unitMs }: BitLayout) => ((sequence.max + 1) * 1000) / unitMs;
const perMs = (layout: BitLayout) => perSecond(layout) / 1000;

/** What was not measured: what it follows from, or the test that shows it. */
const NOT_MEASURED: Readonly<Record<string, number | string>> = {
  '4096 per ms': perMs(layouts.snowflake()),
  '1024 per ms': perMs(layouts.redisIdGenerator()),
  '2048 per ms': perMs(layouts.snowflake()) / 2, // a random start lies in the lower half
  '4,096,000 per second': perSecond(layouts.snowflake()),
  '12,800 per second': perSecond(layouts.javascriptSafe()),
  '222,000 per second': 'test/segments/segment-options.spec.ts',
};

interface Figure {
  readonly path: string;
  readonly number: string;
  readonly unit: string;
}

function figuresIn(path: string, text: string): Figure[] {
  return SPEEDS.flatMap(([unit, says]) =>
    [...text.matchAll(says)].map(([, first, second]) => ({
      path,
      number: (first ?? second)!.replace(/[.,]$/, ''),
      unit,
    })),
  );
}

const numberOf = (text: string): number => Number(text.replaceAll(',', ''));

/** The numbers of the results in columns of this unit. */
function measuredIn(unit: string): number[] {
  const numbers: number[] = [];
  let columns: boolean[] = [];
  for (const line of linesOf(RESULTS)) {
    const cells = line.split('|').slice(1, -1);
    const isFirst = columns.length === 0;
    if (isFirst) columns = cells.map((head) => head.split(/[\s,]+/).includes(unit));
    else if (cells.length === 0) columns = [];
    else numbers.push(...cells.filter((_, at) => columns[at]).flatMap(numbersIn));
  }
  return numbers;
}

const numbersIn = (cell: string): number[] => (cell.match(/\d[\d,.]*/g) ?? []).map(numberOf);

/** Where the figure comes from: the results, as they are rounded there, or the list above. */
function isFounded({ number, unit }: Figure): boolean {
  const source = NOT_MEASURED[`${number} ${unit}`];
  if (typeof source === 'number') return source === numberOf(number);
  if (typeof source === 'string') return textOf(source).includes(number);
  const digitCount = number.split('.')[1]?.length ?? 0;
  const shown = numberOf(number).toFixed(digitCount);
  return measuredIn(unit).some((measured) => measured.toFixed(digitCount) === shown);
}

describe('a figure of speed', () => {
  const documents = TREE.filter(({ path }) =>
    /^(README[^/]*|docs\/(zh\/)?(concepts|guides)\/[^/]*)\.md$/.test(path),
  );
  const figures = documents.flatMap(({ path, text }) => figuresIn(path, text));

  it('is that of the results, of a layout, or of a test', () => {
    expect(figures.length).toBeGreaterThan(10);
    expect(figures.filter((figure) => !isFounded(figure))).toEqual([]);
  });

  it('is listed only where a document has it', () => {
    const used = figures.map(({ number, unit }) => `${number} ${unit}`);
    expect(Object.keys(NOT_MEASURED).filter((name) => !used.includes(name))).toEqual([]);
  });

  it('would be noticed if it came from nowhere', () => {
    const text =
      'It costs 44.4 ns and 45.0 ns, 77.7 µs, is 7 times as fast: 4,097 per ms, 每秒 12,801';
    const invented = figuresIn('docs/planted.md', text).filter((figure) => !isFounded(figure));
    expect(invented.map(({ number }) => number)).toEqual(['44.4', '77.7', '7', '4,097', '12,801']);
  });
});
