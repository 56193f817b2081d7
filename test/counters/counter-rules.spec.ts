/**
 * No position is granted twice in simulated stores that lose data; and both the simulation and the
 * contract suite are seen to notice each rule of counters that is broken.
 */
import { describe, expect, it } from '@jest/globals';
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { COUNTER_CASES } from '../../lib/testing/describe-counter-store.js';
import { describeCounterStore } from '../../lib/testing/index.js';
import { COUNTER_MUTANTS } from '../mutants/counter-mutants.mjs';
import { loadCounterSimulation, loadLibrary } from '../mutants/load-library.mjs';
import { runs } from '../runs.js';
import { simulate } from './counter-simulation.js';
import { memoryCounterStore } from './settable-counters.js';

const SEED_COUNT = runs(60);
/** Where the seed that is known to show it no longer does. */
const SEED_MAX = 300;

/** The cases of the suite that a store fails. */
async function failuresOf(Map_: new () => CounterMap): Promise<string[]> {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  const test = (name: string, run: () => Promise<void>) => void cases.push({ name, run });
  describeCounterStore({ test, expect, ...memoryCounterStore(Map_) });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

describe('counters in stores that lose data', () => {
  it('grant no position twice', () => {
    let [grantCount, lossCount] = [0, 0];
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const result = simulate(seed);
      const { drawn, twice } = result;
      expect({ seed, drawn, twice }).toEqual({ seed, drawn, twice: [] });
      grantCount += result.grantCount;
      lossCount += result.lossCount;
    }
    expect(grantCount).toBeGreaterThan(SEED_COUNT * 50);
    expect(lossCount).toBeGreaterThan(SEED_COUNT * 3);
  });

  const format = COUNTER_MUTANTS.filter(({ seed }) => seed !== undefined);
  it.each(format)('grant positions twice where $name', async ({ edits, seed }) => {
    const broken = await loadCounterSimulation(edits);
    let isSeen = false;
    for (let next = 0; next <= SEED_MAX && !isSeen; next++) {
      isSeen = broken.simulate(next === 0 ? seed! : next).twice.length > 0;
    }
    expect(isSeen).toBe(true);
  });
});

describe('the contract suite of counters', () => {
  it('passes the rules as they are', async () => {
    expect(await failuresOf(CounterMap)).toEqual([]);
    expect(COUNTER_CASES.length).toBeGreaterThan(40);
  });

  const tried = COUNTER_MUTANTS.filter(({ by }) => by !== undefined);
  it.each(tried)('rejects: $name', async ({ edits, by }) => {
    const loaded = await loadLibrary(edits, 'stores/memory/memory-counters.ts');
    const { CounterMap: Mutant } = loaded as { CounterMap: typeof CounterMap };
    expect(await failuresOf(Mutant)).toContain(by);
  });
});
