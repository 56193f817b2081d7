/**
 * No position is granted twice in simulated stores that lose data; and both the simulation and the
 * contract suite are seen to notice each rule of counters that is broken.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryCounters } from '../../lib/index.js';
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { countersOf } from '../../lib/stores/schemes.js';
import { COUNTER_CASES } from '../../lib/testing/describe-stores.js';
import { describeCounterStore, SettableTime } from '../../lib/testing/index.js';
import { COUNTER_MUTANTS } from '../mutants/counter-mutants.mjs';
import { loadCounterSimulation, loadLibrary } from '../mutants/load-library.mjs';
import { runs } from '../until.js';
import { simulate } from './counter-simulation.js';
import { memoryCounterStore } from './settable-counters.js';

const SEED_COUNT = runs(60);
/** Where the seed that is known to show it no longer does. */
const SEED_MAX = 300;

/** The cases of the suite that a store fails. */
async function failuresOf(Map_: new () => CounterMap): Promise<string[]> {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  const test = (name: string, run: () => Promise<void>) => void cases.push({ name, run });
  describeCounterStore({ test, expect, ...memoryCounterStore(Map_) });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

describe('counters in stores that lose data', () => {
  it('grant no position twice', () => {
    let [grantCount, lossCount] = [0, 0];
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const result = simulate(seed);
      const { drawn, twice } = result;
      expect({ seed, drawn, twice }).toEqual({ seed, drawn, twice: [] });
      grantCount += result.grantCount;
      lossCount += result.lossCount;
    }
    expect(grantCount).toBeGreaterThan(SEED_COUNT * 50);
    expect(lossCount).toBeGreaterThan(SEED_COUNT * 3);
  });

  const format = COUNTER_MUTANTS.filter(({ seed }) => seed !== undefined);
  it.each(format)('grant positions twice where $name', async ({ edits, seed }) => {
    const broken = await loadCounterSimulation(edits);
    let isSeen = false;
    for (let next = 0; next <= SEED_MAX && !isSeen; next++) {
      isSeen = broken.simulate(next === 0 ? seed! : next).twice.length > 0;
    }
    expect(isSeen).toBe(true);
  });
});

describe('the contract suite of counters', () => {
  it('passes the rules as they are', async () => {
    expect(await failuresOf(CounterMap)).toEqual([]);
    expect(COUNTER_CASES.length).toBeGreaterThan(40);
  });

  const tried = COUNTER_MUTANTS.filter(({ by }) => by !== undefined);
  it.each(tried)('rejects: $name', async ({ edits, by }) => {
    const loaded = await loadLibrary(edits, 'stores/memory/memory-counters.ts');
    const { CounterMap: Mutant } = loaded as { CounterMap: typeof CounterMap };
    expect(await failuresOf(Mutant)).toContain(by);
  });
});

/*
 * The reference rules keep the contract: with a loss window and without one, and in the store that
 * applications use.
 */
describe('counters in memory that lose what is younger than five seconds', () => {
  describeCounterStore({ test: it, expect, ...memoryCounterStore(CounterMap) });
});

describe('counters in memory that lose nothing', () => {
  describeCounterStore({ test: it, expect, ...memoryCounterStore(CounterMap, 0) });
});

describe('MemoryCounters', () => {
  const clock = new SettableTime();
  const stores = new Map<string, MemoryCounters>();
  describeCounterStore({
    test: it,
    expect,
    createStore(name) {
      const store = stores.get(name) ?? new MemoryCounters({ clock });
      stores.set(name, store);
      return store;
    },
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    leaveOut: ['losses'],
  });
});

describe('a URL', () => {
  it('leads to the counters of its store, where that has any', async () => {
    const redis = await countersOf('redis://localhost:1?namespace=shop');
    expect(redis.location).toBe('Redis at localhost:1, database 0, snowflake:{shop}:counters');
    const sql = await countersOf('postgres://app@localhost/shop?namespace=a');
    expect(sql.location).toContain('table snowflake_counters, namespace a');
    expect(sql.lossWindowMs).toBe(16_000);
    for (const url of ['etcd://localhost', 'file:./x', 'static:1', 'nothing']) {
      await expect(countersOf(url)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });
});
