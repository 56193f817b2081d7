/**
 * Whether `id % n` is even, as those ask who choose a partition by it: at low rates, where each id
 * is alone in its tick, by the chi-square test.
 */
import { describe, expect, it } from '@jest/globals';
import { SnowflakeGenerator, LeaseWindow, layouts } from '../../../lib/core/index.js';

const START_MS = 1_800_000_000_000;
const ID_COUNT = 20_000;
const DIVISORS = Array.from({ length: 63 }, (_, at) => at + 2);

/** An id as two words: the remainder of a small number is then found without a bigint. */
type Words = readonly [high: number, low: number];

const remainder = ([high, low]: Words, n: number) => (high * (2 ** 32 % n) + low) % n;

/** Ids made one in each `everyMs`, from a seed. */
function idsOf(sequenceStart: 'zero' | 'random', everyMs: number, seed: number): Words[] {
  let state = seed;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const clock = { ms: START_MS, now: () => clock.ms };
  const window = new LeaseWindow(layouts.snowflake());
  window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
  const generator = new SnowflakeGenerator(window, { clock, sequenceStart, random });
  return Array.from({ length: ID_COUNT }, () => {
    clock.ms += everyMs;
    const id = generator.nextId();
    return [Number(id >> 32n), Number(id & 0xffff_ffffn)];
  });
}

/** The sum over all remainders of (seen - expected)^2 / expected. */
function chiSquare(ids: readonly Words[], n: number): number {
  const seen = Array.from({ length: n }, () => 0);
  for (const id of ids) seen[remainder(id, n)]!++;
  const expected = ids.length / n;
  return seen.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

/**
 * What chance alone exceeds once in 100,000 tests, by the approximation of Wilson and Hilferty
 * (1931), "The distribution of chi-square": 4.265 is that quantile of the normal distribution.
 */
function limit(degrees: number): number {
  return degrees * (1 - 2 / (9 * degrees) + 4.265 * Math.sqrt(2 / (9 * degrees))) ** 3;
}

const isEven = (ids: readonly Words[], n: number) => chiSquare(ids, n) < limit(n - 1);

describe('`id % n` at low rates', () => {
  it.each([1, 7, 10, 64, 1000])('is even from a random start, one id in %s ms', (everyMs) => {
    const ids = idsOf('random', everyMs, 1 + everyMs);
    expect(DIVISORS.filter((n) => !isEven(ids, n))).toEqual([]);
  });

  it('is always 0 for powers of two from the start 0, and skewed for every even n', () => {
    const ids = idsOf('zero', 1, 1);
    expect(ids.every((id) => remainder(id, 4096) === 0)).toBe(true);
    const even = DIVISORS.filter((n) => n % 2 === 0);
    expect(even.filter((n) => isEven(ids, n))).toEqual([]);
  });
});

describe('ids that went through a JavaScript number, at low rates', () => {
  // The default layout has 22 bits below the time, and a number holds all but the lowest 6.
  const isExact = ([, low]: Words): boolean => low % 64 === 0;

  it('are all exact by default, so no test shows the mistake', () => {
    expect(idsOf('zero', 1, 1).filter((id) => !isExact(id))).toEqual([]);
  });

  it('are wrong in 63 of 64 cases where the sequence starts at random', () => {
    const ids = idsOf('random', 1, 1);
    const wrongCount = ids.filter((id) => !isExact(id)).length;
    // Five standard deviations.
    const deviation = Math.sqrt(ID_COUNT * (1 / 64) * (63 / 64));
    expect(Math.abs(wrongCount - (ID_COUNT * 63) / 64)).toBeLessThan(5 * deviation);
  });

  it('are those that Number rounds', () => {
    for (const [high, low] of [
      ...idsOf('random', 1, 2).slice(0, 500),
      ...idsOf('zero', 1, 2).slice(0, 500),
    ]) {
      const id = BigInt(high) * 2n ** 32n + BigInt(low);
      expect(BigInt(Number(id)) === id).toBe(isExact([high, low]));
    }
  });
});
