/**
 * How far IDs run ahead of the clock: after the clock moved back, below a floor, without an end, in
 * one thread and in several.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BitLayout,
  type FieldSpec,
  type GeneratorOptions,
  joinSharedLease,
  layouts,
  LeaseWindow,
  type SnowflakeError,
  SnowflakeGenerator,
} from '../../../lib/core/index.js';
import { Block } from '../../../lib/core/generator/block-taker.js';
import { shareWindow } from '../../../lib/core/window/shared-lease.js';
import { WindowWords } from '../../../lib/core/window/window-memory.js';
import { codeOf, runs } from '../../until.js';

const START_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const layout = layouts.snowflake();
const ENDLESS = { workerId: 7, floorMs: -Infinity, ceilingMs: Infinity };

/** Advances by one millisecond per few reads, as a clock does in a busy loop. */
class BusyClock {
  ms = START_MS;
  private looks = 0;

  constructor(public looksPerMs = 3) {}

  now(): number {
    if (++this.looks % this.looksPerMs === 0) this.ms++;
    return this.ms;
  }
}

/** Like `nextIds(count)`, by one generator or by several in turn. */
type Taker = (count: number) => bigint[];

function alone(options: GeneratorOptions, words = new WindowWords()) {
  // Threads read the clock for every block, not for every tick.
  const clock = new BusyClock(words.shared ? 100 : 3);
  const window = new LeaseWindow(layout, 0, words);
  const generator = new SnowflakeGenerator(window, { ...options, clock });
  return { clock, window, take: ((count) => generator.nextIds(count)) as Taker };
}

function threads({ aheadMsMax }: GeneratorOptions) {
  const { clock, window } = alone({}, WindowWords.shared());
  const shared = shareWindow(window, { aheadMsMax, sequenceStart: 'zero' })!;
  const makers = [0, 1, 2].map(() => joinSharedLease(shared, clock));
  const take: Taker = (count) => {
    const ids: bigint[] = [];
    for (let n = 0; ids.length < count; n++) {
      ids.push(...makers[n % 3]!.nextIds(Math.min(100, count - ids.length)));
    }
    return ids;
  };
  return { clock, window, take };
}

/** Takes the IDs of 20 ms at full speed, and returns the elapsed time of the clock. */
function tookFor20Ms({ clock, take }: { clock: BusyClock; take: Taker }): number {
  const beganMs = clock.ms;
  const ids = take(81_920);
  expect(new Set(ids).size).toBe(81_920);
  return clock.ms - beganMs;
}

describe.each([
  ['alone', alone],
  ['among threads', threads],
])('with aheadMsMax 0, %s', (_name, world) => {
  it('a clock that moved back an hour does not slow the generator down', () => {
    const it = world({ aheadMsMax: 0 });
    it.window.grant(ENDLESS);
    it.take(4096);
    it.clock.ms -= HOUR_MS;
    expect(tookFor20Ms(it)).toBeLessThan(40);
  });

  it('a floor one minute above the clock does not slow the generator down', () => {
    const it = world({ aheadMsMax: 0 });
    it.window.grant({ workerId: 7, floorMs: START_MS + 60_000, ceilingMs: START_MS + 90_000 });
    expect(tookFor20Ms(it)).toBeLessThan(40);
  });

  it('time gained from a floor has no effect after the clock has passed it', () => {
    const { clock, window, take } = world({ aheadMsMax: 0 });
    window.grant({ workerId: 7, floorMs: START_MS + 1000, ceilingMs: Infinity });
    take(1);
    clock.looksPerMs = Infinity;
    clock.ms += 1010;
    let last = 0n;
    while (codeOf(() => ([last] = take(1) as [bigint])) === 'none');
    expect(layout.timestampMsOf(last)).toBe(clock.ms);
  });
});

describe('without an aheadMsMax option', () => {
  it('IDs run at most a second ahead under a lease that ends', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 60_000 });
    expect(layout.timestampMsOf(take(4096 * 1001).at(-1)!)).toBe(START_MS + 1000);
    expect(codeOf(() => take(1))).toBe('SEQUENCE_SPENT');
  });

  it('no ID is ahead of the clock under a lease without an end', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant(ENDLESS);
    take(4096);
    expect(() => take(1)).toThrow(/do not run ahead of the clock here/);
  });

  it('a process restarted with the same worker ID generates no duplicate', () => {
    const clock = new BusyClock();
    const ids = [0, 1].flatMap(() => {
      clock.ms++;
      const window = new LeaseWindow(layout);
      window.grant(ENDLESS);
      return new SnowflakeGenerator(window, { clock }).nextIds(100_000);
    });
    expect(new Set(ids).size).toBe(200_000);
  });

  it('each range has its own limit, whatever the previous limit was', () => {
    const { clock, window, take } = alone({});
    clock.looksPerMs = Infinity;
    window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 60_000 });
    take(1);
    window.rewindTo({ ...ENDLESS, workerId: 8 });
    take(4096);
    expect(codeOf(() => take(1))).toBe('SEQUENCE_SPENT');
  });
});

const burst = fc.record({ kind: fc.constant('ids' as const), by: fc.integer({ min: 1, max: 60 }) });
const pass = fc.record({
  kind: fc.constant('clock' as const),
  by: fc.integer({ min: 0, max: 40 }),
});
const floor = fc.record({
  kind: fc.constant('floor' as const),
  by: fc.integer({ min: -50, max: 90 }),
});
const weighted = fc.oneof(
  { weight: 5, arbitrary: burst },
  { weight: 4, arbitrary: pass },
  { weight: 1, arbitrary: floor },
);

describe('without clock rollbacks', () => {
  it.each([false, true])('IDs are at most aheadMsMax ahead, shared memory: %s', (isShared) => {
    const small = new BitLayout({
      epoch: 0,
      fields: [
        ['timestamp', 41],
        ['worker', 10],
        ['sequence', 2],
      ],
    });
    const steps = fc.array(weighted, { minLength: 10, maxLength: 80 });
    const property = fc.property(fc.nat(20), steps, (aheadMsMax, taken) => {
      const clock = { ms: START_MS, now: () => clock.ms };
      const words = isShared ? WindowWords.shared() : new WindowWords();
      const window = new LeaseWindow(small, 0, words);
      const makers = (isShared ? [0, 1, 2] : [0]).map(
        () => new SnowflakeGenerator(window, { clock, aheadMsMax }),
      );
      // A floor above the clock allows IDs at that time without cost, and advances with the clock.
      let leadMs = 0;
      let workerId = 0;
      const tooFar: object[] = [];
      const grant = (byMs: number) => {
        leadMs = Math.max(leadMs, byMs);
        const floorMs = clock.ms + byMs;
        window.rewindTo({ workerId: ++workerId, floorMs, ceilingMs: START_MS + HOUR_MS });
      };
      grant(0);
      for (const { kind, by } of taken) {
        if (kind === 'clock') clock.ms += by;
        else if (kind === 'floor') grant(by);
        for (let n = 0; kind === 'ids' && n < by; n++) {
          let id: bigint;
          try {
            id = makers[n % makers.length]!.nextIdAtOnce();
          } catch {
            break;
          }
          const aheadMs = small.timestampMsOf(id) - clock.ms;
          const most = leadMs === 0 ? aheadMsMax : leadMs + Math.max(1, aheadMsMax);
          if (aheadMs > most) tooFar.push({ aheadMs, most });
        }
      }
      expect(tooFar).toEqual([]);
    });
    fc.assert(property, { numRuns: runs(500) });
  });
});

/*
 * The generator's guarantees hold for random layouts, jumping clocks, and moving ranges.
 */
describe('generator properties', () => {
  const EPOCH_MS = 1_700_000_000_000;

  /**
   * Fields in any order. Some straddle the two words, and some put the sequence in the high word.
   */
  const layouts = fc
    .record({
      time: fc.integer({ min: 28, max: 41 }),
      worker: fc.integer({ min: 2, max: 10 }),
      call: fc.integer({ min: 1, max: 4 }),
      sequence: fc.integer({ min: 1, max: 8 }),
      unitMs: fc.constantFrom(1, 10),
      order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    })
    .map(({ time, worker, call, sequence, unitMs, order }) => {
      const fields: FieldSpec[] = [
        ['timestamp', time],
        ['worker', worker],
        ['kind', call, 'call'],
        ['sequence', sequence],
      ];
      const placed = order.map((at) => fields[at]!);
      return new BitLayout({ epoch: EPOCH_MS, unitMs, fields: placed });
    });

  const ask = fc.record({
    kind: fc.constant('ids' as const),
    count: fc.integer({ min: 1, max: 40 }),
  });
  const clock = fc.record({
    kind: fc.constant('clock' as const),
    byMs: fc.oneof(fc.integer({ min: -50, max: 200 }), fc.integer({ min: -9000, max: 9000 })),
  });
  const raise = fc.record({ kind: fc.constant('raise' as const), byMs: fc.nat(300) });
  const grant = fc.record({
    kind: fc.constant('grant' as const),
    workerId: fc.nat(3),
    gapMs: fc.nat(100),
    lengthMs: fc.nat(400),
  });
  const vacate = fc.record({ kind: fc.constant('vacate' as const) });
  const steps = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: ask },
      { weight: 5, arbitrary: clock },
      { weight: 2, arbitrary: raise },
      { weight: 2, arbitrary: grant },
      { weight: 1, arbitrary: vacate },
    ),
    { minLength: 10, maxLength: 60 },
  );
  type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never;

  /** A lease window with the registry's rule: ranges of one worker ID never overlap. */
  class World {
    nowMs = EPOCH_MS + 1_000_000;
    readonly window: LeaseWindow;
    readonly generator: SnowflakeGenerator;
    readonly granted: { workerId: number; floorMs: number; ceilingMs: number }[] = [];
    private readonly ends = new Map<number, number>();
    private readCount = 0;
    private newest: ReturnType<LeaseWindow['grant']> | undefined;

    constructor(
      readonly layout: BitLayout,
      sequenceStart: 'zero' | 'random',
    ) {
      this.window = new LeaseWindow(layout, 20);
      const now = { now: () => this.read() };
      this.generator = new SnowflakeGenerator(this.window, {
        clock: now,
        sequenceStart,
        aheadMsMax: 100,
      });
    }

    take(step: Step): bigint[] {
      if (step.kind === 'clock') this.nowMs += step.byMs;
      if (step.kind === 'grant') this.grant(step.workerId, this.nowMs + step.gapMs, step.lengthMs);
      if (step.kind === 'raise') this.raise(step.byMs);
      if (step.kind === 'vacate') this.vacate();
      return step.kind === 'ids' ? this.ids(step.count) : [];
    }

    /** A clock that advances a little with each read, as real clocks do. */
    private read(): number {
      if (++this.readCount % 50 === 0) this.nowMs++;
      return this.nowMs;
    }

    private grant(workerId: number, fromMs: number, lengthMs: number): void {
      const floorMs = Math.max(fromMs, this.ends.get(workerId) ?? 0);
      const range = { workerId, floorMs, ceilingMs: floorMs + lengthMs };
      this.granted.push(range);
      this.ends.set(workerId, range.ceilingMs);
      this.newest = this.window.grant(range);
    }

    private raise(byMs: number): void {
      const range = this.granted.at(-1);
      if (range === undefined || this.newest === undefined) return;
      range.ceilingMs += byMs;
      this.ends.set(range.workerId, range.ceilingMs);
      this.window.raise(this.newest, range.ceilingMs);
    }

    private vacate(): void {
      this.newest = undefined;
      this.window.vacate(
        () => Object.assign(new Error('gone'), { code: 'LEASE_LOST' }) as SnowflakeError,
      );
    }

    /** Four ways to request IDs, in turn. An error must be one of the documented errors. */
    private ids(count: number): bigint[] {
      const ids: bigint[] = [];
      for (let n = 0; n < count; n++) {
        try {
          if (n % 4 === 0) ids.push(this.generator.nextId());
          else if (n % 4 === 1) ids.push(BigInt(this.generator.nextIdString()));
          else if (n % 4 === 2) ids.push(...this.generator.nextIds(3));
          else ids.push(this.generator.nextId({ kind: 0 }));
        } catch (error) {
          const { code } = error as SnowflakeError;
          if (!['NOT_READY', 'LEASE_LOST', 'SEQUENCE_SPENT'].includes(code)) throw error;
        }
      }
      return ids;
    }
  }

  describe('the generator under random clocks and leases', () => {
    it.each(['zero', 'random'] as const)('never repeats an ID, start %s', (start) => {
      fc.assert(
        fc.property(layouts, steps, (layout, taken) => {
          const world = new World(layout, start);
          const ids = taken.flatMap((step) => world.take(step));
          expect(new Set(ids).size).toBe(ids.length);
          const isGranted = (id: bigint): boolean => {
            const { workerId, timestampMs } = layout.parse(id);
            return world.granted.some(
              (range) =>
                range.workerId === workerId &&
                timestampMs >= range.floorMs &&
                timestampMs + layout.unitMs <= range.ceilingMs,
            );
          };
          expect(ids.filter((id) => !isGranted(id))).toEqual([]);
        }),
        { numRuns: runs(200) },
      );
    });

    it('generates increasing IDs in layouts that begin with time', () => {
      const begun = layouts.map(
        ({ fields, unitMs }) =>
          new BitLayout({
            epoch: EPOCH_MS,
            unitMs,
            fields: fields
              .toSorted((a, b) => Number(b.role === 'timestamp') - Number(a.role === 'timestamp'))
              .map(({ name, bits, role }) => (role === 'call' ? [name, bits, role] : [name, bits])),
          }),
      );
      fc.assert(
        fc.property(begun, steps, (layout, taken) => {
          const world = new World(layout, 'zero');
          const ids = taken.flatMap((step) => world.take(step));
          expect(ids.filter((id, at) => at > 0 && id <= ids[at - 1]!)).toEqual([]);
        }),
        { numRuns: runs(200) },
      );
    });

    it('generates the same IDs as bigint, text, batch, and fill', () => {
      fc.assert(
        fc.property(layouts, fc.integer({ min: 1, max: 200 }), (layout, count) => {
          const make = () => {
            const window = new LeaseWindow(layout);
            window.grant({ workerId: 3, floorMs: EPOCH_MS + 50, ceilingMs: Infinity });
            return new SnowflakeGenerator(window, {
              clock: { now: () => EPOCH_MS + 50 },
              aheadMsMax: 1000,
            });
          };
          const [one, text, many, filled] = [make(), make(), make(), make()];
          const target = new BigUint64Array(count);
          filled.fill(target);
          const ids = Array.from({ length: count }, () => one.nextId());
          expect(Array.from({ length: count }, () => BigInt(text.nextIdString()))).toEqual(ids);
          expect(many.nextIds(count)).toEqual(ids);
          expect([...target]).toEqual(ids);
          expect(one.issuedCount).toBe(count);
          expect(filled.issuedCount).toBe(count);
        }),
        { numRuns: runs(200) },
      );
    });

    it('parses every ID that it composed', () => {
      const value = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      fc.assert(
        fc.property(layouts, fc.tuple(value, value, value, value), (layout, [t, w, k, s]) => {
          const parts = {
            timestampMs: layout.msOf(Math.floor(t * (layout.timestamp.max + 1))),
            workerId: Math.floor(w * (layout.workerIdMax + 1)),
            sequence: Math.floor(s * (layout.sequence.max + 1)),
            fields: { kind: Math.floor(k * (layout.callFields[0]!.max + 1)) },
          };
          const parsed = layout.parse(layout.compose(parts));
          expect(parsed).toMatchObject(parts);
          expect(layout.compose(parsed)).toBe(layout.compose(parts));
        }),
      );
    });
  });
});

describe('if another thread is faster', () => {
  it('a tick that another thread takes first costs the slower thread nothing', () => {
    const fields: FieldSpec[] = [
      ['timestamp', 41],
      ['worker', 10],
      ['sequence', 2],
    ];
    const small = new BitLayout({ epoch: 0, fields });
    const clock = { now: () => START_MS };
    const window = new LeaseWindow(small, 0, WindowWords.shared());
    const maker = () => new SnowflakeGenerator(window, { clock, aheadMsMax: 20 });
    const [slow, fast] = [maker(), maker()];
    window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + HOUR_MS });
    const take = window.take.bind(window);
    let [isBetween, lostCount, last] = [false, 0, 0n];
    window.take = (...block) => {
      if (isBetween) {
        isBetween = false;
        last = fast.nextIdAtOnce();
      }
      const isTaken = take(...block);
      if (!isTaken) lostCount++;
      return isTaken;
    };
    const next = () => {
      isBetween = true;
      last = slow.nextIdAtOnce();
    };
    while (codeOf(next) === 'none');
    expect(lostCount).toBeGreaterThan(5);
    expect(small.timestampMsOf(last)).toBe(START_MS + 20);
  });
});

it('a block outside its range is rejected', () => {
  const window = new LeaseWindow(layout);
  window.grant({ workerId: 7, floorMs: START_MS, ceilingMs: START_MS + 10 });
  const range = window.current!;
  const begin = (tick: number) => () => new Block().begin(range, tick, 0, 1);
  for (const tick of [range.floorTick, range.ceilingTick - 1]) expect(begin(tick)).not.toThrow();
  for (const tick of [range.floorTick - 1, range.ceilingTick, Number.NaN]) {
    expect(begin(tick)).toThrow('a block lies outside its range');
  }
});

it('IDs increase again after a rewind, and into the next range', () => {
  const window = new LeaseWindow(layout);
  const generator = new SnowflakeGenerator(window, { clock: { now: () => START_MS } });
  window.grant({ workerId: 7, floorMs: START_MS + 50, ceilingMs: START_MS + HOUR_MS });
  const before = generator.nextId();
  window.rewindTo({ workerId: 8, floorMs: START_MS, ceilingMs: START_MS + 5 });
  window.grant({ workerId: 9, floorMs: START_MS, ceilingMs: START_MS + HOUR_MS });
  const ids = generator.nextIds(6 * 4096);
  expect(ids[0]).toBeLessThan(before);
  expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(layout.parse(ids.at(-1)!).workerId).toBe(9);
});
