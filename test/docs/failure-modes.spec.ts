/**
 * The documents on failures, word by word: the title of each test, the text of each log line, each
 * code with whether it is retryable, each state and field of the status. (That every row names a
 * check at all, and every fault a row, is tried in evidence.spec.ts.)
 */
import { describe, expect, it } from '@jest/globals';
import { SnowflakeError, type SnowflakeErrorCode } from '../../lib/errors.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { SCENARIOS } from '../simulation/world/index.js';
import { BROKEN_VARIANTS } from '../mutants/mutants.mjs';
import { isLib, readTree } from '../tidy/tree.js';
import { rowsOf } from './sections.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';
const FAILURE_MODES = textOf('docs/operating/failure-modes.md');
const TRACK_RECORD = textOf('docs/internals/track-record.md');

const MODES = [...rowsOf(FAILURE_MODES, 'what breaks').values()];
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
    piece.slice(kind.length + 2),
  );

/** The texts of the code: literals in one piece, each value as a gap. */
const SAID = TREE.filter(isLib)
  .map(({ text }) => text.replace(/['"`]\s*\+\s*['"`]/g, '').replace(/\$\{[^{}]*\}/g, '…'))
  .join('\n');

const codesIn = (text: string): string[] => text.match(/\b[A-Z]+_[A-Z_]+\b/g) ?? [];

/** Whether a cell says of each code what is so. */
function faultsOf(cell: string): string[] {
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
    expect(MODES.length).toBeGreaterThanOrEqual(35);
    expect(MODES.filter((cells) => cells.length !== 6)).toEqual([]);
  });

  it('quotes the log as one piece, values left out', () => {
    const quotations = MODES.flatMap((row) => [...row[1]!.matchAll(/`([^`]+)`/g)]);
    expect(quotations.length).toBeGreaterThan(30);
    expect(quotations.map(([, text]) => text!).filter((text) => !SAID.includes(text))).toEqual([]);
  });

  it('says of each code whether it is retryable', () => {
    expect(MODES.flatMap((row) => faultsOf(row[0]!))).toEqual([]);
  });

  it('shows in the status only states and fields that there are', () => {
    expect(MODES.flatMap((row) => unknownIn(row[2]!))).toEqual([]);
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
    ['failure modes', FAILURE_MODES],
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
      faultsOf('LEASE_LOST, LAYOUT_MISMATCH (retryable), TIME_EXHAUSTED (not retryable)'),
    ).toEqual(['LEASE_LOST', 'LAYOUT_MISMATCH (retryable)']);
    expect(unknownIn('active, asleep; `mood`')).toEqual(['asleep', 'mood']);
  });
});
