/**
 * Edge cases of the generator, each with concrete numbers.
 */
import { describe, expect, it } from '@jest/globals';
import {
  BitLayout,
  type GeneratorOptions,
  layouts,
  LeaseWindow,
  SnowflakeGenerator,
} from '../../../lib/core/index.js';
import type { LeaseRequest } from '../../../lib/lease/distributed-support.js';
import { minRangeMsOf } from '../../../lib/lease/lease-options.js';
import { MemoryRegistry } from '../../models/memory-registry.js';
import { codeOf, runs } from '../../until.js';

describe('snowflake generator', () => {
  const EPOCH_MS = 1_704_067_200_000;

  function world(layout: BitLayout = layouts.snowflake(), options: GeneratorOptions = {}) {
    const clock = { ms: EPOCH_MS + 1000, now: () => clock.ms };
    const window = new LeaseWindow(layout);
    return {
      clock,
      window,
      generator: new SnowflakeGenerator(window, { clock, ...options }),
      layout,
    };
  }

  const ENDLESS = { workerId: 7, floorMs: -Infinity, ceilingMs: Infinity };

  describe('the generator', () => {
    it("generates the IDs of Twitter, and keeps increasing if Twitter's code throws", () => {
      const layout = layouts.twitter();
      const { clock, window, generator } = world(layout);
      window.grant({ ...ENDLESS, workerId: 0 });
      clock.ms = layout.epochMs + 1;
      expect(generator.nextIds(2)).toEqual([4_194_304n, 4_194_305n]);
      clock.ms = layout.epochMs;
      expect(generator.nextId()).toBe(4_194_306n);
    });

    it('refuses IDs at the exclusive ceiling, and continues after the ceiling rises', () => {
      const { clock, window, generator } = world();
      const range = window.grant({ workerId: 1, floorMs: clock.ms, ceilingMs: clock.ms + 1 });
      expect(generator.nextIds(4096)).toHaveLength(4096);
      expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
      clock.ms += 1;
      expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
      window.raise(range, clock.ms + 1);
      expect(window.layout.parse(generator.nextId()).timestampMs).toBe(clock.ms);
    });

    it('keeps the reserve of the last range, and spends it by sequence number', () => {
      const layout = layouts.snowflake();
      const clock = { ms: EPOCH_MS + 1000, now: () => clock.ms };
      const window = new LeaseWindow(layout, 10);
      const generator = new SnowflakeGenerator(window, { clock });
      window.grant({ workerId: 1, floorMs: clock.ms, ceilingMs: clock.ms + 100 });
      clock.ms += 5000;
      const ids = generator.nextIds(4096 * 10);
      expect(layout.parse(ids[0]!).timestampMs).toBe(EPOCH_MS + 1090);
      expect(layout.parse(ids.at(-1)!).timestampMs).toBe(EPOCH_MS + 1099);
      expect(codeOf(() => generator.nextId())).toBe('LEASE_LOST');
    });

    it('runs ahead by aheadMsMax, then refuses IDs while the clock is paused', () => {
      const { clock, window, generator, layout } = world(undefined, { aheadMsMax: 3 });
      window.grant(ENDLESS);
      const ids = generator.nextIds(4096 * 4);
      expect(layout.parse(ids.at(-1)!).timestampMs).toBe(clock.ms + 3);
      expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
      clock.ms += 1;
      expect(generator.nextIds(4096)).toHaveLength(4096);
      expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
      expect(generator.waitCount).toBe(2);
    });

    it('never leaves the tick of the clock with aheadMsMax 0', () => {
      const { clock, window, generator } = world(undefined, { aheadMsMax: 0 });
      window.grant(ENDLESS);
      generator.nextIds(4096);
      expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
      clock.ms += 1;
      expect(generator.nextIds(4096)).toHaveLength(4096);
    });

    it('regains time from the progress of a clock that moved back an hour', () => {
      const { clock, window, generator } = world(undefined, { aheadMsMax: 2 });
      window.grant(ENDLESS);
      generator.nextIds(4096 * 3);
      clock.ms -= 3_600_000;
      expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
      clock.ms += 2;
      expect(generator.nextIds(4096 * 2)).toHaveLength(8192);
      expect(generator.rollbackCount).toBe(1);
    });

    it('never blocks for ticks of one second', () => {
      const { window, generator, layout } = world(layouts.baidu(), { aheadMsMax: 1000 });
      let reads = 0;
      const counting = new SnowflakeGenerator(window, {
        clock: { now: () => EPOCH_MS + (++reads, 5000) },
        aheadMsMax: 1000,
      });
      window.grant(ENDLESS);
      expect(generator.nextIds(1)).toHaveLength(1);
      counting.nextIds((layout.sequence.max + 1) * 2);
      reads = 0;
      expect(codeOf(() => counting.nextId())).toBe('SEQUENCE_SPENT');
      expect(reads).toBeLessThan(5);
    });

    it('ends with TIME_EXHAUSTED and generates no negative ID', () => {
      const { clock, window, generator, layout } = world();
      window.grant(ENDLESS);
      clock.ms = layout.lastDate.getTime();
      expect(generator.nextIds(4096).at(-1)).toBe(
        layout.compose({
          timestampMs: clock.ms,
          workerId: 7,
          sequence: 4095,
        }),
      );
      expect(codeOf(() => generator.nextId())).toBe('TIME_EXHAUSTED');
      clock.ms += 1;
      expect(codeOf(() => generator.nextId())).toBe('TIME_EXHAUSTED');
    });

    it.each([EPOCH_MS - 1, 0, Number.NaN])('rejects a clock that reads %s', (ms) => {
      const { clock, window, generator } = world();
      window.grant(ENDLESS);
      clock.ms = ms;
      expect(codeOf(() => generator.nextId())).toBe('CLOCK_UNUSABLE');
      clock.ms = EPOCH_MS;
      expect(codeOf(() => generator.nextId())).toBe('none');
    });

    it('enters the next range after the last ID, one tick later for another worker ID', () => {
      const { clock, window, generator, layout } = world();
      window.grant({ workerId: 9, floorMs: clock.ms, ceilingMs: clock.ms + 10 });
      const last = generator.nextId();
      window.grant({ workerId: 2, floorMs: 0, ceilingMs: clock.ms + 1000 });
      clock.ms += 10;
      const next = generator.nextId();
      expect(next).toBeGreaterThan(last);
      expect(layout.parse(next)).toMatchObject({ workerId: 2, timestampMs: clock.ms });
    });

    it('moves back in time only by rewindTo()', () => {
      const { clock, window, generator, layout } = world(undefined, { aheadMsMax: 1000 });
      window.grant({ workerId: 9, floorMs: 0, ceilingMs: Infinity });
      generator.nextId();
      clock.ms -= 500;
      window.rewindTo({ workerId: 4, floorMs: 0, ceilingMs: Infinity });
      const ids = generator.nextIds(5000);
      expect(layout.parse(ids[0]!)).toMatchObject({ workerId: 4, timestampMs: clock.ms });
      expect(new Set(ids).size).toBe(5000);
    });

    it('fills call fields, and rejects an invalid value without using an ID', () => {
      const layout = new BitLayout({
        epoch: EPOCH_MS,
        fields: [
          ['timestamp', 39],
          ['room', 2],
          ['machine', 7],
          ['business', 4, 'call'],
          ['sequence', 7],
        ],
      });
      const { window, generator } = world(layout);
      window.grant({ ...ENDLESS, workerId: 300 });
      expect(codeOf(() => generator.nextId({ business: 16 }))).toBe('ARGUMENT_INVALID');
      expect(codeOf(() => generator.nextId({ busines: 1 }))).toBe('ARGUMENT_INVALID');
      expect(codeOf(() => generator.nextIds(2, { room: 1 }))).toBe('ARGUMENT_INVALID');
      expect(generator.issuedCount).toBe(0);
      const { fields, workerId, sequence } = layout.parse(generator.nextId({ business: 15 }));
      expect({ workerId, sequence }).toEqual({ workerId: 300, sequence: 0 });
      expect(fields).toMatchObject({ room: 2, machine: 44, business: 15 });
      expect(layout.parse(generator.nextId()).fields).toMatchObject({ business: 0, sequence: 1 });
    });

    it('generates numbers in 53 bits, and explains why 63 bits do not fit', () => {
      const { window, generator } = world(layouts.javascriptSafe());
      window.grant(ENDLESS);
      const id = generator.nextIdNumber();
      expect(Number.isSafeInteger(id)).toBe(true);
      expect(BigInt(id) + 1n).toBe(generator.nextId());
      const wide = world();
      wide.window.grant(ENDLESS);
      expect(codeOf(() => wide.generator.nextIdNumber())).toBe('CONFIG_INVALID');
    });

    it('blocks for a bounded number of reads of a paused clock', () => {
      let reads = 0;
      const clock = { now: () => (reads++, EPOCH_MS + 1000) };
      const { window, generator } = world(undefined, { clock, aheadMsMax: 0 });
      window.grant(ENDLESS);
      generator.nextIds(4096);
      reads = 0;
      expect(codeOf(() => generator.nextId())).toBe('SEQUENCE_SPENT');
      // A tick of 1 ms at 60 ns per read, and no reads if the generator must not block.
      expect(reads).toBeGreaterThan(16_000);
      expect(reads).toBeLessThan(17_000);
      reads = 0;
      expect(codeOf(() => generator.nextIdAtOnce())).toBe('SEQUENCE_SPENT');
      expect(reads).toBe(1);
      expect(generator.waitCount).toBe(2);
    });

    it('stops blocking as soon as the clock advances, and counts one wait', () => {
      let looks = 0;
      const clock = { now: () => EPOCH_MS + 1000 + (looks++ > 100 ? 1 : 0) };
      const { window, generator, layout } = world(undefined, { clock, aheadMsMax: 0 });
      window.grant(ENDLESS);
      generator.nextIds(4096);
      expect(layout.parse(generator.nextId())).toMatchObject({
        timestampMs: EPOCH_MS + 1001,
        sequence: 0,
      });
      expect(looks).toBeLessThan(110);
      expect(generator.waitCount).toBe(1);
    });

    it.each([-1, 1.5, Number.NaN, Infinity, '3'])('rejects a batch of %p', (count) => {
      const { window, generator } = world();
      window.grant(ENDLESS);
      expect(codeOf(() => generator.nextIds(count as number))).toBe('ARGUMENT_INVALID');
      expect(generator.nextIds(0)).toEqual([]);
    });
  });
});

/*
 * Batches: one second's IDs right after the start, for every preset, and the IDs of a batch that
 * fails halfway.
 */
describe('batches', () => {
  const START_MS = Date.UTC(2027, 5, 1);
  const TTL_MS = 60_000;

  /**
   * One preset for each tick length and ID count, with the names of all presets that share them.
   */
  const PRESETS: (readonly [names: string, layout: BitLayout])[] = [];
  for (const [name, preset] of Object.entries(layouts)) {
    const layout: BitLayout = preset();
    const isAlike = ({ unitMs, sequence }: BitLayout) =>
      unitMs === layout.unitMs && sequence.bits === layout.sequence.bits;
    const at = PRESETS.findIndex(([, known]) => isAlike(known));
    if (at < 0) PRESETS.push([name, layout]);
    else PRESETS[at] = [`${PRESETS[at]![0]}, ${name}`, PRESETS[at]![1]];
  }

  /** An array of one second of Mastodon's IDs, 65,536 per millisecond, would take 2 GB. */
  const COUNT_MAX = runs(5_000_000);

  /** The wait of a start on a new registry, so that a second of IDs fits above the floor. */
  const minRangeMs = ({ unitMs }: BitLayout): number => minRangeMsOf(unitMs);

  /** The first range of a new registry, as soon as a range is worth granting. */
  function firstRange(layout: BitLayout, clock: { ms: number }) {
    const registry = new MemoryRegistry();
    const request = {
      fingerprint: layout.fingerprint,
      ttlMs: TTL_MS,
      minRangeMs: minRangeMs(layout),
      token: 'token',
      nonce: 'nonce',
      workerIdMin: 0,
      workerIdMax: 3,
      holder: { host: 'host', pid: 1, application: 'test' },
    } as LeaseRequest;
    for (let n = 0; n < 5; n++) {
      const reading = { timeMs: clock.ms, server: 's', random: 'r', lossWindowMs: 0 };
      const answer = registry.acquire(request, reading);
      if (answer.status === 'ok') return answer;
      expect(answer).toMatchObject({ status: 'wait' });
      clock.ms += (answer as { waitMs: number }).waitMs;
    }
    throw new Error('No range was granted.');
  }

  const rises = (ids: readonly bigint[]) => ids.every((id, at) => at === 0 || id > ids[at - 1]!);

  describe.each(PRESETS)("one second's IDs in one call, layout %s", (_name, layout) => {
    const count = Math.min(layout.idsPerSecond, COUNT_MAX);

    it('succeed at once on a new registry, with a paused clock', () => {
      const clock = { ms: START_MS, now: () => clock.ms };
      const range = firstRange(layout, clock);
      expect(clock.ms - START_MS).toBeLessThanOrEqual(minRangeMs(layout));
      const window = new LeaseWindow(layout, 10_000);
      window.grant(range);
      const ids = new SnowflakeGenerator(window, { clock }).nextIds(count);
      expect([ids.length, rises(ids)]).toEqual([count, true]);
      const last = layout.parse(ids.at(-1)!);
      expect(last.timestampMs + layout.unitMs).toBeLessThanOrEqual(range.ceilingMs);
    });

    it('succeed at once with a static worker ID, tick by tick of the clock', () => {
      // Repeated reads, as in a call that blocks until the next tick.
      let looks = 0;
      const clock = { now: () => START_MS + Math.floor(++looks / 4) };
      const window = new LeaseWindow(layout);
      window.grant({
        workerId: Math.min(3, layout.workerIdMax),
        floorMs: -Infinity,
        ceilingMs: Infinity,
      });
      const ids = new SnowflakeGenerator(window, { clock }).nextIds(count);
      expect([ids.length, rises(ids)]).toEqual([count, true]);
    });
  });

  function world(layout: BitLayout = layouts.snowflake()) {
    const clock = { ms: START_MS, now: () => clock.ms };
    const window = new LeaseWindow(layout);
    const range = window.grant({ workerId: 1, floorMs: START_MS, ceilingMs: START_MS + 10 });
    const generator = new SnowflakeGenerator(window, { clock });
    return { clock, window, range, generator };
  }

  const WAYS = [
    ['nextIds', (generator: SnowflakeGenerator, count: number) => generator.nextIds(count)],
    [
      'nextIdStrings',
      (generator: SnowflakeGenerator, count: number) => generator.nextIdStrings(count).map(BigInt),
    ],
  ] as const;

  describe.each(WAYS)('a batch that fails halfway, by %s', (_name, take) => {
    it('continues from the failed position, and loses no ID', () => {
      const { window, range, generator } = world();
      expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
      expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
      expect(generator.issuedCount).toBe(40_960);
      window.raise(range, START_MS + 20);
      const ids = take(generator, 60_000);
      expect([ids.length, rises(ids)]).toEqual([60_000, true]);
      expect(generator.layout.parse(ids[0]!)).toMatchObject({ timestampMs: START_MS, sequence: 0 });
      expect(generator.issuedCount).toBe(60_000);
    });

    it('returns the kept IDs in parts, each one once', () => {
      const { generator } = world();
      expect(codeOf(() => take(generator, 41_000))).toBe('LEASE_LOST');
      const ids = [...take(generator, 40_000), ...take(generator, 960)];
      expect(new Set(ids).size).toBe(40_960);
      expect(codeOf(() => take(generator, 1))).toBe('LEASE_LOST');
    });

    it('discards kept IDs that would follow a later ID', () => {
      const { clock, window, range, generator } = world();
      expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
      window.raise(range, START_MS + 20);
      clock.ms += 10;
      const later = generator.nextId();
      expect(take(generator, 3).every((id) => id > later)).toBe(true);
    });

    it('discards kept IDs of a lease that was dropped', () => {
      const { clock, window, generator } = world();
      expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
      window.rewindTo({ workerId: 2, floorMs: START_MS, ceilingMs: START_MS + 50 });
      clock.ms += 1;
      const workers = take(generator, 9).map((id) => generator.layout.parse(id).workerId);
      expect(new Set(workers)).toEqual(new Set([2]));
    });
  });

  describe('a batch with call fields', () => {
    it('gives each kept ID the fields of the call that receives it', () => {
      const layout = new BitLayout({
        epoch: 0,
        fields: [
          ['timestamp', 42],
          ['kind', 4, 'call'],
          ['worker', 5],
          ['sequence', 10],
          ['part', 2, 'call'],
        ],
      });
      const { window, range, generator } = world(layout);
      const fields = { kind: 9, part: 3 };
      expect(codeOf(() => generator.nextIds(20_000, fields))).toBe('LEASE_LOST');
      window.raise(range, START_MS + 20);
      const ids = generator.nextIds(15_000, { kind: 6 });
      expect(new Set(ids).size).toBe(15_000);
      for (const id of [ids[0]!, ids[10_000]!, ids.at(-1)!]) {
        expect(layout.parse(id)).toMatchObject({ workerId: 1, fields: { kind: 6, part: 0 } });
      }
    });
  });
});

/*
 * Whether `id % n` is even, which matters for a partition key. At low rates each ID is alone in its
 * tick. The chi-square test decides.
 */
describe('distribution', () => {
  const START_MS = 1_800_000_000_000;
  const ID_COUNT = runs(20_000);
  const DIVISORS = Array.from({ length: 63 }, (_, at) => at + 2);

  /** An ID as two words, so that the remainder of a small divisor needs no bigint. */
  type Words = readonly [high: number, low: number];

  const remainder = ([high, low]: Words, n: number) => (high * (2 ** 32 % n) + low) % n;

  /** One ID per `everyMs`, generated from a seed. */
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
   * Chance alone exceeds this once in 100,000 tests, by the approximation of Wilson and Hilferty
   * (1931), "The distribution of chi-square": 4.265 is that quantile of the normal distribution.
   */
  function limit(degrees: number): number {
    return degrees * (1 - 2 / (9 * degrees) + 4.265 * Math.sqrt(2 / (9 * degrees))) ** 3;
  }

  const isEven = (ids: readonly Words[], n: number) => chiSquare(ids, n) < limit(n - 1);

  describe('`id % n` at low rates', () => {
    it.each([1, 7, 10, 64, 1000])('is even with a random start, one ID every %s ms', (everyMs) => {
      const ids = idsOf('random', everyMs, 1 + everyMs);
      expect(DIVISORS.filter((n) => !isEven(ids, n))).toEqual([]);
    });

    it('is always 0 for powers of two with start 0, and skewed for every even n', () => {
      const ids = idsOf('zero', 1, 1);
      expect(ids.every((id) => remainder(id, 4096) === 0)).toBe(true);
      const even = DIVISORS.filter((n) => n % 2 === 0);
      expect(even.filter((n) => isEven(ids, n))).toEqual([]);
    });
  });

  describe('IDs converted to a JavaScript number, at low rates', () => {
    // The default layout has 22 bits below the time, and a number holds all but the lowest 6.
    const isExact = ([, low]: Words): boolean => low % 64 === 0;

    it('are all exact by default, so no test reveals the mistake', () => {
      expect(idsOf('zero', 1, 1).filter((id) => !isExact(id))).toEqual([]);
    });

    it('are wrong in 63 of 64 cases if the sequence starts at a random number', () => {
      const ids = idsOf('random', 1, 1);
      const wrongCount = ids.filter((id) => !isExact(id)).length;
      // Five standard deviations.
      const deviation = Math.sqrt(ID_COUNT * (1 / 64) * (63 / 64));
      expect(Math.abs(wrongCount - (ID_COUNT * 63) / 64)).toBeLessThan(5 * deviation);
    });

    it('match the rounding of Number', () => {
      for (const [high, low] of [
        ...idsOf('random', 1, 2).slice(0, 500),
        ...idsOf('zero', 1, 2).slice(0, 500),
      ]) {
        const id = BigInt(high) * 2n ** 32n + BigInt(low);
        expect(BigInt(Number(id)) === id).toBe(isExact([high, low]));
      }
    });
  });
});
