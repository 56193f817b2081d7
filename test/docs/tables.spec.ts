/**
 * The tables of the documents say what the code says: options, errors, states, layouts, forms; and
 * the documents on failures, what checks each row.
 */
import { expect, it, describe } from '@jest/globals';
import { SnowflakeError, layouts, textForms, type SnowflakeErrorCode } from 'nestjs-snowflake';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { LEASE_DEFAULTS, leaseFaults } from '../../lib/lease/lease-options.js';
import { say, readTree, type TextFile, isLib } from '../tidy/tree.js';
import { cellsOf, labelled, paddedRows, placesOf, rowsOf } from './sections.js';
import { SnippetProgram } from './snippets.js';
import { SCENARIOS } from '../simulation/world/index.js';
import { BROKEN_VARIANTS } from '../mutants/mutants.mjs';

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

it('name what each simulated scenario tolerates, and the row that excludes it', () => {
  const tolerated = SCENARIOS.flatMap(({ name, tolerates = [] }) =>
    tolerates.map(({ kinds = [], excuse, because }) => [name, excuse ?? kinds.join(', '), because]),
  );
  const proof = textOf('docs/internals/proof.md').split('\n');
  const head = proof.indexOf('| scenario | tolerated | row |');
  const table = proof.slice(head + 2, proof.indexOf('', head));
  expect(table.map(cellsOf)).toEqual(tolerated);
  const excluded = named('docs/concepts/guarantees.md', 'what');
  expect(excluded).toEqual(expect.arrayContaining(tolerated.map(([, , because]) => because)));
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

// The documents on failures, word by word: the title of each test, the text of each log line, each
// code with whether it is retryable, each state and field of the status. (That every row names a
// check at all, and every fault a row, is tried in evidence.spec.ts.)

const FAILURES = textOf('docs/internals/failure-evidence.md');
const TRACK_RECORD = textOf('docs/internals/track-record.md');

const MODES = [...rowsOf(FAILURES, 'what breaks').values()];
const TOLD = MODES.map(([happens = '']) => labelled(happens));
const INCIDENTS = [...rowsOf(TRACK_RECORD, 'where').entries()];
const FOUND_HERE = [...rowsOf(TRACK_RECORD, 'what').values()];
const EVIDENCE = [...MODES, ...INCIDENTS.map(([, cells]) => cells), ...FOUND_HERE].flatMap((row) =>
  row.at(-1)!.split('; '),
);

/** What the chaos does to processes, to Redis and to the network; each has a row. */
const CHAOS = `kill -9, SIGTERM, SIGSTOP, clock jump, event loop blocked, redis restarted with data,
  redis restarted empty, redis restarted from an old RDB, FLUSHALL, DEL, CLIENT PAUSE, CLIENT KILL,
  DEBUG SLEEP, redis SIGSTOP, maxmemory, network cut, network half-open, replies lost, network slow,
  sentinel failover, cluster failover, cluster slot moved`.split(/,\s+/);

/** Retryable, but for the cases that docs/reference/errors.md lists below its table. */
const NOT_ALWAYS: readonly string[] = ['NOT_READY', 'STORE_UNAVAILABLE'];

const quoted = (name: string): string => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A literal that begins with the name and ends with it, or goes on with what a case fills in. */
function isTitleIn(text: string, name: string): boolean {
  return new RegExp(`(\\(|name:)\\s*(['"\`])${quoted(name)}(\\2|[^'"\`\\n]*%)`).test(text);
}

/** A fault of all topologies, or of a store. */
const isFaultIn = (text: string, name: string): boolean =>
  new RegExp(`(name: |storeFault\\(\\s*)'${quoted(name)}'`).test(text);

/** The names behind a word, e.g. those of "chaos: kill -9". */
const namesOf = (kind: string): string[] =>
  EVIDENCE.filter((piece) => piece.startsWith(`${kind}: `)).map((piece) =>
    piece.slice(kind.length + 2).replace(/ \([\d,]+\)$/, ''),
  );

/** The texts of the code: literals in one piece, each value as a gap. */
const SAID = TREE.filter(isLib)
  .map(({ text }) => text.replace(/['"`]\s*\+\s*['"`]/g, '').replace(/\$\{[^{}]*\}/g, '…'))
  .join('\n');

const codesIn = (text: string): string[] => text.match(/\b[A-Z]+_[A-Z_]+\b/g) ?? [];

/** Whether a cell says of each code what is so. */
function wrongCodesIn(cell: string): string[] {
  return [...cell.matchAll(/\b([A-Z]+_[A-Z_]+) ?(\((?:not )?retryable\))?/g)].flatMap(
    ([found, code = '', said]) => {
      const { retryable } = new SnowflakeError(code as SnowflakeErrorCode, '');
      if (said === '(not retryable)' && NOT_ALWAYS.includes(code)) return [];
      return said === (retryable ? '(retryable)' : '(not retryable)') ? [] : [found];
    },
  );
}

const STATES: readonly string[] = Object.keys(LEASE_STATES);
const STATUS = textOf('lib/nest/id-maker.ts');

/** The words of a status cell that are no state, and its fields that the status has not. */
function unknownIn(cell: string): string[] {
  const [states = ''] = cell.split(';');
  const words = states.includes('`') ? [] : states.split(/, or | or |, /).filter(Boolean);
  const fields = [...cell.matchAll(/`([^`]+)`/g)].map(([, field]) => field!);
  return [
    ...words.filter((word) => !STATES.includes(word)),
    ...fields.filter((field) => !new RegExp(`readonly ${field}\\??:`).test(STATUS)),
  ];
}

describe('what checks a row', () => {
  it('is named by the title of a test, from its beginning', () => {
    const tests = EVIDENCE.flatMap((piece) => [...piece.matchAll(/^`(test\/[^`]+)`: (.+)$/g)]);
    expect(tests.length).toBeGreaterThan(40);
    const wrong = tests.filter(([, path = '', name = '']) => !isTitleIn(textOf(path), name));
    expect(wrong.map(([piece]) => piece)).toEqual([]);
  });

  it('is a mutant or a scenario that there is', () => {
    const mutants = BROKEN_VARIANTS.map(({ name }) => name);
    const scenarios = SCENARIOS.map(({ name }) => name);
    expect(namesOf('mutant').filter((name) => !mutants.includes(name))).toEqual([]);
    expect(namesOf('simulation').filter((name) => !scenarios.includes(name))).toEqual([]);
  });

  it('is a fault that the chaos has, and no fault is left out', () => {
    const files = TREE.filter(({ path }) => path.startsWith('test/chaos/'));
    const faults = files.map(({ text }) => text).join('\n');
    expect(faults).not.toBe('');
    const named = new Set([...namesOf('chaos'), ...CHAOS]);
    expect([...named].filter((name) => !isFaultIn(faults, name))).toEqual([]);
    expect(CHAOS.filter((name) => !namesOf('chaos').includes(name))).toEqual([]);
  });
});

describe('a failure mode', () => {
  it('has a row of its own, with all its cells', () => {
    expect(MODES.length).toBeGreaterThanOrEqual(90);
    expect(MODES.filter((cells) => cells.length !== 2)).toEqual([]);
    const labels = new Set(TOLD.flatMap((told) => Object.keys(told)));
    expect([...labels].toSorted()).toEqual(['callers', 'library', 'log', 'state']);
  });

  it('quotes the log as one piece, values left out', () => {
    const quotations = TOLD.flatMap(({ log = '' }) => [...log.matchAll(/`([^`]+)`/g)]);
    expect(quotations.length).toBeGreaterThan(30);
    expect(quotations.map(([, text]) => text!).filter((text) => !SAID.includes(text))).toEqual([]);
  });

  it('says of each code whether it is retryable', () => {
    expect(TOLD.flatMap(({ callers = '' }) => wrongCodesIn(callers))).toEqual([]);
  });

  it('shows in the status only states and fields that there are', () => {
    expect(TOLD.flatMap(({ state = '' }) => unknownIn(state))).toEqual([]);
  });
});

describe('the track record', () => {
  it('has at least fifteen incidents, each with a link, its cause and a check', () => {
    expect(INCIDENTS.length).toBeGreaterThanOrEqual(15);
    const bare = INCIDENTS.filter(
      ([where, cells]) => !where.includes('](https://github.com/') || cells.length !== 4,
    );
    expect(bare).toEqual([]);
    expect(INCIDENTS.filter(([, cells]) => cells.some((cell) => cell === ''))).toEqual([]);
  });
});

describe('both documents', () => {
  it.each([
    ['failure modes', FAILURES],
    ['track record', TRACK_RECORD],
  ])('name only error codes that there are: %s', (_, document) => {
    const errors = textOf('lib/errors.ts');
    expect(codesIn(document).filter((code) => !errors.includes(`'${code}'`))).toEqual([]);
  });
});

describe('these checks', () => {
  it('would notice half a title, a torn quotation, a wrong promise, a state that is none', () => {
    const test = "it('stops at once', run);\nit.each(all)('goes on %s', run);";
    const names = ['stops at once', 'goes on', 'stops', 'at once', 'on %s'];
    expect(names.map((name) => isTitleIn(test, name))).toEqual([true, true, false, false, false]);
    expect(SAID).not.toContain('The store did not answer within 2 ms');
    expect(
      wrongCodesIn('LEASE_LOST, LAYOUT_MISMATCH (retryable), TIME_EXHAUSTED (not retryable)'),
    ).toEqual(['LEASE_LOST', 'LAYOUT_MISMATCH (retryable)']);
    expect(unknownIn('active, asleep; `mood`')).toEqual(['asleep', 'mood']);
  });
});
