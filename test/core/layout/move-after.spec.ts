/**
 * A move from one layout or epoch to another is safe only if no new ID can equal an old one. The
 * test compares the rule with small layouts whose IDs are all counted.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { layouts, moveAfter, type BitLayout } from '../../../lib/core/index.js';
import { LayoutField } from '../../../lib/core/layout/layout-fields.js';
import { codeOf, runs } from '../../until.js';

/**
 * Fields of a few bits, which BitLayout rejects. The rule reads only these properties of a layout.
 */
interface SmallLayout {
  readonly epochMs: number;
  readonly unitMs: number;
  readonly timeBits: number;
  /** Fields below the time, and above it. */
  readonly lowBits: number;
  readonly highBits: number;
}

const judged = ({ epochMs, unitMs, timeBits, lowBits }: SmallLayout): BitLayout =>
  ({
    epochMs,
    unitMs,
    timestamp: new LayoutField('timestamp', 'timestamp', timeBits, lowBits),
  }) as BitLayout;

/** Every ID that a layout can have between two times, both inclusive. */
function idsBetween(layout: SmallLayout, fromMs: number, toMs: number): Set<number> {
  const { epochMs, unitMs, timeBits, lowBits, highBits } = layout;
  const ids = new Set<number>();
  for (let ms = Math.max(fromMs, epochMs); ms <= toMs; ms++) {
    const tick = Math.floor((ms - epochMs) / unitMs);
    if (tick >= 2 ** timeBits) break;
    for (let high = 0; high < 2 ** highBits; high++) {
      for (let low = 0; low < 2 ** lowBits; low++) {
        ids.add((high * 2 ** timeBits + tick) * 2 ** lowBits + low);
      }
    }
  }
  return ids;
}

const small = (highBits: number): fc.Arbitrary<SmallLayout> =>
  fc.record({
    epochMs: fc.integer({ min: 0, max: 40 }),
    unitMs: fc.integer({ min: 1, max: 3 }),
    timeBits: fc.integer({ min: 2, max: 6 }),
    lowBits: fc.integer({ min: 0, max: 4 }),
    highBits: fc.integer({ min: 0, max: highBits }),
  });

/** The end of the longest small layout. */
const END_MS = 40 + 2 ** 6 * 3;
/** Runs count only pairs that fit the property; the others are drawn again. */
const RUNS = runs(2000);

function movedAt(before: SmallLayout, after: SmallLayout, nowMs: number) {
  const old = idsBetween(before, 0, nowMs - 1);
  const made = idsBetween(after, nowMs, END_MS);
  const judgement = moveAfter(judged(after), BigInt(Math.max(0, ...old)), nowMs);
  return { ...judgement, old, made, shared: [...made].filter((id) => old.has(id)) };
}

describe('a move judged safe', () => {
  it('generates no duplicate for any two layouts', () => {
    const one = fc.property(small(2), small(2), fc.nat(80), (before, after, nowMs) => {
      const { isSafe, old, shared } = movedAt(before, after, nowMs);
      fc.pre(isSafe && old.size > 0);
      expect(shared).toEqual([]);
    });
    fc.assert(one, { numRuns: RUNS });
  });

  it('becomes safe at exactly the reported time', () => {
    const one = fc.property(small(0), small(2), fc.nat(80), (before, after, nowMs) => {
      const { old, safeFrom } = movedAt(before, after, nowMs);
      fc.pre(safeFrom !== undefined);
      const at = (ms: number) => moveAfter(judged(after), BigInt(Math.max(0, ...old)), ms).isSafe;
      const ms = safeFrom!.getTime();
      expect([at(ms - 1), at(ms)]).toEqual([false, true]);
    });
    fc.assert(one, { numRuns: RUNS });
  });

  it('stays safe up to exactly the reported epoch', () => {
    const one = fc.property(small(0), small(2), fc.nat(80), (before, after, nowMs) => {
      const { old, epochMax } = movedAt(before, after, nowMs);
      fc.pre(epochMax !== undefined);
      const maxId = BigInt(Math.max(0, ...old));
      const withEpoch = (epochMs: number) =>
        moveAfter(judged({ ...after, epochMs }), maxId, nowMs).isSafe;
      const ms = epochMax!.getTime();
      expect([withEpoch(ms), withEpoch(ms + 1)]).toEqual([true, false]);
    });
    fc.assert(one, { numRuns: RUNS });
  });
});

describe('a move judged unsafe', () => {
  it('can generate a duplicate if both layouts begin with time', () => {
    const one = fc.property(small(0), small(0), fc.nat(80), (before, after, nowMs) => {
      const { isSafe, old, made, shared } = movedAt(before, after, nowMs);
      fc.pre(!isSafe && old.size > 0 && made.size > 0);
      expect(shared).not.toEqual([]);
    });
    fc.assert(one, { numRuns: RUNS });
  });
});

describe('with one layout', () => {
  const nowMs = Date.parse('2026-11-21T00:00:00Z');
  const maxId = layouts.snowflake().idRange(new Date(0), new Date(nowMs - 1)).last;

  it('an equal or earlier epoch is safe, a later epoch is not', () => {
    const isSafe = (epoch: string) => moveAfter(layouts.snowflake({ epoch }), maxId, nowMs).isSafe;
    expect(isSafe('2024-01-01')).toBe(true);
    expect(isSafe('2020-01-01')).toBe(true);
    expect(isSafe('2024-01-01T00:00:00.001Z')).toBe(false);
  });

  it('the latest safe epoch follows the documented formula', () => {
    const { epochMax } = moveAfter(layouts.snowflake({ epoch: '2025-01-01' }), maxId, nowMs);
    expect(epochMax!.getTime()).toBe(nowMs - (Number(maxId >> 22n) + 1));
    expect(epochMax).toEqual(new Date('2024-01-01'));
  });
});

describe('real layouts', () => {
  const nowMs = Date.parse('2026-11-21T00:00:00Z');
  const lastOf = (layout: BitLayout) => layout.idRange(new Date(0), new Date(nowMs - 1)).last;

  it('IDs of Sonyflake and of Discord stay above those of the default for years', () => {
    const fromOf = (old: BitLayout) => moveAfter(layouts.snowflake(), lastOf(old), nowMs);
    expect(fromOf(layouts.sonyflake())).toMatchObject({ isSafe: false });
    expect(fromOf(layouts.sonyflake()).safeFrom!.toISOString()).toMatch(/^2028-11-/);
    expect(fromOf(layouts.discord()).safeFrom!.toISOString()).toMatch(/^2035-11-2/);
  });

  it('the default can follow any auto-increment of 32 bits', () => {
    expect(moveAfter(layouts.snowflake(), 2n ** 32n, nowMs).isSafe).toBe(true);
  });

  it('no layout can follow the largest ID, or an ID of 64 bits', () => {
    for (const maxId of [2n ** 63n - 1n, 2n ** 64n - 1n]) {
      expect(moveAfter(layouts.snowflake(), maxId, nowMs)).toEqual({
        isSafe: false,
        safeFrom: undefined,
        epochMax: undefined,
      });
    }
  });

  it.each([
    [-1n, 0],
    [1 as unknown as bigint, 0],
    [1n, NaN],
    [1n, 0.5],
  ])('%p at %p is rejected', (maxId, now) => {
    expect(codeOf(() => moveAfter(layouts.snowflake(), maxId, now))).toBe('ARGUMENT_INVALID');
  });
});
