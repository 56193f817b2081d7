/**
 * Plans of moves between layouts. Layouts that are admitted at the same time generate no duplicate
 * ID. A layout that could is refused, with the date from which it is possible.
 */
import { describe, expect, it } from '@jest/globals';
import {
  endedText,
  moveText,
  planMove,
  SIDE_BY_SIDE_MS,
  type MovePlan,
} from '../../lib/cli/store/layout-move-plan.js';
import { BitLayout } from '../../lib/core/index.js';
import { readFingerprint } from '../../lib/core/layout/layout-fields.js';
import { regionsFingerprint } from '../../lib/lease/region-claim.js';
import { admittedSpan, latestOf, layoutsIn } from '../../lib/registry/layout-move.js';

const NOW_MS = Date.UTC(2026, 10, 24);
const YEAR_MS = 365 * 86_400_000;
const DAY_MS = 86_400_000;

interface Bits {
  readonly worker?: number;
  readonly sequence?: number;
  readonly timestamp?: number;
  readonly epoch?: string;
  readonly unitMs?: number;
}

function layoutOf(bits: Bits = {}): BitLayout {
  const { worker = 10, sequence = 12, timestamp = 41, epoch = '2024-01-01T00:00:00Z' } = bits;
  return new BitLayout({
    epoch,
    unitMs: bits.unitMs ?? 1,
    fields: [
      ['timestamp', timestamp],
      ['worker', worker],
      ['sequence', sequence],
    ],
  });
}

const USUAL = layoutOf();
const WIDE = layoutOf({ worker: 12, sequence: 10 });

function planned(from: BitLayout, to: BitLayout, text = from.fingerprint): MovePlan {
  const span = { workerIdMin: 0, workerIdMax: from.workerIdMax };
  return planMove({ from, to, text, span, nowMs: NOW_MS });
}

function layoutsOf(plan: MovePlan) {
  if ('refusal' in plan) throw new Error(plan.refusal);
  return plan.layouts;
}

/** The lowest and the highest ID of a worker at one time. */
function idsOf(layout: BitLayout, workerId: number, ms: number): [bigint, bigint] {
  const parts = { timestampMs: ms, workerId };
  return [layout.compose(parts), layout.compose({ ...parts, sequence: layout.sequence.max })];
}

describe('a move between layouts with the same clock', () => {
  it.each([
    ['more worker bits', USUAL, WIDE],
    ['fewer worker bits', WIDE, USUAL],
    ['one more', USUAL, layoutOf({ worker: 11, sequence: 11 })],
    ['hardly any', layoutOf({ worker: 1, sequence: 21 }), USUAL],
  ])('gives each layout worker IDs whose bits the other one lacks: %s', (_what, from, to) => {
    const [old, next] = layoutsOf(planned(from, to));
    const taken = [...Array(from.workerIdMax + 1).keys()]
      .filter((id) => id >= old!.span!.workerIdMin && id <= old!.span!.workerIdMax)
      .map((id) => idsOf(from, id, NOW_MS));
    const others = [...Array(to.workerIdMax + 1).keys()]
      .filter((id) => id >= next!.span!.workerIdMin && id <= next!.span!.workerIdMax)
      .map((id) => idsOf(to, id, NOW_MS));
    expect(taken.length * 2).toBe(from.workerIdMax + 1);
    expect(others.length * 2).toBe(to.workerIdMax + 1);
    const all = [...taken, ...others].toSorted(([a], [b]) => (a < b ? -1 : 1));
    // Sorted by their first ID, the workers' IDs do not overlap.
    expect(all.every(([, last], at) => at + 1 === all.length || last < all[at + 1]![0])).toBe(true);
    const [a, b] = [old!.span!, next!.span!];
    expect(a.workerIdMax < b.workerIdMin || b.workerIdMax < a.workerIdMin).toBe(true);
  });

  it('halves the worker IDs of one region alone', () => {
    const span = { workerIdMin: 96, workerIdMax: 127 };
    const terms = { from: USUAL, to: WIDE, text: USUAL.fingerprint, span, nowMs: NOW_MS };
    const [old, next] = layoutsOf(planMove(terms));
    expect(old!.span).toEqual({ workerIdMin: 96, workerIdMax: 111 });
    expect(next!.span).toEqual({ workerIdMin: 448, workerIdMax: 511 });
    const odd = planMove({ ...terms, span: { workerIdMin: 3, workerIdMax: 3 } });
    expect(odd).toMatchObject({ refusal: expect.stringContaining('cannot be halved') as unknown });
  });

  it('is refused for a registry of regions, whose numbers are not worker IDs', () => {
    const from = new BitLayout(readFingerprint(regionsFingerprint(3))!);
    const refusal = expect.stringContaining('registry of regions') as unknown;
    expect(planned(from, USUAL)).toMatchObject({ refusal });
  });

  it('is refused if other bits lie in between', () => {
    const called = new BitLayout({
      fields: [
        ['timestamp', 41],
        ['worker', 10],
        ['kind', 2, 'call'],
        ['sequence', 10],
      ],
    });
    expect(planned(USUAL, called)).toMatchObject({
      refusal: expect.stringContaining('worker bits right below the time') as unknown,
    });
  });
});

describe('a move to a layout with another clock', () => {
  const earlier = layoutOf({ epoch: '2020-01-01T00:00:00Z' });

  it('lets the old layout issue IDs until they would reach the new ones', () => {
    const plan = planned(USUAL, earlier);
    const [old, next] = layoutsOf(plan);
    const endMs = NOW_MS + 4 * YEAR_MS;
    expect(old!.untilMs).toBeGreaterThan(endMs - 2 * DAY_MS);
    expect(old!.untilMs).toBeLessThan(endMs + 2 * DAY_MS);
    const [, last] = idsOf(USUAL, USUAL.workerIdMax, old!.untilMs! - 1);
    expect(last).toBeLessThan(idsOf(earlier, 0, NOW_MS)[0]);
    expect(old!.span!.workerIdMax).toBeLessThan(next!.span!.workerIdMin);
  });

  it('goes from 53 bits to 63, and never back', () => {
    const short = layoutOf({ worker: 4, sequence: 8 });
    expect(layoutsOf(planned(short, USUAL))).toHaveLength(2);
    const back = planned(USUAL, short);
    expect(back).toMatchObject({
      refusal: expect.stringContaining('would not lie above') as unknown,
    });
    expect(back).not.toHaveProperty('possibleFromMs');
  });

  it('is refused for a later epoch until more bits below the time compensate', () => {
    const from = layoutOf({ worker: 9, epoch: '2010-01-01T00:00:00Z' });
    const to = layoutOf({ epoch: '2024-01-01T00:00:00Z' });
    const plan = planned(from, to) as { refusal: string; possibleFromMs: number };
    expect(plan.possibleFromMs).toBeGreaterThan(NOW_MS);
    const terms = { from, to, text: from.fingerprint, span: { workerIdMin: 0, workerIdMax: 511 } };
    const then = planMove({ ...terms, nowMs: plan.possibleFromMs + 1000 });
    const before = planMove({ ...terms, nowMs: plan.possibleFromMs - DAY_MS });
    expect([Object.keys(then).includes('layouts'), 'refusal' in before]).toEqual([true, true]);
    const { untilMs } = layoutsOf(then)[0]!;
    expect(untilMs).toBeGreaterThanOrEqual(plan.possibleFromMs + SIDE_BY_SIDE_MS);
    expect(planned(USUAL, layoutOf({ epoch: '2025-01-01T00:00:00Z' }))).not.toHaveProperty(
      'possibleFromMs',
    );
  });

  it('stays clear of the IDs of a layout whose move was undone', () => {
    const begun = moveText(1, layoutsOf(planned(USUAL, earlier)));
    const undone = endedText(begun, USUAL, NOW_MS + DAY_MS);
    const soon = { text: undone, span: { workerIdMin: 0, workerIdMax: 1023 }, nowMs: NOW_MS };
    const among = layoutOf({ epoch: '2021-01-01T00:00:00Z' });
    expect(planMove({ ...soon, from: USUAL, to: among })).toMatchObject({
      refusal: expect.stringContaining('was tried here before') as unknown,
    });
    const above = layoutOf({ epoch: '2019-01-01T00:00:00Z' });
    const again = layoutsOf(planMove({ ...soon, from: USUAL, to: above }));
    expect(again.map(({ fingerprint }) => fingerprint)).toEqual([
      earlier.fingerprint,
      USUAL.fingerprint,
      above.fingerprint,
    ]);
    // The end of the first move stays, since IDs of the tried layout are above it.
    expect(again[1]!.untilMs).toBeLessThanOrEqual(layoutsOf(planned(USUAL, earlier))[0]!.untilMs!);
  });
});

describe("a move's stored text", () => {
  const begun = moveText(1, layoutsOf(planned(USUAL, WIDE)));

  it('reads as it was written', () => {
    expect(begun).toBe(`#1 ${USUAL.fingerprint}[0-511] ${WIDE.fingerprint}[2048-4095]`);
    expect(moveText(1, layoutsIn(begun))).toBe(begun);
    const ended = endedText(begun, WIDE, NOW_MS);
    expect(ended).toBe(`#2 ${USUAL.fingerprint}[<${NOW_MS}] ${WIDE.fingerprint}[0-4095]`);
    expect(moveText(2, layoutsIn(ended))).toBe(ended);
    expect(admittedSpan(ended, USUAL.fingerprint, 0)).toBeUndefined();
  });

  it.each([`#`, `#1`, `#x a[0-1]`, `#1 a[`, `#1 a[0-]`, `#1 a 0-1`, `#1 a[1-2] and b`])(
    'admits no layout if it is invalid: %s',
    (text) => {
      expect(admittedSpan(text, 'a', 0)).toBeUndefined();
    },
  );

  it('is replaced only by a later one that includes its layouts', () => {
    expect(latestOf('', begun)).toBe(begun);
    expect(latestOf(USUAL.fingerprint, begun)).toBe(begun);
    expect(latestOf(`${WIDE.fingerprint} and ${USUAL.fingerprint}`, begun)).toBe(begun);
    expect(latestOf('another', begun)).toBe('another');
    expect(latestOf(`${USUAL.fingerprint} and another`, begun)).not.toBe(begun);
    const ended = endedText(begun, WIDE, NOW_MS);
    expect([latestOf(ended, begun), latestOf(begun, ended)]).toEqual([ended, ended]);
  });

  it('is opened by any process that has seen it, and closed by none', () => {
    const [awaited, open] = ['', '512-1023'].map((ids) => `#2 #in:k1 a[<9] b[${ids}]`);
    expect([latestOf(awaited!, open), latestOf(open!, awaited)]).toEqual([open, open]);
    for (const other of ['#2 #in:k2 a[<9] b[0-1]', '#2 #out:k1 a[<9] b[0-1]', '#2 a[<9] b[0-1]']) {
      expect(latestOf(awaited!, other)).toBe(awaited);
    }
    // A closed registry never opens again, and one store cannot close another one.
    const over = '#3 #out:k1 b[]';
    expect(latestOf(over, '#3 #out:k1 b[0-511]')).toBe(over);
    expect(latestOf(open!, over)).toBe(open);
  });
});
