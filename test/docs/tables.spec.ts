/**
 * The tables of the documents say what the code says: options, errors, states, layouts, forms.
 */
import { expect, it } from '@jest/globals';
import { SnowflakeError, layouts, textForms } from 'nestjs-snowflake';
import type { SnowflakeErrorCode } from 'nestjs-snowflake';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { LEASE_DEFAULTS, leaseFaults } from '../../lib/lease/lease-options.js';
import { ENTRIES } from '../../scripts/entries.mjs';
import { say, readTree } from '../tidy/tree.js';
import type { TextFile } from '../tidy/tree.js';
import { paddedRows, rowsOf } from './sections.js';
import { SnippetProgram } from './snippets.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const markdown = (text: string): TextFile => ({ path: 'docs/planted.md', text });
const imports = Object.values(ENTRIES).map((path) => `import './lib/${path}.js';`);
const program = new SnippetProgram([{ path: 'lib', line: 1, code: imports.join('\n') }], {
  hasPackages: false,
});

it('have no blanks where they are wider than a page', () => {
  expect(DOCUMENTS.flatMap(paddedRows).map(say)).toEqual([]);
  const wide = `| ${'a'.repeat(120)} | b    |`;
  expect(paddedRows(markdown(`# A\n\n${wide}\n| a   | b |\n`)).map(say)).toEqual([
    expect.stringMatching(/^docs\/planted\.md:3 is a wide row with blanks/),
  ]);
});

const rows = (path: string, title: string) => rowsOf(textOf(path), title);
const named = (path: string, title: string) => [...rows(path, title).keys()].toSorted();
const options = 'docs/reference/options.md';

it.each([
  ['option', 'lib/index.ts', 'SnowflakeModuleOptions'],
  ['extra', 'lib/index.ts', 'SnowflakeModuleExtras'],
  ['Redis option', 'lib/stores/redis/index.ts', 'RedisSupportOptions'],
  ['segment option', 'lib/nest/segments/index.ts', 'SegmentOptions'],
  ['Redis id option', 'lib/nest/redis-ids/index.ts', 'RedisIdsOptions'],
  ['Redis counter option', 'lib/stores/redis/index.ts', 'RedisCountersOptions'],
  ['API key option', 'lib/api-keys/index.ts', 'ApiKeyModuleOptions'],
  ['lock option', 'lib/nest/lock/index.ts', 'LockModuleOptions'],
  ['hold option', 'lib/nest/lock/index.ts', 'HoldOptions'],
])('name every %s there is, and no other', (title, entry, type) => {
  expect(named(options, title)).toEqual(program.namesOf(entry, type));
});

it('give the defaults and bounds of the lease', () => {
  for (const [name, value] of Object.entries(LEASE_DEFAULTS)) {
    const option = name === 'ttlMs' ? 'leaseTtlMs' : name;
    const [byDefault, allowed] = rows(options, 'option').get(option)!;
    const [fault] = leaseFaults({ ...LEASE_DEFAULTS, [name]: -1 });
    const bounds = / from (\d+ to \d+), got/.exec(fault!) ?? / one of (.*), got/.exec(fault!);
    expect([option, byDefault!.replaceAll(/[`']/g, '')]).toEqual([option, String(value)]);
    expect([option, allowed!.replaceAll('`', '')]).toEqual([option, bounds![1]]);
  }
});

it('name every error code, and whether it is retryable', () => {
  const path = 'docs/reference/errors.md';
  expect(named(path, 'code')).toEqual(program.namesOf('lib/index.ts', 'SnowflakeErrorCode'));
  for (const [code, [retryable]] of rows(path, 'code')) {
    const error = new SnowflakeError(code as SnowflakeErrorCode, '');
    expect([code, retryable!.startsWith('yes')]).toEqual([code, error.retryable]);
  }
});

it('name every state of a lease', () => {
  const states = Object.keys(LEASE_STATES).toSorted();
  expect(named('docs/concepts/lease.md', 'state')).toEqual(states);
});

it('name everything that a status shows', () => {
  const names = program.namesOf('lib/index.ts', 'IdMakerStatus');
  expect(named('docs/concepts/lease.md', 'status')).toEqual(names);
});

it('name every layout, with its epoch and its end', () => {
  const presets = rows('docs/concepts/layout.md', 'preset');
  const said = [...presets].map(([preset, [, , epoch, end]]) => [
    /layouts\.(\w+)/.exec(preset)![1],
    epoch,
    end,
  ]);
  const real = Object.entries(layouts).map(([name, make]) => {
    const { epochMs, lastDate } = make();
    return [name, new Date(epochMs).toISOString().slice(0, 10), `${lastDate.getUTCFullYear()}`];
  });
  expect(said).toEqual(real);
});

it('name every form of text', () => {
  const cells = named('docs/guides/ids-in-json.md', 'form').join();
  const said = [...cells.matchAll(/`?(\w+)`?/g)].map(([, name]) => name!);
  expect(said.toSorted()).toEqual(Object.keys(textForms).toSorted());
});

// The glossary has the words that pages rely on, all of them are used, and no page has another one.

const GLOSSARY = 'docs/concepts/glossary.md';
const NEEDED = [
  'epoch',
  'tick',
  'worker id',
  'lease',
  'floor and ceiling',
  'ttl',
  'reserve',
  'fenced',
  'incarnation',
  'loss window',
  'quarantine',
  'safe floor',
  'era',
  'lease window',
  'counter',
  'segment',
  'fencing token',
];
const PAGES = readTree().filter(({ path }) => /^docs\/(?!zh\/).*\.md$/.test(path));

/** @param pages with the glossary among them */
function faultsOf(pages: readonly TextFile[]): string[] {
  const glossary = pages.find(({ path }) => path === GLOSSARY)!;
  const others = pages.filter(({ path }) => path !== GLOSSARY);
  const words = [...rowsOf(glossary.text, 'word').keys()];
  const text = others.map((page) => page.text.toLowerCase()).join();
  return [
    ...words.flatMap((word) => word.split(' and ')).filter((word) => !text.includes(word)),
    ...others.filter((page) => /^\| word +\|/m.test(page.text)).map(({ path }) => path),
  ];
}

const page = (path: string, ...lines: string[]): TextFile => ({ path, text: lines.join('\n') });
const table = (...words: string[]): string[] => [
  '| word | meaning |',
  '| ---- | ------- |',
  ...words.map((word) => `| ${word} | ... |`),
];

it('has the words that readers meet, all of them in use, and is the only one', () => {
  expect(faultsOf(PAGES)).toEqual([]);
  const glossary = PAGES.find(({ path }) => path === GLOSSARY)!;
  const words = [...rowsOf(glossary.text, 'word').keys()];
  expect(words).toEqual(expect.arrayContaining(NEEDED));
});

it('finds a word that no page uses, and a second glossary', () => {
  expect(
    faultsOf([page(GLOSSARY, ...table('lease', 'tenant')), page('docs/a.md', 'A lease.')]),
  ).toEqual(['tenant']);
  const second = page('docs/a.md', ...table('lease'));
  expect(faultsOf([page(GLOSSARY, ...table('lease')), second])).toEqual(['docs/a.md']);
});
