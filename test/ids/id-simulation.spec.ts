/**
 * Simulated processes make no id twice with any seed, none too low, too old or after their stop;
 * each broken variant does something of it with one of the same seeds.
 */
import { describe, expect, it } from '@jest/globals';
import { loadIdSimulation } from '../mutants/load-library.mjs';
import { ID_MUTANTS } from '../mutants/id-mutants.mjs';
import { runs } from '../runs.js';
import { simulate, type Outcome } from './id-simulation.js';

const SEED_COUNT = runs(20);
const RIGHT = { twiceCount: 0, downCount: 0, staleCount: 0, afterStopCount: 0 };

const isWrong = ({ twiceCount, downCount, staleCount, afterStopCount }: Outcome): boolean =>
  twiceCount + downCount + staleCount + afterStopCount > 0;

describe.each([1, 2, 3])('processes on %i stores', (storeCount) => {
  it('make no id twice, whatever the stores do', async () => {
    let idCount = 0;
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const outcome = await simulate(seed, storeCount);
      expect({ seed, ...outcome }).toMatchObject(RIGHT);
      idCount += outcome.idCount;
    }
    expect(idCount).toBeGreaterThan(SEED_COUNT * 100);
  });
});

describe('mutant', () => {
  it.each(ID_MUTANTS)('$name', async ({ edits, storeCount = 1 }) => {
    const mutated = await loadIdSimulation(edits);
    let isCaught = false;
    for (let seed = 1; seed <= 20 * SEED_COUNT && !isCaught; seed++) {
      isCaught = isWrong(await mutated.simulate(seed, storeCount));
    }
    expect(isCaught).toBe(true);
  });
});
