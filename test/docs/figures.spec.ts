/**
 * Every figure with a unit in README, docs and site comes from somewhere: the results of a run, the
 * library, or a test. Chinese pages have the figures of the English ones: translation.spec.ts.
 */
import { describe, expect, it } from '@jest/globals';
import { readTree } from '../tidy/tree.js';
import {
  figuresIn,
  ALONE,
  APART,
  BEARING,
  MANY,
  nsOf,
  ONE_ID,
  ONE_TEXT,
  sectionOf,
  tableUnder,
  WAITING,
} from './figures/figure.js';
import { isFounded, nameOf, NOT_OURS, SOURCES } from './figures/sources.js';
import { rowsOf } from './sections.js';

const PAGES = readTree().filter(({ path }) =>
  /^(README|docs\/(?!zh\/|internals\/changes-).*|site\/[^/]*)\.md$/.test(path),
);
const FIGURES = PAGES.flatMap(figuresIn);

const unfounded = (path: string, text: string): string[] =>
  figuresIn({ path, text })
    .filter((figure) => !isFounded(figure))
    .map(nameOf);

describe('a figure of a document', () => {
  it('is that of the results, of the library, or of a test', () => {
    expect(FIGURES.length).toBeGreaterThan(150);
    const found = PAGES.map(({ path, text }) => [path, unfounded(path, text)] as const);
    expect(found.filter(([, names]) => names.length > 0)).toEqual([]);
  });

  it('is listed only where its page has it', () => {
    const told = FIGURES.map((figure) => `${figure.path}: ${nameOf(figure)}`);
    const namesOf = ([path, named]: readonly [string, object]) =>
      Object.keys(named).map((name) => `${path}: ${name}`);
    const listed = [SOURCES, NOT_OURS].flatMap((pages) => Object.entries(pages).flatMap(namesOf));
    expect(listed.filter((name) => !told.includes(name))).toEqual([]);
  });

  it('has one source, not two', () => {
    const twice = Object.entries(NOT_OURS).flatMap(([path, named]) =>
      Object.keys(named).filter((name) => SOURCES[path]?.[name] !== undefined),
    );
    expect(twice).toEqual([]);
  });
});

it('the chances to miss a free worker id are those of 256 draws', () => {
  const { text } = PAGES.find(({ path }) => path === 'docs/concepts/layout.md')!;
  expect(text).toContain('looks at up to 256 worker ids');
  const rows = rowsOf(text, 'of all worker ids are held');
  const chances = [...rows].map(([held]) => (Number(/[\d.]+/.exec(held)![0]) / 100) ** 256);
  expect([...rows.values()].map(([chance]) => chance)).toEqual([
    `${(chances[0]! * 1e12).toFixed()} times in 10^12`,
    `${(chances[1]! * 1e3).toFixed()} times in 1000`,
    ...chances.slice(2).map((chance) => `${(chance * 100).toFixed()} times in 100`),
  ]);
});

describe('the check of figures', () => {
  it('finds those that come from nowhere', () => {
    const text = [
      'It costs 44.4 ns, 77.7 µs, is 7 times as fast: 4,097 per ms, 12,801 a second.',
      'Between 9 and 61 s (60 s), 3.3 % of 440 MB, 7 bytes each, `99 ms`; 5 years, 20 minutes.',
      '',
      '| what | ns   | ms, median |',
      '| ---- | ---- | ---------- |',
      '| a    | 1.23 | 45.0       |',
    ].join('\n');
    expect(unfounded('docs/start.md', text)).toEqual([
      '44.4 ns',
      '77.7 µs',
      '9 s',
      '61 s',
      '20 minutes',
      '5 years',
      '440 MB',
      '3.3 %',
      '7 bytes',
      '7 times',
      '4,097 per ms',
      '12,801 per second',
      '1.23 ns',
      '45.0 ms',
    ]);
  });

  it('finds what its source does not say', () => {
    expect(unfounded('docs/start.md', 'It is free after 60 s, not 60.5 s.')).toEqual(['60.5 s']);
    const figure = { path: 'docs/start.md', number: '61', unit: 's' };
    expect(isFounded(figure, 60_000)).toBe(false);
    expect(isFounded(figure, 61_000)).toBe(true);
    expect(isFounded(figure, 'LICENSE: The MIT License, 61')).toBe(false);
    const [path, source] = ['docs/operating/kubernetes.md', 'docs/operating/kubernetes.md: 25%'];
    expect(isFounded({ path, number: '25', unit: '%' }, source)).toBe(true);
    expect(isFounded({ path, number: '26', unit: '%' }, source)).toBe(false);
  });
});

// What README and docs/internals/performance.md take from the tables of bench/RESULTS.md is as it
// is there.

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const PERFORMANCE = textOf('docs/internals/performance.md');

const idOf = (name: string) => nsOf(ONE_ID, name);
const textIdOf = (name: string) => nsOf(ONE_TEXT, name);
const alone = (what: string) => nsOf(ALONE, what);
const parsing = (how: string) => nsOf(APART, how);
const OURS = '**nestjs-snowflake**';
const FASTEST = 'snowflakify';

/** Without its link and its version. */
const nameIn = (cell: string) => cell.replace(/^\[(.*)\]\(.*\)/, '$1').replace(/ [\d.]+$/, '');

describe('README.md', () => {
  const README = textOf('README.md');
  const FAST = 'Fast, and beside others';

  it('shows rows of the results as they are', () => {
    const measured = tableUnder(ONE_ID);
    const [, ...rows] = tableUnder(FAST, README);
    const timed = rows.filter(([, ns]) => ns !== '');
    expect(timed.length).toBeGreaterThan(4);
    for (const [library, ns, faults] of timed) {
      const row = measured.find(([name]) => name === nameIn(library!))!;
      expect([row[2], row[6]]).toEqual([ns, faults]);
    }
  });

  it.each(['nextIds(1000)', 'nextIdStrings(1000)', 'fill(1,000,000)'])('tells %s', (call) => {
    const row = tableUnder(MANY).find(([how]) => how!.includes(call));
    expect(sectionOf(README, FAST)).toContain(row![2]);
  });
});

const FORGOTTEN = 'Permits, when Redis forgets who holds them';
it('docs/guides/which-lock.md shows how often too many held a semaphore', () => {
  const shown = tableUnder(FORGOTTEN, textOf('docs/guides/which-lock.md'));
  const measured = tableUnder('Semaphores in Redis, when it loses who holds them');
  expect(measured.length).toBeGreaterThan(2);
  expect(shown.slice(1).map(([, ...cells]) => cells)).toEqual(
    measured.slice(1).map(([, flushed, , failedOver]) => [flushed, failedOver]),
  );
});

describe('docs/internals/performance.md', () => {
  it.each([
    ['0.56 of the fastest', idOf(OURS) / idOf(FASTEST)],
    [
      '0.53: one clock read and one BigInt',
      alone('the least: Date.now(), two 32-bit words, one bigint') / idOf(FASTEST),
    ],
    [
      '0.16 possible',
      alone('nextId(), the clock read for every 8th id only (not offered)') / idOf(FASTEST),
    ],
    ['0.40', textIdOf(OURS) / textIdOf(FASTEST)],
    ['0.33', alone('Date.now() alone') / textIdOf(FASTEST)],
    [
      "1.9 times sapphire's",
      parsing('**nestjs-snowflake parse()**') / parsing('@sapphire/snowflake deconstruct()'),
    ],
    [
      '1.3 times;',
      parsing('**nestjs-snowflake parse() of text**') /
        parsing('@sapphire/snowflake deconstruct() of text'),
    ],
    [
      '1.00',
      nsOf('Through Nest', '**IdMaker of a Nest application**') /
        nsOf('Through Nest', '**SnowflakeGenerator**'),
    ],
  ])('measures %s as the results do', (said, ratio) => {
    expect(sectionOf(PERFORMANCE, 'Targets')).toContain(said);
    const [digits = '', decimals = ''] = /^\d\.(\d+)/.exec(said)!;
    expect(ratio.toFixed(decimals.length)).toBe(digits);
  });
});

it.each([
  ['Who gets it next', WAITING],
  ['How much one process bears', BEARING],
])('docs/guides/locks.md shows under "%s" what was measured', (section, title) => {
  const plain = (cell: string) => cell.replaceAll('*', '');
  const [columns, ...shown] = tableUnder(section, textOf('docs/guides/locks.md'));
  const [all, ...measured] = tableUnder(title);
  expect(shown.length).toBeGreaterThan(3);
  for (const [store, ...cells] of shown) {
    const row = measured.find(([name]) => plain(name!) === store)!;
    expect(cells).toEqual(columns!.slice(1).map((column) => row[all!.indexOf(column)]));
  }
});
