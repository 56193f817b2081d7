/**
 * Runs the whole proof by induction in a separate process, like `npm run prove`. Each broken rule
 * of the model and of the mutants must lose the proof, or a reason states why the proof does not
 * need the rule.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { COUNTER_MUTANTS } from '../mutants/counter-mutants.mjs';
import { LOCK_MUTANTS } from '../mutants/lock-mutants.mjs';
import { TIME_MUTANTS } from '../mutants/mutants.mjs';
import { REGISTRY_MUTANTS, RULE_MUTANTS } from '../mutants/registry-mutants.mjs';
import type { Result } from './prove.mjs';
import { formula, readSystems } from './system.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SYSTEMS = ['lease', 'ranges', 'locks', 'counters'].flatMap(readSystems);

/** The possible errors of a holder, with any registry. */
const HOLDER_FAULTS = [
  'ceiling used before it is stored',
  'renew timeout taken as success',
  'ids after release',
  'new floor in a renew answer ignored',
  'FENCED ignored',
  'holder ignores the floor',
  'an answer applied to another lease than it was asked for',
  'token derived from the host',
];

let results: Result[] = [];

beforeAll(async () => {
  const script = fileURLToPath(new URL('prove.mjs', import.meta.url));
  const run = promisify(execFile)(process.execPath, [script, '--json'], {
    maxBuffer: 1e8,
  });
  // If a result is unexpected, the command ends with code 1. The tests below report which.
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  results = JSON.parse(stdout) as Result[];
});

describe('every rule keeps every invariant, and each broken rule loses one', () => {
  /** The minimum counts. A lower count means that some questions are missing. */
  test.each([
    ['lease', 52, 49],
    ['layouts', 18, 7],
    ['memory', 22, 8],
    ['locks', 29, 22],
    ['counters', 12, 15],
    ['clock counters', 9, 11],
  ])('%s: %d obligations, %d broken rules', (title, proved, broken) => {
    const own = results.filter(({ system }) => system === title);
    expect(own.filter(({ isAsExpected }) => !isAsExpected)).toEqual([]);
    expect(own.filter(({ kind }) => kind === 'proved').length).toBeGreaterThanOrEqual(proved);
    expect(own.filter(({ kind }) => kind === 'broken').length).toBeGreaterThanOrEqual(broken);
  });
});

const brokenOf = (titles: readonly string[]): string[] =>
  SYSTEMS.filter(({ title }) => titles.includes(title)).flatMap(({ rules, survives }) => [
    ...Object.values(rules).flatMap(({ broken }) => Object.keys(broken)),
    ...Object.keys(survives),
  ]);

const namesOf = (mutants: readonly { readonly name: string }[]) => mutants.map(({ name }) => name);

test.each([
  [
    'a lease',
    ['lease', 'layouts', 'memory'],
    namesOf([...REGISTRY_MUTANTS, ...RULE_MUTANTS, ...TIME_MUTANTS]),
  ],
  ['its holder', ['lease'], HOLDER_FAULTS],
  ['a lock', ['locks'], namesOf(LOCK_MUTANTS)],
  ['a counter', ['counters', 'clock counters'], namesOf(COUNTER_MUTANTS)],
])('the proof contains each broken rule of %s', (_what, titles, names) => {
  const known = brokenOf(titles);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

it('each rule names an existing file', () => {
  const files = SYSTEMS.flatMap(({ rules }) => Object.values(rules).map(({ file }) => file ?? ''));
  expect(files.filter((file) => !existsSync(`${ROOT}${file}`))).toEqual([]);
});

describe('a formula', () => {
  it.each([
    ['a.b <= 1 and not c => d or e', '(=> (and (<= a.b 1) (not c)) (or d e))'],
    ['a => b => c', '(=> a (=> b c))'],
    ['a - b - c * 2 != d / 2', '(distinct (- (- a b) (* c 2)) (div d 2))'],
    ['max(a, b, c)', '(ite (>= (ite (>= a b) a b) c) (ite (>= a b) a b) c)'],
    ['if a then b else if c then d else e', '(ite a b (ite c d e))'],
  ])('%s', (text, smt) => {
    expect(formula(text, (name) => name)).toBe(smt);
  });

  it.each(['a +', '(a', 'a b', 'a & b', 'most(a)', ''])('rejects %j', (text) => {
    expect(() => formula(text, (name) => name)).toThrow(text);
  });
});
