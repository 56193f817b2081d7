/**
 * Two regions, cut off from each other and from the registry of regions again and again, or all the
 * time, in simulated hours: with numbers of their own no id is made twice and no conflict is
 * reported; with one number ids are made twice, which is reported within a minute.
 * `npm run simulate -- --regions` is the long run, of an hour and ten million ids.
 */
import { describe, expect, it } from '@jest/globals';
import { REGION_MUTANTS } from '../mutants/lease-mutants.mjs';
import { loadRegions } from '../mutants/load-library.mjs';
import { regionFaults, simulateRegions } from './world/regions.js';

const MINUTE_MS = 60_000;
const run = (seed: number, minutes = 60) => ({ seed, durationMs: minutes * MINUTE_MS });
const apart = (seed: number, minutes?: number) =>
  ({ ...run(seed, minutes), numbers: [3, 4] }) as const;
const equal = (seed: number, minutes?: number) =>
  ({ ...run(seed, minutes), numbers: [3, 3] }) as const;

describe('two regions for a simulated hour', () => {
  it.each([2, 3, 17])('make no id twice with numbers of their own, seed %i', async (seed) => {
    const report = await simulateRegions(apart(seed));
    expect(report).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(report.idCount).toBeGreaterThan(100_000);
    expect(report.faults['region cut off']).toBeGreaterThan(0);
  });

  it.each([2, 3, 17])('make ids twice with one number, which is told, seed %i', async (seed) => {
    const report = await simulateRegions(equal(seed));
    expect(regionFaults(report)).toEqual([]);
    expect(report.twiceCount).toBeGreaterThan(1000);
  });

  it('make no id twice where nobody reaches the registry of regions all the time', async () => {
    const lonely = { isApart: true, burst: 240 };
    const own = await simulateRegions({ ...apart(4, 10), ...lonely });
    expect(own).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(own.idCount).toBeGreaterThan(1_000_000);
    const same = await simulateRegions({ ...equal(4, 10), ...lonely });
    expect(same.twiceCount).toBeGreaterThan(100_000);
    expect(regionFaults(same)).toEqual([]);
  });

  it('are decided by their seed', async () => {
    expect(await simulateRegions(apart(7, 6))).toEqual(await simulateRegions(apart(7, 6)));
  });
});

describe('a claim', () => {
  it.each(REGION_MUTANTS)('is noticed where $name', async ({ edits, tryFirst }) => {
    const { simulateRegions: mutated } = await loadRegions(edits);
    const found: string[] = [];
    const { seed } = tryFirst ?? { seed: 2 };
    for (const run of [apart(seed), equal(seed)]) {
      if (found.length === 0) found.push(...regionFaults(await mutated(run)));
    }
    expect(found).not.toEqual([]);
  });
});
