/**
 * Two regions, cut off from each other and from the registry of regions again and again, in
 * simulated hours: with numbers of their own no id is made twice and no conflict is reported; with
 * one number ids are made twice, which is reported within a minute; and the faults that a claim
 * could have are noticed by one of both.
 */
import { describe, expect, it } from '@jest/globals';
import { REGION_MUTANTS } from '../mutants/lease-mutants.mjs';
import { loadRegions } from '../mutants/load-library.mjs';
import { simulateRegions, type RegionReport } from './regions-world.js';

const HOUR_MS = 3_600_000;
const own = (seed: number, durationMs = HOUR_MS) => ({
  seed,
  numbers: [3, 4] as const,
  durationMs,
});
const same = (seed: number, durationMs = HOUR_MS) => ({
  seed,
  numbers: [3, 3] as const,
  durationMs,
});

/** What is wrong with regions that have their own numbers, and with two that have one. */
function faultsOf(apart: RegionReport, equal: RegionReport): string[] {
  return [
    ...apart.wrong,
    ...(apart.twiceCount > 0 ? [`${apart.twiceCount} ids twice`] : []),
    ...(apart.conflictCount > 0 ? ['a conflict of regions with numbers of their own'] : []),
    ...(equal.conflictCount > 0 ? [] : ['no conflict of regions with one number']),
    ...(equal.unnoticedMs < 60_000 ? [] : [`a conflict unnoticed for ${equal.unnoticedMs} ms`]),
  ];
}

const SEEDS = [1, 2, 3];

describe('two regions for a simulated hour', () => {
  it.each(SEEDS)('make no id twice with numbers of their own, seed %i', async (seed) => {
    const report = await simulateRegions(own(seed));
    expect(report).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(report.idCount).toBeGreaterThan(100_000);
    expect(report.faults['region cut off']).toBeGreaterThan(0);
    expect(report.told['error']).toBe(0);
  });

  it.each(SEEDS)('make ids twice with one number, which is told, seed %i', async (seed) => {
    const report = await simulateRegions(same(seed));
    expect(report.twiceCount).toBeGreaterThan(1000);
    expect(report.conflictCount + report.refusedStartCount).toBeGreaterThan(0);
    expect(report.unnoticedMs).toBeLessThan(60_000);
  });

  it('are decided by their seed', async () => {
    const run = { ...own(7), durationMs: HOUR_MS / 10 };
    expect(await simulateRegions(run)).toEqual(await simulateRegions(run));
  });
});

describe('a claim', () => {
  it.each(REGION_MUTANTS)('is noticed where $name', async ({ edits }) => {
    const { simulateRegions: mutated } = await loadRegions(edits);
    const runs = [await mutated(own(1, HOUR_MS / 2)), await mutated(same(1, HOUR_MS / 2))] as const;
    expect(faultsOf(...runs)).not.toEqual([]);
  });

  it('is not told wrong as it is', async () => {
    const { simulateRegions: intact } = await loadRegions();
    const runs = [await intact(own(1, HOUR_MS / 2)), await intact(same(1, HOUR_MS / 2))] as const;
    expect(faultsOf(...runs)).toEqual([]);
  });
});
