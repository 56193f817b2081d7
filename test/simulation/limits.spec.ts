/**
 * Mistakes of operators that no rule can make good for altogether: a ceiling on what they may cost,
 * and for each rule a fleet whose ids it keeps apart and which makes some twice without it.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { RULE_MUTANTS } from '../mutants/registry-mutants.mjs';
import { runsOf, runSimulations, SimulationThreads } from './run-simulations.mjs';

const threads = new SimulationThreads();
afterAll(() => threads.close());

const SEEDS = Array.from({ length: 12 }, (_, n) => n + 1);

/** Ids made twice, and of them those of which the registry could have known, in all the seeds. */
async function twiceIn(
  scenario: string,
  seeds: number[],
  edits?: (typeof RULE_MUTANTS)[number]['edits'],
) {
  const sum = { ids: 0, twice: 0, live: 0, violations: 0 };
  await runSimulations(runsOf([scenario], seeds), {
    edits: edits ?? [],
    threads,
    onReport({ idCount, twiceCount, liveTwiceCount, violationCount }) {
      sum.ids += idCount;
      sum.twice += twiceCount;
      sum.live += liveTwiceCount;
      sum.violations += violationCount;
    },
  });
  return sum;
}

describe('mistakes of operators', () => {
  it.each([
    ['relayout', 20],
    ['misconfigured', 40],
    ['ttls', 400],
    ['step back, then loss, newcomers', 0],
  ])(
    'of the kind %s make at most %i ids twice in 12 fleets',
    async (scenario, most) => {
      const { ids, twice, violations } = await twiceIn(scenario, SEEDS);
      expect(ids).toBeGreaterThan(400_000);
      expect(violations).toBe(0);
      expect(twice).toBeLessThanOrEqual(most);
    },
    300_000,
  );

  it.each(RULE_MUTANTS)(
    'would make more without a rule: $name',
    async (mutant) => {
      const { scenario, seed, edits } = mutant;
      const bad = ({ live, violations }: { live: number; violations: number }) => live + violations;
      expect(bad(await twiceIn(scenario, [seed]))).toBe(0);
      expect(bad(await twiceIn(scenario, [seed], edits))).toBeGreaterThan(0);
    },
    120_000,
  );
});
