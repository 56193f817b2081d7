/**
 * No lock has two holders in simulated stores that lose data, and no write of an older holder
 * passes a resource that compares tokens; the simulation is seen to notice what is broken.
 */
import { describe, expect, it } from '@jest/globals';
import { HOLDER_MUTANTS, LOCK_MUTANTS } from '../mutants/lock-mutants.mjs';
import { loadLockSimulation } from '../mutants/load-library.mjs';
import { runs } from '../runs.js';
import { simulate } from './lock-simulation.js';

const SEED_COUNT = runs(12);
/** Where the seed that is known to show it no longer does. */
const SEED_MAX = 20;

describe('locks in stores that lose data', () => {
  it('have one holder before its deadline, and tokens that rise', async () => {
    let [sectionCount, lossCount, lostCount] = [0, 0, 0];
    let [openCount, fencedCount, refusedCount] = [0, 0, 0];
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const result = await simulate({ seed });
      expect([seed, result.twice]).toEqual([seed, []]);
      sectionCount += result.sectionCount;
      lossCount += result.lossCount;
      lostCount += result.lostCount;
      openCount += result.outOfOrderCount;
      fencedCount += result.fencedOutOfOrderCount;
      refusedCount += result.refusedCount;
    }
    // What it proves rests on what has happened.
    expect(sectionCount).toBeGreaterThan(SEED_COUNT * 8);
    expect(lossCount).toBeGreaterThan(SEED_COUNT);
    expect(lostCount).toBeGreaterThan(SEED_COUNT / 2);
    expect(fencedCount).toBe(0);
    expect(Math.min(openCount, refusedCount)).toBeGreaterThan(0);
  });

  const format = [...LOCK_MUTANTS, ...HOLDER_MUTANTS].filter(({ seed }) => seed !== undefined);
  it.each(format)('have two where $name', async ({ edits, seed }) => {
    const broken = await loadLockSimulation(edits);
    let isSeen = false;
    for (let next = 0; next <= SEED_MAX && !isSeen; next++) {
      const { twice } = await broken.simulate({ seed: next === 0 ? seed! : next });
      isSeen = twice.length > 0;
    }
    expect(isSeen).toBe(true);
  });
});
