/**
 * The clock of a registry never goes back, whatever the clocks below it do.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { readRegistry } from '../../lib/stores/redis/redis-view.js';
import { newHeader } from '../../lib/registry/prologue.js';
import { highest, nowOf, slewed, type ClockPolicy } from '../../lib/rows/store-clock.js';
import { release } from '../../lib/registry/renew.js';
import { headerRow } from '../../lib/registry/stored-snapshot.js';
import { RowInspector } from '../../lib/registry/registry-support.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { MapStore } from './map-store.js';

const START = { lastTimeMs: 1_800_000_000_000, slewMs: 0 };

/** What the registry's clock says at each of the store's times, given as steps. */
function told(policy: ClockPolicy, steps: readonly number[]): number[] {
  let clock = START;
  let timeMs = START.lastTimeMs;
  return steps.map((stepMs) => {
    timeMs += stepMs;
    clock = policy(clock, timeMs);
    return nowOf(clock);
  });
}

describe('the clock of a registry', () => {
  it.each([
    ['slewed', slewed],
    ['highest', highest],
  ])('never goes back: %s', (_name, policy) => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -90_000, max: 90_000 })), (steps) => {
        const times = told(policy, steps);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
    );
  });

  it('comes home by half of what elapses after a step back of one server', () => {
    const times = told(slewed, [-1000, 500, 1500]).map((ms) => ms - START.lastTimeMs);
    expect(times).toEqual([0, 250, 1000]);
  });

  it('is not driven ahead by servers whose clocks differ', () => {
    const steps = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 110 : -90));
    const [behind, ahead] = [slewed, highest].map((policy) => told(policy, steps).at(-1)!);
    expect(ahead! - START.lastTimeMs).toBe(1090);
    expect(behind! - START.lastTimeMs).toBeGreaterThan(2000);
  });

  it('is the one that the store brings', () => {
    const reading = { timeMs: 5000, server: 's', random: 'r', lossWindowMs: 0, clock: highest };
    const header = newHeader({ ...reading, timeMs: 9000 });
    const lease = {
      fingerprint: 'f',
      ttlMs: 10_000,
      minRangeMs: 0,
      quarantineMs: 0,
      workerId: 0,
      token: 't',
      nonce: 'n',
      nonceNext: 'n2',
      haveMs: 0,
      mark: { incarnation: 'r', server: 's', operations: 0 },
    };
    const changes = release({ header, slot: { workerId: 0, ceilingMs: 0 } }, lease, 0, reading);
    expect(changes.header).toMatchObject({ lastTimeMs: 9000, slewMs: 0 });
  });
});

describe('an operator', () => {
  const SET_BACK = { lastTimeMs: 1_800_000_000_000, slewMs: 1000 };

  const stores = {
    'a store of rows': async (timeMs: number) => {
      const store = new MapStore({ timeMs, server: 's' });
      const header = newHeader({ timeMs, server: 's', random: 'r', lossWindowMs: 0 });
      store.rows.set(HEADER_KEY, { ...headerRow({ ...header, ...SET_BACK }), version: 1 });
      return new RowInspector(store, 'a Map', 'rows').read();
    },
    Redis: async (timeMs: number) => {
      const { lastTimeMs, slewMs } = SET_BACK;
      const page = [timeMs, '0', lastTimeMs, slewMs, 'lastTime', lastTimeMs, 'slew', slewMs];
      return readRegistry({ run: async () => page } as unknown as RedisConnection, 'a key');
    },
  };

  it.each(Object.entries(stores))('is shown the clock as it is now: %s', async (_name, read) => {
    for (const [elapsedMs, slewMs] of [
      [0, 1000],
      [600, 700],
      [5000, 0],
      [-200, 1200],
    ] as const) {
      const storeMs = SET_BACK.lastTimeMs + elapsedMs;
      const view = await read(storeMs);
      expect(view).toMatchObject({ storeMs, nowMs: storeMs + slewMs, facts: { slewMs } });
    }
  });
});
