/** The tables of the documents say what the code says: options, errors, states, layouts, forms. */
import { expect, it } from '@jest/globals';
import { SnowflakeError, layouts, textForms, type SnowflakeErrorCode } from 'nestjs-snowflake';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { LEASE_DEFAULTS, leaseFaults } from '../../lib/lease/lease-options.js';
import { say, readTree, type TextFile } from '../tidy/tree.js';
import { cellsOf, paddedRows, placesOf, rowsOf } from './sections.js';
import { SnippetProgram } from './snippets.js';
import { SCENARIOS } from '../simulation/world/index.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';
const markdown = (text: string): TextFile => ({ path: 'docs/planted.md', text });

/** The tables of options, by the heads of their first columns, and whose properties they list. */
const OPTIONS = [
  ['option', 'lib/index.ts', 'SnowflakeModuleOptions'],
  ['extra', 'lib/index.ts', 'SnowflakeModuleExtras'],
  ['Redis option', 'lib/stores/redis/index.ts', 'RedisSupportOptions'],
  ['segment option', 'lib/nest/segments/index.ts', 'SegmentOptions'],
  ['Redis id option', 'lib/nest/redis-ids/index.ts', 'RedisIdsOptions'],
  ['Redis counter option', 'lib/stores/redis/index.ts', 'RedisCountersOptions'],
  ['API key option', 'lib/api-keys/index.ts', 'ApiKeysOptions'],
  ['lock option', 'lib/nest/lock/index.ts', 'LockModuleOptions'],
  ['hold option', 'lib/nest/lock/index.ts', 'HoldOptions'],
] as const;
const code = OPTIONS.map(([, entry]) => `import './${entry.replace('.ts', '.js')}';`).join('\n');
const program = new SnippetProgram([{ path: 'lib', line: 1, code }], { hasPackages: false });

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
const statuses = 'docs/reference/states.md';

it.each(OPTIONS)('name every %s there is, and no other', (title, entry, type) => {
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

it.each(['options', 'errors', 'states'])(
  'give each row of %s an address, on GitHub too',
  (page) => {
    const ROW = /^\| (?:<a id="([^"]+)"><\/a>)?`(\w+)` *\|/gm;
    const [english, chinese] = ['docs', 'docs/zh'].map((folder) =>
      [...textOf(`${folder}/reference/${page}.md`).matchAll(ROW)].map(([, id, name]) => [name, id]),
    );
    expect(chinese).toEqual(english);
    expect(english!.filter(([name, id]) => !id?.endsWith(name!.toLowerCase()))).toEqual([]);
    const places = placesOf(textOf(`docs/reference/${page}.md`));
    expect(places.filter((place, at) => places.indexOf(place) !== at)).toEqual([]);
  },
);

it('name every state of a lease', () => {
  const states = Object.keys(LEASE_STATES).toSorted();
  expect(named(statuses, 'state')).toEqual(states);
});

it('name everything that a status shows', () => {
  const names = program.namesOf('lib/index.ts', 'IdMakerStatus');
  expect(named(statuses, 'status')).toEqual(names);
});

it('name every layout, with its epoch and its end', () => {
  const presets = rows('docs/concepts/layout.md', 'Preset');
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
  const cells = named('docs/guides/ids-in-json.md', 'Form').join();
  const said = [...cells.matchAll(/`?(\w+)`?/g)].map(([, name]) => name!);
  expect(said.toSorted()).toEqual(Object.keys(textForms).toSorted());
});

it('name what each simulated scenario tolerates, and the heading that excludes it', () => {
  const tolerated = SCENARIOS.flatMap(({ name, tolerates = [] }) =>
    tolerates.map(({ kinds = [], excuse, because }) => [name, excuse ?? kinds.join(', '), because]),
  );
  const proof = textOf('docs/internals/proof.md').split('\n');
  const head = proof.indexOf('| scenario | tolerated | heading |');
  const table = proof.slice(head + 2, proof.indexOf('', head));
  expect(table.map(cellsOf)).toEqual(tolerated);
  const [, section] = textOf('docs/concepts/guarantees.md').split('\n## What is not guaranteed\n');
  const excluded = Array.from(section!.matchAll(/^### (.*)$/gm), ([, heading]) => heading);
  expect(excluded).toEqual(expect.arrayContaining(tolerated.map(([, , because]) => because)));
});
