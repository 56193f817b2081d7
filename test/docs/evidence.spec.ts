/**
 * The documents on failures name what checks each row, and quote what the log says. Both must be
 * there: a test by its file and name, a mutant, a scenario, a fault, a case; a text of the code.
 */
import { describe, expect, it } from '@jest/globals';
import { CONTRACT_CASES } from '../../lib/testing/describe-stores.js';
import { LOCK_CASES } from '../../lib/testing/describe-stores.js';
import { SCENARIOS } from '../simulation/world/index.js';
import { COUNTER_FAULTS } from '../chaos/counter-topologies.mjs';
import { CLOCK_FAULTS } from '../chaos/topologies.mjs';
import { FAULTS } from '../chaos/faults.mjs';
import { LOCK_FAULTS } from '../chaos/lock-topologies.mjs';
import { NETWORK_FAULTS } from '../chaos/fault.mjs';
import { REGION_FAULTS } from '../chaos/region-topologies.mjs';
import { STORE_FAULTS } from '../chaos/stores/stores.mjs';
import { UNTOLD_FAULTS } from '../chaos/untold-topologies.mjs';
import { MISTAKES } from '../chaos/mistakes/mistakes.mjs';
import { BROKEN_VARIANTS } from '../mutants/mutants.mjs';
import { isLib, linesOf, readTree } from '../tidy/tree.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';
const FAILURE_MODES = textOf('docs/operating/failure-modes.md');
const TRACK_RECORD = textOf('docs/internals/track-record.md');

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  mutant: BROKEN_VARIANTS.map(({ name }) => name),
  simulation: SCENARIOS.map(({ name }) => name),
  chaos: [FAULTS, NETWORK_FAULTS, CLOCK_FAULTS, STORE_FAULTS, COUNTER_FAULTS, LOCK_FAULTS]
    .concat(UNTOLD_FAULTS, REGION_FAULTS)
    .flat()
    .map(({ name }) => name),
  mistake: MISTAKES.map(({ name }) => name),
  contract: [...CONTRACT_CASES, ...LOCK_CASES].map(({ name }) => name),
};

/** The cells of each row of each table, heads left out. */
function rowsIn(document: string): string[][] {
  const rows = linesOf(document).filter((line) => line.startsWith('|'));
  const cells = rows.map((row) => row.split('|').slice(1, -1));
  const trimmed = cells.map((row) => row.map((cell) => cell.trim()));
  return trimmed.filter((row, at) => !isRule(row) && !isRule(trimmed[at + 1] ?? []));
}

const isRule = ([first = '']: readonly string[]): boolean => /^-+$/.test(first);

/** What is wrong with one piece of evidence, e.g. "chaos: kill -9". */
function faultOf(evidence: string): string | undefined {
  const test = /^`(test\/[^`]+)`: (.+)$/.exec(evidence);
  if (test) {
    const [, path = '', name = ''] = test;
    return textOf(path).includes(name) ? undefined : `no test of ${path} is named "${name}"`;
  }
  const [, kind = '', name = ''] = /^(\w+): (.+)$/.exec(evidence) ?? [];
  return KNOWN[kind]?.includes(name) ? undefined : `nothing is known as "${evidence}"`;
}

/** Texts of the code as one piece each, where the source breaks them over lines. */
const SAID = TREE.filter(isLib)
  .map(({ text }) => text.replace(/['"`] \+\s*['"`]/g, ''))
  .join('\n');

/** The parts of a quotation between its gaps. */
const isSaid = (quotation: string): boolean =>
  quotation.split('…').every((part) => SAID.includes(part.trim()));

describe.each([
  ['docs/operating/failure-modes.md', FAILURE_MODES, 25],
  ['docs/internals/track-record.md', TRACK_RECORD, 20],
])('%s', (_path, document, rowCountMin) => {
  it('names checks that there are', () => {
    const rows = rowsIn(document);
    expect(rows.length).toBeGreaterThanOrEqual(rowCountMin);
    const evidence = rows.flatMap((row) => row.at(-1)!.split('; '));
    expect(evidence.flatMap((piece) => faultOf(piece) ?? [])).toEqual([]);
  });
});

describe('docs/internals/proof.md', () => {
  const [, section = ''] = textOf('docs/internals/proof.md').split('\n## Mistakes of operators\n');
  const rows = rowsIn(section.split('\n## ')[0]!);

  it('has a row for every mistake that the chaos plays, in its order, with its figures', () => {
    expect(rows.map(([name]) => name)).toEqual(KNOWN['mistake']!.map((name) => `\`${name}\``));
    expect(rows.filter((row) => !/\b0 twice\b/.test(row.at(-1)!))).toEqual([]);
  });
});

describe('docs/operating/failure-modes.md', () => {
  const rows = rowsIn(FAILURE_MODES);

  it('quotes what the code says', () => {
    const quotations = rows.flatMap((row) =>
      [...row[2]!.matchAll(/`([^`]+)`/g)].map(([, it]) => it!),
    );
    expect(quotations.length).toBeGreaterThan(15);
    expect(quotations.filter((quotation) => !isSaid(quotation))).toEqual([]);
  });

  it('names every fault of the chaos', () => {
    const named = rows.map((row) => row.at(-1)!).join(' ');
    expect(KNOWN['chaos']!.filter((name) => !named.includes(`chaos: ${name}`))).toEqual([]);
  });

  it('names only error codes that there are', () => {
    const codes = rows.flatMap((row) => row[1]!.match(/\b[A-Z]+_[A-Z_]+\b/g) ?? []);
    const errors = textOf('lib/errors.ts');
    expect(codes.filter((code) => !errors.includes(`'${code}'`))).toEqual([]);
  });

  it('would notice a check, a quotation and a fault that are not there', () => {
    expect(faultOf('chaos: an earthquake')).toBe('nothing is known as "chaos: an earthquake"');
    expect(faultOf('`test/servers.spec.ts`: is asleep')).toContain(
      'no test of test/servers.spec.ts',
    );
    expect(isSaid('The store is … asleep')).toBe(false);
  });
});
