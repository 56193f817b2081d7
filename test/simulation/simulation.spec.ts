/**
 * The short run of the simulation: fleets in a bad world make no id twice, and what they did to
 * the registry in memory gets the same answers from the Lua on a real Redis.
 * The long run is `npm run simulate`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SCENARIOS, simulate } from './world/index.js';
import { runsOf } from './judge-mutants.mjs';
import { replay } from './replay.js';
import { runSimulations } from './run-simulations.mjs';

const SEEDS = Array.from({ length: 18 }, (_, n) => n + 1);
/** Each takes twice as long. */
const ROWS_SEED_COUNT = 16;

describe('simulated fleets', () => {
  let redis: Redis;
  let callCount = 0;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  it.each(SCENARIOS.filter(({ tolerates }) => tolerates === undefined))(
    'make no id twice: $name, $about',
    async ({ name: scenario, faults, isOverRows = false }) => {
      const seen = new Set<string>();
      const bad: unknown[] = [];
      const replays: Promise<unknown[]>[] = [];
      const seeds = isOverRows ? SEEDS.slice(0, ROWS_SEED_COUNT) : SEEDS;
      await runSimulations(runsOf([scenario], seeds), {
        records: true,
        onReport(report, events) {
          const { seed, idCount, violations } = report;
          if (violations.length > 0 || idCount < 300) bad.push({ seed, idCount, violations });
          // Operations on rows are no scripts.
          if (isOverRows) expect(events.filter(({ kind }) => kind === 'call')).toEqual([]);
          else replays.push(replay(redis, `replay:${scenario}:${seed}`, events));
          callCount += isOverRows ? 0 : report.operationCount;
          for (const fault of Object.keys(report.faults)) seen.add(fault);
        },
      });
      expect(bad).toEqual([]);
      expect((await Promise.all(replays)).flat()).toEqual([]);
      // A fault that never happened proves nothing.
      expect([...seen]).toEqual(expect.arrayContaining([...faults]));
    },
  );

  it('have put the same questions to both registries at least 100,000 times', () => {
    expect(callCount).toBeGreaterThanOrEqual(100_000);
  });

  it('are decided by their seed alone', async () => {
    const told = async (): Promise<string[]> => {
      const lines: string[] = [];
      await simulate({ seed: 5, scenario: 'processes', trace: (line) => lines.push(line) });
      return lines;
    };
    expect(await told()).toEqual(await told());
  });

  it('are refused by the name of a scenario that does not exist', async () => {
    await expect(simulate({ seed: 1, scenario: 'peace' })).rejects.toThrow(
      'Expected `scenario` to be one of network, clocks, processes, crowd, losses, split-brain, ' +
        'clones, everything, create, relayout, misconfigured, ttls, claims, wide, rows, got peace.',
    );
  });
});
