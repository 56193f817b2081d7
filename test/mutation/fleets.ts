/**
 * The last specs of `npm run mutate`, for changes that no other spec detects: simulated fleets,
 * counters and locks, with few seeds. `npm test` skips this file, since it runs more of them.
 */
import { describe, expect, it } from '@jest/globals';
import { simulate as simulateCounters } from '../counters/counter-simulation.js';
import { simulate as simulateLocks } from '../lock/lock-simulation.js';
import { SCENARIOS, simulate } from '../simulation/world/index.js';

const SEEDS = [1, 2];
const FAIR = SCENARIOS.filter(({ tolerates }) => tolerates === undefined);

describe('simulated fleets', () => {
  it.each(FAIR)('generate no duplicate ID: $name', async ({ name }) => {
    const { violations, idCount } = await simulate({ seed: 1, scenario: name });
    expect(violations).toEqual([]);
    expect(idCount).toBeGreaterThan(0);
  });

  it.each(SEEDS)('are granted no position of a counter again: seed %i', (seed) => {
    expect(simulateCounters(seed).twice).toEqual([]);
  });

  it.each(SEEDS)('have one holder of a lock: seed %i', async (seed) => {
    expect((await simulateLocks({ seed })).twice).toEqual([]);
  });
});
