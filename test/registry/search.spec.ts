/**
 * The search for a worker id: whole in a span of thousands, by draws in one of millions.
 */
import { describe, expect, it } from '@jest/globals';
import { candidatesOf, drawsOf, reachesOf, nextWorkerId } from '../../lib/registry/acquire.js';

const NOW_MS = 1_000_000;
const WIDE = { workerIdMin: 8_388_608, workerIdMax: 8_388_608 + 4_194_303 };
const COUNT = 4_194_304;

/** Ceilings and how many were looked at. */
class Ceilings {
  lookedAt = 0;
  constructor(private readonly of: (workerId: number) => number) {}

  search(seed: string, span = WIDE): number {
    const ceilingOf = (workerId: number) => {
      this.lookedAt++;
      const isInside = workerId >= span.workerIdMin && workerId <= span.workerIdMax;
      if (!isInside) throw new Error(`${workerId} lies outside the span.`);
      return this.of(workerId);
    };
    return nextWorkerId(span, { ceilingOf, nowMs: NOW_MS, seed });
  }
}

const HELD_MS = NOW_MS + 5000;
const FREE_MS = NOW_MS - 5000;
const seeds = Array.from({ length: 1000 }, (_, n) => `seed ${n}`);
/** A part of the worker ids, without order. */
const isIn = (workerId: number, share: number) =>
  (Math.imul(workerId, 0x9e3779b1) >>> 0) / 2 ** 32 < share;

describe('the search in a wide span', () => {
  it('finds a free worker id by few looks where one in a hundred is free', () => {
    const ceilings = new Ceilings((id) => (isIn(id, 0.99) ? HELD_MS : FREE_MS));
    const found = seeds.map((seed) => ceilings.search(seed));
    expect(found.filter((id) => isIn(id, 0.99))).toEqual([]);
    // Two looks at each of 68 and, in half of the calls, 256 more.
    expect(ceilings.lookedAt / seeds.length).toBeLessThan(600);
  });

  it('misses one in a thousand as often as the draws say, and finds it when asked again', () => {
    const ceilings = new Ceilings((id) => (isIn(id, 0.999) ? HELD_MS : FREE_MS));
    const missed = seeds.slice(0, 250).filter((seed) => isIn(ceilings.search(seed), 0.999));
    // 0.999 ** 2116 is 12 %, which are 30 of 250.
    expect(missed.length).toBeGreaterThan(10);
    expect(missed.length).toBeLessThan(55);
    const again = missed.filter((seed) => isIn(ceilings.search(`${seed} again`), 0.999));
    expect(again.length).toBeLessThan(missed.length / 2);
  });

  it('where all are held, answers one that ends as soon as any it looked at', () => {
    const ceilings = new Ceilings((id) => HELD_MS + (id % 60_000));
    for (const seed of seeds.slice(0, 50)) {
      expect((ceilings.search(seed) % 60_000) / 60_000).toBeLessThan(0.01);
    }
  });

  it('takes those that were used before again, so that restarts do not fill the registry', () => {
    const ceilingsMs = new Map<number, number>();
    const ceilings = new Ceilings((id) => ceilingsMs.get(id) ?? 0);
    const leased = (seed: string) => {
      const workerId = ceilings.search(seed);
      ceilingsMs.set(workerId, HELD_MS);
      return workerId;
    };
    const fleet = Array.from({ length: 1000 }, (_, n) => leased(`first ${n}`));
    for (let restart = 0; restart < 10_000; restart++) {
      const at = restart % fleet.length;
      ceilingsMs.set(fleet[at]!, FREE_MS + restart / 1e6);
      fleet[at] = leased(`restart ${restart}`);
    }
    expect(new Set(fleet).size).toBe(fleet.length);
    expect(ceilingsMs.size).toBeLessThan(3 * fleet.length);
  });

  it('spreads a fleet that starts at once over a registry without rows', () => {
    const drawn = seeds.map((seed) => candidatesOf(WIDE, seed));
    expect(drawn.every((ids) => new Set(ids).size === 64)).toBe(true);
    const firsts = drawn.map((ids, n) => ids[n % ids.length]!);
    expect(new Set(firsts).size).toBeGreaterThan(600);
  });
});

describe('what is drawn', () => {
  it('is nothing where a span has no ends', () => {
    const noSpan = {} as { workerIdMin: number; workerIdMax: number };
    expect(candidatesOf(noSpan, 'any')).toEqual([]);
  });

  it('reaches from 64 worker ids to all of them', () => {
    const reaches = reachesOf(WIDE);
    expect([reaches[0], reaches.at(-2), reaches.at(-1)]).toEqual([64, COUNT / 2, COUNT]);
    expect(reachesOf({ workerIdMin: 0, workerIdMax: 4999 }).at(-1)).toBe(5000);
  });

  it('is even, and another one for texts that differ in one letter', () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (const seed of seeds) {
      const draw = drawsOf(seed);
      for (let n = 0; n < 100; n++) counts[Math.floor(draw() * 10)]!++;
    }
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    const firsts = seeds.map((seed) => Math.floor(drawsOf(seed)() * COUNT));
    expect(new Set(firsts).size).toBeGreaterThan(990);
  });
});
