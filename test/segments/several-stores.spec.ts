/**
 * Several stores with start and step, and how many numbers are asked for.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryCounters } from 'nestjs-snowflake';
import { NumberSpace } from '../../lib/counters/segments/numbered-store.js';
import { StepSize } from '../../lib/counters/segments/segment-keeper.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { CountingStore, kept, work } from './segment-simulation.js';

const SMALL = { stepMin: 10, stepMax: 10 };

describe('the numbers of several stores', () => {
  it.each([1, 2, 3, 7, 1024])('of %i stores are apart, and found again', (count) => {
    const seen = new Set<bigint>();
    for (let place = 1; place <= count; place++) {
      const space = new NumberSpace(place, count);
      for (const position of [1n, 2n, 3n, 2n ** 40n]) {
        const number = space.numberOf(position);
        expect(space.positionFrom(number)).toBe(position);
        expect(space.positionFrom(number - 1n)).toBe(count === 1 ? position - 1n : position);
        seen.add(number);
      }
    }
    expect(seen.size).toBe(4 * count);
  });

  it('end at 2^63 - 1, and begin at 0', () => {
    const space = new NumberSpace(2, 3);
    const last = space.positionFrom(2n ** 63n) - 1n;
    expect(space.numberOf(last)).toBeLessThan(2n ** 63n);
    expect(space.segmentOf(last, last + 5n)).toMatchObject({ count: 1 });
    expect(space.segmentOf(last + 1n, last + 5n)).toBeUndefined();
    expect(space.segmentOf(0n, 2n)).toEqual({ first: 2n, count: 1, step: 3 });
  });
});

describe('a keeper with several stores', () => {
  it('makes odd and even numbers in turn, none twice', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    const { ids } = await work(it, 20, 10_000);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id % 2n === 0n).length).toBeGreaterThan(ids.length / 3);
    expect(stores.map(({ requests }) => requests[0]!.stores)).toEqual(['1/2', '2/2']);
  });

  it('two processes share them, and another order is refused', async () => {
    const stores = [new MemoryCounters(), new MemoryCounters()];
    const two = [kept(stores, { ...SMALL, startAt: 1n }), kept(stores, { ...SMALL, startAt: 1n })];
    const made = await Promise.all(
      two.map(async (process) => {
        await process.keeper.start();
        return (await work(process, 20, 10_000)).ids;
      }),
    );
    expect(new Set(made.flat()).size).toBe(made.flat().length);
    const turned = kept(stores.toReversed(), SMALL);
    await expect(turned.keeper.start()).rejects.toMatchObject({ code: 'COUNTER_MISMATCH' });
  });

  it('one that hangs costs its turn once, and no number', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    stores[0]!.faults.push(...Array.from({ length: 99 }, () => 'lose' as const));
    const { ids, failedCount } = await work(it, 2, 60_000);
    expect([ids.length, failedCount]).toEqual([120, 0]);
    expect(stores[0]!.requests.length).toBeLessThanOrEqual(3);
  });

  it('one that can never grant is told of once', async () => {
    const stores = [new CountingStore('a'), new CountingStore('b')];
    const it = kept(stores, SMALL);
    await it.keeper.start();
    stores[1]!.next = undefined;
    const { failedCount } = await work(it, 2, 60_000);
    expect(failedCount).toBe(0);
    expect(it.news).toEqual([expect.stringContaining('There is no such counter')]);
    expect(it.keeper.state).toBe('active');
  });
});

describe('how many are asked for', () => {
  const terms = { lastsMs: 30_000, stepMin: 1000, stepMax: 100_000_000 };

  it.each([10, 1000, 100_000])(
    'at %i a second: four calls a minute, 26 s buffered',
    async (rate) => {
      const store = new CountingStore();
      const size = new StepSize(terms);
      const time = new SettableTime();
      let [buffered, issued, calls, least] = [1000, 0, 0, Infinity];
      for (let second = 0; second < 600; second++) {
        for (let part = 0; part < 10; part++) {
          while (buffered <= size.mark || buffered < rate / 10) {
            size.measure(issued, time.wallMs);
            buffered += size.step;
            if (second >= 300) calls++;
          }
          buffered -= rate / 10;
          issued += rate / 10;
          time.wallMs += 100;
          if (second >= 300) least = Math.min(least, buffered);
        }
      }
      expect(calls / 5).toBeLessThanOrEqual(4.2);
      expect((least / rate) * 1000).toBeGreaterThanOrEqual(26_000);
      expect(store.requests).toHaveLength(0);
    },
  );

  it('a burst at the start orders no more than twice the last', () => {
    const size = new StepSize(terms);
    const steps: number[] = [];
    for (let call = 0; call < 12; call++) {
      size.measure(call * 1000, 1);
      steps.push(size.step);
    }
    expect(steps.every((step, at) => at === 0 || step <= 2 * steps[at - 1]!)).toBe(true);
    // As if all of it were the use of one second.
    expect(steps.at(-1)).toBeLessThanOrEqual(11_000 * 15);
  });

  it('no jump of the clock changes that', () => {
    for (const jumpMs of [-86_400_000, -1, 0, 1, 86_400_000]) {
      const size = new StepSize(terms);
      let [nowMs, issued, highest] = [0, 0, 0];
      for (let call = 0; call < 50; call++) {
        nowMs += 15_000;
        issued += 15_000;
        if (call % 3 === 2) nowMs += jumpMs;
        size.measure(issued, nowMs);
        highest = Math.max(highest, size.step);
        expect(size.mark).toBeLessThanOrEqual(2 * size.step);
      }
      expect(highest).toBeLessThanOrEqual(30_000 * 15);
    }
  });
});
