/**
 * The protocol within bounds that take seconds; `npm run model` goes further. Every step of the
 * store is the real MemoryRegistry, so a rule broken there fails here with the shortest story.
 * It runs in a process of its own, since it is four times slower among the modules of Jest.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import type { Exploration } from './explorer.mjs';
import { BROKEN, CORRECT_QUICK, LIMITS, SAFE_QUICK, type Variant } from './variants.mjs';

const SCRIPT = fileURLToPath(new URL('../../scripts/model.mjs', import.meta.url));

const results = new Map<string, Exploration>();

beforeAll(async () => {
  const run = promisify(execFile)(process.execPath, [SCRIPT, '--quick', '--json']);
  // A result that is not as expected ends the script with code 1; the tests below say which.
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const { found } = JSON.parse(stdout) as { found: { name: string; result: Exploration }[] };
  for (const { name, result } of found) results.set(name, result);
});

const namesOf = (variants: readonly Variant[]): string[] => variants.map(({ name }) => name);

describe('the lease protocol, in every order of events', () => {
  /** How many states there were when this was written: fewer, and something stopped happening. */
  const states: [string, number][] = [
    ['no loss', 37_677],
    ['no loss, clock steps', 18_332],
    ['three processes', 4_675],
    ['one loss', 47_435],
    ['two losses', 22_142],
    ['the old server goes on', 6_842],
    ['a copied process', 52_698],
    ['claims', 5_590],
  ];

  it('is tried within all the bounds there are', () => {
    expect(states.map(([name]) => name)).toEqual(namesOf(CORRECT_QUICK));
  });

  test.each(states)('%s: no two leases overlap in any of %d states', (name, count) => {
    const { counterexample, ...result } = results.get(name)!;
    expect(counterexample).toBeUndefined();
    expect(result.states).toBeGreaterThanOrEqual(count);
  });

  test.each(namesOf(SAFE_QUICK))('%s: safe all the same', (name) => {
    expect(results.get(name)!.counterexample).toBeUndefined();
  });
});

describe('a broken protocol has a counterexample', () => {
  test.each(namesOf(BROKEN))('%s', (name) => {
    expect(results.get(name)!.counterexample!.at(-1)).toMatch(/may both make ids in \[/);
  });

  test.each(namesOf(LIMITS))('known limit: %s', (name) => {
    expect(results.get(name)!.counterexample).toBeDefined();
  });

  it('which tells the steps in order, with the answers of the registry', () => {
    expect(results.get('release clears the ceiling')!.counterexample).toEqual([
      '#4 starts and asks for a worker id',
      '#6 starts and asks for a worker id',
      'the store runs acquire of #4: OK, worker id 0 for [0, 2)',
      '#4 hears: OK, worker id 0 for [0, 2)',
      '#4 stops and asks to release, its last id in tick 0',
      'the store runs release (worker id 0, last 0) of #4: done',
      'the store runs acquire of #6: OK, worker id 0 for [0, 2)',
      '#6 hears: OK, worker id 0 for [0, 2)',
      'worker id 0: #6 and a lease that is gone may both make ids in [0, 1)',
    ]);
  });
});
