/**
 * The short run of the simulation: fleets in a bad world make no id twice, and what they did to
 * the registry in memory gets the same answers from the Lua on a real Redis.
 * The long run is `npm run simulate`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SCENARIOS, simulate, type SimulationReport, type StoreEvent } from './world/index.js';
import { runsOf, runSimulations } from './run-simulations.mjs';
import { replay } from './replay.js';

const SEEDS = Array.from({ length: 14 }, (_, n) => n + 14);
/** Of fleets that went wrong once, in place of as many others. */
const HELD = new Map([['there and back', [366, 1412]]]);

const STRICT = SCENARIOS.filter(({ tolerates }) => tolerates === undefined);

/** What the fleets of one scenario did. */
interface Seen {
  readonly bad: unknown[];
  readonly faults: Set<string>;
  readonly replays: Promise<unknown[]>[];
}

describe('simulated fleets', () => {
  const seen = new Map<string, Seen>();
  let redis: Redis;
  let callCount = 0;
  // All in one, by threads that have run others before: code that is warm takes half as long.
  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    const all = STRICT.flatMap(({ name }) => {
      const held = HELD.get(name) ?? [];
      return runsOf([name], [...SEEDS.slice(held.length), ...held]);
    });
    for (const { name } of STRICT) seen.set(name, { bad: [], faults: new Set(), replays: [] });
    await runSimulations(all, { records: true, onReport: note });
  });
  afterAll(() => redis.quit());

  function note(report: SimulationReport, events: StoreEvent[]): void {
    const { scenario, seed, drawn, idCount, violations, operationCount } = report;
    const { bad, faults, replays } = seen.get(scenario)!;
    if (violations.length > 0 || idCount < 300) bad.push({ seed, drawn, idCount, violations });
    for (const fault of Object.keys(report.faults)) faults.add(fault);
    const { isOverRows = false } = STRICT.find(({ name }) => name === scenario)!;
    // Operations on rows are no scripts.
    const calls = isOverRows ? events.filter(({ kind }) => kind === 'call') : [];
    if (calls.length > 0) bad.push({ seed, drawn, calls });
    if (isOverRows) return;
    const replayed = replay(redis, `replay:${scenario}:${seed}`, events);
    replays.push(replayed.then((found) => found.map((each) => ({ seed, drawn, ...each }))));
    callCount += operationCount;
  }

  it.each(STRICT)('make no id twice: $name, $about', async ({ name, faults: wanted }) => {
    const { bad, faults, replays } = seen.get(name)!;
    expect(bad).toEqual([]);
    expect((await Promise.all(replays)).flat()).toEqual([]);
    // A fault that never happened proves nothing.
    expect([...faults]).toEqual(expect.arrayContaining([...wanted]));
  });

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
        'clones, everything, create, relayout, misconfigured, ttls, claims, wide, rows, ' +
        'step back, then loss, step back, then loss, newcomers, step forward for seconds, ' +
        'there and back, got peace.',
    );
  });
});
