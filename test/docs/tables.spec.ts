/** The tables of the documents match the code: options, errors, states, layouts, and forms. */
import { expect, it } from '@jest/globals';
import { SnowflakeError, layouts, textForms, type SnowflakeErrorCode } from 'nestjs-snowflake';
import { IDS } from '../../lib/counters/ids/store-ids-options.js';
import { SEGMENTS } from '../../lib/counters/segments/segment-options.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { HOLD } from '../../lib/lock/lock-options.js';
import { JOB } from '../../lib/nest/lock/cron-once.js';
import { LOCK_MODULE } from '../../lib/nest/lock/open-locks.js';
import { MODULE_OPTIONS } from '../../lib/nest/resolve-options.js';
import type { Row } from '../../lib/options.js';
import { ETCD } from '../../lib/stores/etcd/etcd-options.js';
import { HASH } from '../../lib/stores/redis/redis-options.js';
import { REDIS } from '../../lib/stores/redis/redis.support.js';
import { DATABASE, SQL } from '../../lib/stores/sql/sql-options.js';
import { say, readTree, type TextFile } from '../tidy/tree.js';
import { cellsOf, paddedRows, placesOf, rowsOf } from './sections.js';
import { SnippetProgram } from './snippets.js';
import { SCENARIOS } from '../simulation/world/index.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';
const markdown = (text: string): TextFile => ({ path: 'docs/planted.md', text });

const { stores: _, ...OF_IDS } = IDS;
/** The schedule is not an option of @CronOnce, and database options are not repeated for SQL. */
const { schedule: __, ...OF_JOB } = JOB;
const OF_SQL = Object.fromEntries(Object.entries(SQL).filter(([name]) => !(name in DATABASE)));

/** The option tables by the heading of their first column; the compiler compares their types. */
const TABLES: Readonly<Record<string, object>> = {
  option: MODULE_OPTIONS,
  'Redis option': REDIS,
  'segment option': SEGMENTS,
  'Redis id option': { ...OF_IDS, ...HASH },
  'Redis counter option': HASH,
  'etcd option': ETCD,
  'SQL option': OF_SQL,
  'lock option': LOCK_MODULE,
  'hold option': HOLD,
  'cron option': OF_JOB,
};
const TYPES = [
  ['extra', 'lib/index.ts', 'SnowflakeModuleExtras'],
  ['API key option', 'lib/api-keys/index.ts', 'ApiKeysOptions'],
] as const;
const code = TYPES.map(([, entry]) => `import './${entry.replace('.ts', '.js')}';`).join('\n');
const program = new SnippetProgram([{ path: 'lib', line: 1, code }], { hasPackages: false });

it('rows wider than a page have no padding', () => {
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

it.each(TYPES)('tables of %s name every option, and no other', (title, entry, type) => {
  expect(named(options, title)).toEqual(program.namesOf(entry, type));
});

it.each(Object.entries(TABLES))('tables of %s give each default and its bounds', (title, table) => {
  expect(named(options, title)).toEqual(Object.keys(table).toSorted());
  for (const [name, [check, ...byDefault]] of Object.entries<Row>(table as never)) {
    const cells = rows(options, title)
      .get(name)!
      .map((cell) => cell.replaceAll(/[`']/g, ''));
    const [shown, allowed] = cells;
    const isRequired = cells.at(-1)!.startsWith('**Required.**');
    expect([name, isRequired]).toEqual([name, byDefault.length === 0]);
    const [value] = byDefault;
    const isShown = /string|boolean|number/.test(typeof value);
    const word = value === Infinity ? 'none' : String(value);
    expect([name, shown]).toEqual([name, isShown ? word : shown]);
    const [fault] = check(name, Symbol('none'));
    const bounds =
      / from (\d+ to \d+), got/.exec(fault ?? '') ?? / one of (.*), got/.exec(fault ?? '');
    // A bound may be another option, and a row may refer to another table.
    if (bounds === null || /[a-z]Ms\b|as below/.test(allowed!)) continue;
    expect([name, allowed]).toEqual([name, bounds[1]!.replaceAll("'", '')]);
  }
});

it('the error table names every code, and whether it is retryable', () => {
  const path = 'docs/reference/errors.md';
  expect(named(path, 'code')).toEqual(program.namesOf('lib/index.ts', 'SnowflakeErrorCode'));
  for (const [code, [retryable]] of rows(path, 'code')) {
    const error = new SnowflakeError(code as SnowflakeErrorCode, '');
    expect([code, retryable!.startsWith('yes')]).toEqual([code, error.retryable]);
  }
});

it.each(['options', 'errors', 'states'])(
  'rows of %s have an anchor, including on GitHub',
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

it('the state table names every state of a lease', () => {
  const states = Object.keys(LEASE_STATES).toSorted();
  expect(named(statuses, 'state')).toEqual(states);
});

it('the status table names every property of a status', () => {
  const names = program.namesOf('lib/index.ts', 'IdMakerStatus');
  expect(named(statuses, 'status')).toEqual(names);
});

it('the layout table names every layout, with its epoch and its end', () => {
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

it('the form table names every text form', () => {
  const cells = named('docs/guides/ids-in-json.md', 'Form').join();
  const said = [...cells.matchAll(/`?(\w+)`?/g)].map(([, name]) => name!);
  expect(said.toSorted()).toEqual(Object.keys(textForms).toSorted());
});

it('the scenario table names each fault, and the heading that excludes it', () => {
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

it('name tests that exist', () => {
  const named = textOf('docs/internals/track-record.md').matchAll(
    /`(test\/[^`]+\.spec\.ts)`: ([^|;]+?) *[|;]/g,
  );
  const cells = [...named].map(([, path, title]) => ({ path: path!, title: title! }));
  const isAbsent = ({ path, title }: (typeof cells)[number]) => !textOf(path).includes(title);
  expect(cells.length).toBeGreaterThan(40);
  expect(cells.filter(isAbsent)).toEqual([]);
});
