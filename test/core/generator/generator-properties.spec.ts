/**
 * The generator under random layouts, clocks that jump anywhere and ranges that move: what is
 * promised about ids must hold whatever happens.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, SnowflakeGenerator, LeaseWindow } from '../../../lib/core/index.js';
import type { FieldSpec, SnowflakeError } from '../../../lib/core/index.js';
import { runs } from '../../runs.js';

const EPOCH_MS = 1_700_000_000_000;

/** Fields in any order, some straddling the words, some with the sequence in the high word. */
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

/**
 * A lease window whose ranges are granted by the rule of the registry: no two of one worker id
 * overlap.
 */
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

  /** A clock that is only looked at moves on a little, as clocks do. */
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

  /** Four ways of asking, in turn; a refusal must be one of those that are promised. */
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

describe('the generator, whatever clock and lease do', () => {
  it.each(['zero', 'random'] as const)('repeats no id and leaves no range, start %s', (start) => {
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

  it('makes ids that rise, in layouts that begin with time', () => {
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

  it('gives the same ids by bigint, text, batch and fill', () => {
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

  it('parses what it composed', () => {
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
