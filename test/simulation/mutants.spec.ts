/**
 * The attack attacked: every broken variant of the protocol must be seen to break its promise by
 * some seed, and the variants that are safe must not. `npm run simulate -- --mutants`
 * is the long run.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { BROKEN_VARIANTS, SAFE_VARIANTS } from '../mutants/mutants.mjs';
import { judgeMutant, runsOf, SimulationThreads } from './run-simulations.mjs';
import { SCENARIOS } from './world/index.js';

const scenarios = SCENARIOS.filter(({ tolerates }) => !tolerates).map(({ name }) => name);
const seeds = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

describe('the simulation', () => {
  const threads = new SimulationThreads();
  afterAll(() => threads.close());

  it.each(BROKEN_VARIANTS)(
    'kills: $name',
    async (mutant) => {
      const verdict = await judgeMutant(mutant, runsOf(scenarios, seeds(60)), {
        shouldDie: true,
        threads,
      });
      expect(verdict).toMatchObject({ isKilled: true });
    },
    120_000,
  );

  it.each(SAFE_VARIANTS)(
    'lets live: $name',
    async (mutant) => {
      const verdict = await judgeMutant(mutant, runsOf(scenarios, seeds(1)), {
        shouldDie: false,
        threads,
      });
      expect(verdict).toMatchObject({ isKilled: false });
    },
    120_000,
  );
});
