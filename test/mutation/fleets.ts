/**
 * What `npm run mutate` asks where no spec has noticed a change: simulated fleets, counters and
 * locks, of few seeds. It is no spec of `npm test`, which has more of them.
 */
import { describe, expect, it } from '@jest/globals';
import { simulate as simulateCounters } from '../counters/counter-simulation.js';
import { simulate as simulateLocks } from '../lock/lock-simulation.js';
import { SCENARIOS, simulate } from '../simulation/world/index.js';

const SEEDS = [1, 2];
const FAIR = SCENARIOS.filter(({ tolerates }) => tolerates === undefined);

describe('simulated fleets', () => {
  it.each(FAIR)('make no id twice: $name', async ({ name }) => {
    const { violations, idCount } = await simulate({ seed: 1, scenario: name });
    expect(violations).toEqual([]);
    expect(idCount).toBeGreaterThan(0);
  });

  it.each(SEEDS)('are granted no position of a counter twice: seed %i', (seed) => {
    expect(simulateCounters(seed).twice).toEqual([]);
  });

  it.each(SEEDS)('have one holder of a lock: seed %i', async (seed) => {
    expect((await simulateLocks({ seed })).twice).toEqual([]);
  });
});
