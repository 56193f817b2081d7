/**
 * The short run of the simulation: fleets in a bad world make no id twice, and what they did to
 * the registry in memory gets the same answers from the Lua on a real Redis.
 * The long run is `npm run simulate`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SCENARIOS, simulate, type StoreEvent } from '../../lib/testing/index.js';
import { replay } from './replay.js';

const SEED_COUNT = 40;

describe('simulated fleets', () => {
  let redis: Redis;
  let callCount = 0;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  it.each(SCENARIOS)(
    'make no id twice: $name, $about',
    async ({ name: scenario, faults }) => {
      const seen: Record<string, number> = {};
      for (let seed = 1; seed <= SEED_COUNT; seed++) {
        const events: StoreEvent[] = [];
        const report = await simulate({ seed, scenario, record: (event) => events.push(event) });
        expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
        expect(report.idCount).toBeGreaterThan(300);
        expect({
          seed,
          differences: await replay(redis, `replay:${scenario}:${seed}`, events),
        }).toEqual({ seed, differences: [] });
        callCount += report.operationCount;
        for (const [fault, count] of Object.entries(report.faults))
          seen[fault] = (seen[fault] ?? 0) + count;
      }
      // A fault that never happened proves nothing.
      expect(Object.keys(seen)).toEqual(expect.arrayContaining([...faults]));
    },
    120_000,
  );

  it('have put the same questions to both registries at least 100,000 times', () => {
    expect(callCount).toBeGreaterThanOrEqual(100_000);
  });

  it('are decided by their seed alone', async () => {
    const told = async (): Promise<string[]> => {
      const lines: string[] = [];
      await simulate({ seed: 5, scenario: 'everything', trace: (line) => lines.push(line) });
      return lines;
    };
    expect(await told()).toEqual(await told());
  });

  it('are refused by the name of a scenario that does not exist', async () => {
    await expect(simulate({ seed: 1, scenario: 'peace' })).rejects.toThrow(
      'Expected `scenario` to be one of network, clocks, processes, crowd, losses, split-brain, ' +
        'clones, everything, got peace.',
    );
  });
});
