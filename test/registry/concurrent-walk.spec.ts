/**
 * No two holders of a registry over rows have ranges that overlap, in whatever order their steps
 * come; and the walk is seen to notice each rule that a store or the support around it breaks.
 */
import { describe, expect, it } from '@jest/globals';
import { loadWalk } from '../mutants/load-library.mjs';
import { ROWS_MUTANTS } from '../mutants/rows-mutants.mjs';
import { walk, type WalkResult } from './concurrent-walk.js';
import type { StoreFault } from './walk-store.js';

const SEED_COUNT = 200;
/** Where the seed that is known to show it no longer does. */
const SEED_MAX = 5000;

type Walk = (seed: number) => Promise<WalkResult>;

async function isSeen(taken: Walk, knownSeed: number): Promise<boolean> {
  for (let seed = 0; seed <= SEED_MAX; seed++) {
    const { overlaps } = await taken(seed === 0 ? knownSeed : seed);
    if (overlaps.length > 0) return true;
  }
  return false;
}

describe('processes that ask a store of rows at the same time', () => {
  it('never hold overlapping ranges of one worker id', async () => {
    let grantCount = 0;
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const result = await walk(seed);
      expect([seed, result.overlaps]).toEqual([seed, []]);
      grantCount += result.grantCount;
    }
    expect(grantCount).toBeGreaterThan(SEED_COUNT * 5);
  });

  const faults: [fault: StoreFault, knownSeed: number][] = [
    ['row version', 3],
    ['header version', 343],
    ['one server name', 6],
    ['versions begin again', 20],
  ];
  it.each(faults)('are seen to overlap in a store that gets wrong: %s', async (fault, seed) => {
    expect(await isSeen((one) => walk(one, fault), seed)).toBe(true);
  });

  it.each(ROWS_MUTANTS)('are seen to overlap where $name', async ({ edits, seed }) => {
    const broken = await loadWalk(edits);
    expect(await isSeen(broken.walk, seed)).toBe(true);
  });
});
