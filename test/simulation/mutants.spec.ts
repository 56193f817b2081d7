/**
 * The attack attacked: every broken variant of the protocol must be seen to break its promise by
 * some seed, and the variants that are safe must not. `npm run simulate -- --mutants`
 * is the long run.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import {
  BROKEN_VARIANTS,
  REGISTRY_MUTANTS,
  SAFE_VARIANTS,
  TIME_MUTANTS,
} from '../mutants/mutants.mjs';
import { RULE_MUTANTS } from '../mutants/registry-mutants.mjs';
import {
  followedMutants,
  judgeMutant,
  refusalOf,
  runsOf,
  SimulationThreads,
  UNSEEN,
} from './run-simulations.mjs';
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

  // All of them: `npm run simulate -- --follow --mutants`.
  it.each([
    ['no floor at re-grant', '"a worker id is leased"; the answer begins at'],
    ['renew answers but does not store', '"a lease is renewed"; a.c is'],
    ['release without token check', '"a worker id is released" needs token = s.holder'],
    ['no quarantine of a new registry', '"a server takes over"; a.safe is'],
    ['range extended across an era', '"a lease is renewed" needs s.holderEra = s.era'],
    ['the floor of the last loss does not move', '"a ttl is asked for"; a.safe is'],
  ])('is told at which operation it leaves the rules that are proved: %s', async (name, where) => {
    const mutant = followedMutants().find((one) => one.name === name)!;
    expect(await refusalOf(mutant, threads)).toContain(where);
  });

  it('knows why the rules cannot tell some variants from the code', () => {
    const names = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...RULE_MUTANTS].map(({ name }) => name);
    expect([...UNSEEN.keys()].filter((name) => !names.includes(name))).toEqual([]);
  });

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
