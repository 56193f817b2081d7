/**
 * Plans of moves of a registry between two stores. No step leaves a worker ID in both stores,
 * whichever operator plans, and wherever a command was interrupted.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { moveText } from '../../lib/cli/store/layout-move-plan.js';
import {
  nextStoreStep,
  standingOf,
  stateOf,
  type MoveEnd,
  type RegistryState,
  type StoreMoveGoal,
  type StoreMoveStep,
  type StoreMoveTerms,
  type WayOn,
  wayOn,
} from '../../lib/cli/store/store-move-plan.js';
import { BitLayout } from '../../lib/core/index.js';
import { regionsFingerprint } from '../../lib/lease/region-claim.js';
import { heldIn, NOW_MS } from './held-records.js';
import { admittedSpan, commonSpan, latestOf, layoutsIn } from '../../lib/registry/layout-move.js';
import type { RegistryFacts, RegistryView } from '../../lib/registry/snapshot.js';

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

const FINGERPRINT = USUAL.fingerprint;
const NONE: RegistryState = {
  text: '',
  isUsed: false,
  holders: [],
  nowMs: NOW_MS,
  latestIdMs: NOW_MS + 1000,
  usualLatestIdMs: NOW_MS + 1000,
};
const heldBy = (count: number) => Array.from({ length: count }, (_, id) => heldIn(id));

const IN_USE: RegistryState = { ...NONE, text: FINGERPRINT, isUsed: true };

/** The next step of a move from one store to another. */
function stepOf(terms: Partial<StoreMoveTerms>) {
  return nextStoreStep({ from: IN_USE, to: NONE, goal: 'begin', key: 'k1', ...terms });
}

const refusalWith = (text: string) => ({ refusal: expect.stringContaining(text) as unknown });

describe('a move between two stores', () => {
  /** Every step to the goal, each planned from the state before it. */
  function stepsTo(goal: StoreMoveGoal, states: Record<MoveEnd, RegistryState>): StoreMoveStep[] {
    const next = stepOf({ goal, ...states });
    if (next === 'done') return [];
    if ('refusal' in next) throw new Error(next.refusal);
    const { at, text } = next;
    return [next, ...stepsTo(goal, { ...states, [at]: { ...states[at], isUsed: true, text } })];
  }

  const BEGUN = {
    from: { ...IN_USE, text: `#1 #out:k1 ${FINGERPRINT}[0-511]` },
    to: { ...IN_USE, text: `#1 #in:k1 ${FINGERPRINT}[512-1023]` },
  };

  it('takes a worker ID from one store before the other has it, above all of its ranges', () => {
    const floorMs = IN_USE.latestIdMs;
    expect(stepsTo('begin', { from: IN_USE, to: NONE })).toEqual([
      { at: 'to', text: `#1 #in:k1 ${FINGERPRINT}[]` },
      { at: 'from', text: BEGUN.from.text },
      { at: 'to', text: BEGUN.to.text, floorMs },
    ]);
    expect(stepsTo('end', BEGUN)).toEqual([
      { at: 'from', text: `#2 #out:k1 ${FINGERPRINT}[]` },
      { at: 'to', text: `#2 ${FINGERPRINT}[0-1023]`, floorMs },
    ]);
    expect(stepsTo('undo', BEGUN)).toEqual([
      { at: 'to', text: `#2 #in:k1 ${FINGERPRINT}[]` },
      { at: 'from', text: `#2 ${FINGERPRINT}[0-1023]`, floorMs },
    ]);
    for (const { text } of Object.values(BEGUN)) {
      const admitted = admittedSpan(text, FINGERPRINT, 0)!;
      expect(moveText(1, layoutsIn(text))).toBe(text.replace(/ #(in|out):k1/, ''));
      expect(admitted.workerIdMax - admitted.workerIdMin).toBe(511);
    }
  });

  it('halves the worker IDs of one region alone, and names those granted later', () => {
    const span = { workerIdMin: 96, workerIdMax: 127 };
    const to = { ...NONE, text: `#1 #in:k1 ${FINGERPRINT}[]` };
    const half = stepOf({ span, to });
    expect(half).toMatchObject({ at: 'from', text: `#1 #out:k1 ${FINGERPRINT}[96-111]` });
    const from = { ...IN_USE, text: (half as StoreMoveStep).text };
    expect(stepOf({ from, to })).toMatchObject({ text: `#1 #in:k1 ${FINGERPRINT}[112-127]` });
    const others = { span: { workerIdMin: 0, workerIdMax: 1 }, from, to };
    expect(stepOf(others)).toEqual(refusalWith('began with the worker ids 96 to 127'));
    expect(stepOf({ span: { workerIdMin: 3, workerIdMax: 5 } })).toEqual(refusalWith('halved'));
    expect(stepOf({ span: { workerIdMin: 3, workerIdMax: 1024 } })).toEqual(refusalWith('halved'));
  });

  it('keeps the ended layouts, and the end of the current one', () => {
    const ended = `${WIDE.fingerprint}[<${NOW_MS}]`;
    const from = { ...IN_USE, text: `#4 ${FINGERPRINT}[0-1023<${NOW_MS + DAY_MS}] ${ended}` };
    const steps = stepsTo('begin', { from, to: NONE });
    const own = (ids: string) => `${ended} ${FINGERPRINT}[${ids}<${NOW_MS + DAY_MS}]`;
    expect(steps.map(({ text }) => text)).toEqual([
      `#5 #in:k1 ${own('')}`,
      `#5 #out:k1 ${own('0-511')}`,
      `#5 #in:k1 ${own('512-1023')}`,
    ]);
  });

  it.each<[string, Partial<StoreMoveTerms>, string]>([
    ['neither exists', { from: NONE }, 'There is no registry'],
    ['the first one does not exist', { from: NONE, to: IN_USE }, 'no registry to move'],
    ['the second one is in use', { to: IN_USE }, 'in use: only an empty one'],
    [
      'the numbers of regions are no worker IDs',
      { from: { ...IN_USE, text: regionsFingerprint(3) } },
      'a registry of regions',
    ],
    ['the second one lost its header alone', { to: { ...NONE, isUsed: true } }, 'in use'],
    [
      'a move of layouts is in progress',
      { from: { ...IN_USE, text: `#1 ${FINGERPRINT}[0-511] ${WIDE.fingerprint}[2048-4095]` } },
      'Two layouts run side by side',
    ],
    [
      'two layouts contest it',
      { from: { ...IN_USE, text: `${FINGERPRINT} and ${WIDE.fingerprint}` } },
      'or contest a registry',
    ],
    [
      'the second one is closed for another layout',
      { to: { ...NONE, text: `#1 #in:k2 ${WIDE.fingerprint}[]` } },
      `the other for ${WIDE.fingerprint}`,
    ],
    [
      'too many are in use',
      { from: { ...IN_USE, holders: heldBy(513) } },
      '513 worker ids are in use',
    ],
    [
      'a region has no worker ID in the remaining half',
      { from: { ...IN_USE, holders: [heldIn(645, '640-767')] } },
      'worker ids 640-767 find none on one side of the move (0 to 511, and 512 to 1023): worker id',
    ],
    [
      'the clocks are days apart',
      { to: { ...NONE, nowMs: NOW_MS - 2 * DAY_MS } },
      'more than a day apart',
    ],
    [
      'ranges are too long',
      { from: { ...IN_USE, latestIdMs: NOW_MS + YEAR_MS } },
      'Ranges were granted, or may be forgotten, until 2027',
    ],
    [
      'the first one was moved',
      { from: { ...NONE, text: `#2 #out:k1 ${FINGERPRINT}[]` } },
      'closed',
    ],
    ['its move there is in progress', { from: BEGUN.to }, 'being moved there from another store'],
    [
      'it moves elsewhere',
      { from: BEGUN.from, to: { ...BEGUN.to, text: BEGUN.to.text.replace('k1', 'k2') } },
      'to another one than that',
    ],
    [
      'it moved elsewhere',
      {
        goal: 'end',
        from: BEGUN.from,
        to: { ...BEGUN.to, text: BEGUN.to.text.replace('k1', 'k2') },
      },
      'No move is under way',
    ],
    ['nothing has begun', { goal: 'end' }, 'No move is under way'],
    ['nothing has begun, undone', { goal: 'undo', to: IN_USE }, 'No move is under way'],
    [
      'it has begun in part',
      { goal: 'end', from: BEGUN.from, to: { ...NONE, text: `#1 #in:k1 ${FINGERPRINT}[]` } },
      'not begun in full',
    ],
    [
      'it was ended',
      { goal: 'undo', from: { ...NONE, text: `#2 #out:k1 ${FINGERPRINT}[]` }, to: BEGUN.to },
      'cannot be undone',
    ],
    [
      'the old one has a holder',
      { goal: 'end', ...BEGUN, from: { ...BEGUN.from, holders: heldBy(2) } },
      'worker id 1 (shop on host-1, pid 11, free in 10 s at most).',
    ],
    [
      'the new one has a holder',
      { goal: 'undo', ...BEGUN, to: { ...BEGUN.to, holders: heldBy(1) } },
      'still held there. Replace the processes first, or --wait for them: worker id 0 (',
    ],
    [
      'the second one has lost all data',
      { goal: 'end', from: BEGUN.from },
      'give the command without --end and --undo.',
    ],
    [
      'the registry to close has no record of the move or its holders',
      { goal: 'end', from: NONE, to: BEGUN.to },
      'give the command without --end and --undo.',
    ],
    [
      'the registry to close has no record of the move to undo',
      { goal: 'undo', from: BEGUN.from, to: NONE },
      'give the command without --end and --undo.',
    ],
    [
      'the second one has lost all data, and is in use',
      { goal: 'undo', from: BEGUN.from, to: IN_USE },
      'give the command with --end.',
    ],
    [
      'both are closed',
      {
        from: { ...NONE, text: `#2 #out:k1 ${FINGERPRINT}[]` },
        to: { ...NONE, text: `#2 #in:k1 ${FINGERPRINT}[]` },
      },
      'it is closed. If these are the two stores of the move, give the command with --end.',
    ],
    [
      'the first one has lost its data, and the second one is closed',
      { from: NONE, to: { ...NONE, text: `#1 #in:k1 ${FINGERPRINT}[]` } },
      'no registry to move. If these are the two stores of the move, give the command with --undo.',
    ],
    [
      'it went the other way',
      {
        from: { ...NONE, text: `#2 #in:k1 ${FINGERPRINT}[]` },
        to: { ...IN_USE, text: `#1 #out:k1 ${FINGERPRINT}[0-511]` },
      },
      'without --end and --undo, and with --from and --to exchanged.',
    ],
  ])('is refused if %s', (_where, terms, text) => {
    expect(stepOf(terms)).toEqual(refusalWith(text));
  });

  it('names no option that is already given', () => {
    // The old registry was restored from the middle of a finished move.
    const from = { ...BEGUN.from, holders: heldBy(1) };
    const to = { ...IN_USE, text: `#2 ${FINGERPRINT}[0-1023]` };
    const { refusal } = Object(stepOf({ goal: 'end', from, to })) as { refusal?: string };
    expect(refusal).toMatch(/^Worker ids.* at most\)\.$/);
  });

  it('closes a registry again that an earlier move has closed, under its own key', () => {
    const from = { ...IN_USE, text: `#3 ${FINGERPRINT}[0-1023]` };
    const closed = (count: number) => ({ at: 'to', text: `#${count} #in:k1 ${FINGERPRINT}[]` });
    const left = { ...IN_USE, text: `#7 #out:k2 ${FINGERPRINT}[]` };
    expect(stepOf({ from, to: left })).toEqual(closed(8));
    const undone = { ...NONE, text: `#3 #in:k2 ${FINGERPRINT}[]` };
    expect(stepOf({ from, to: undone })).toEqual(closed(4));
  });

  it('continues a move that another command began, under its key', () => {
    const to = { ...NONE, text: `#1 #in:k2 ${FINGERPRINT}[]` };
    expect(stepOf({ to })).toEqual({ at: 'from', text: `#1 #out:k2 ${FINGERPRINT}[0-511]` });
  });

  it('takes all worker IDs back from a registry that another move has closed since', () => {
    const to = { ...IN_USE, text: `#2 #in:k2 ${FINGERPRINT}[]` };
    expect(stepOf({ ...BEGUN, to })).toEqual(refusalWith('give the command with --undo.'));
    const undone = stepsTo('undo', { ...BEGUN, to });
    expect(undone).toMatchObject([{ at: 'from', text: `#2 ${FINGERPRINT}[0-1023]` }]);
    // If two registries were closed at the same time, no order between them exists.
    const elsewhere = { ...to, text: `#1 #in:k2 ${FINGERPRINT}[]` };
    expect(stepOf({ goal: 'undo', ...BEGUN, to: elsewhere })).toEqual(
      refusalWith('No move is under way'),
    );
  });

  it('continues if one of the stores has lost it', () => {
    const { from, to } = BEGUN;
    // The second registry copies the first one's worker IDs, even those that were claimed since.
    for (const lost of [NONE, IN_USE]) {
      expect(stepsTo('begin', { from: lost, to }).map(({ at, text }) => [at, text])).toEqual([
        ['from', `#2 #out:k1 ${FINGERPRINT}[0-511]`],
        ['to', `#2 #in:k1 ${FINGERPRINT}[512-1023]`],
      ]);
    }
    expect(stepsTo('begin', { from, to: NONE }).map(({ at, text }) => [at, text])).toEqual([
      ['to', `#1 #in:k1 ${FINGERPRINT}[]`],
      ['to', to.text],
    ]);
  });

  it('covers the furthest possible times: ceilings, and what may be lost', () => {
    const facts = { fingerprint: 'f', quarantineMs: 5000, safeFloorMs: 0 } as RegistryFacts;
    const view = (more: Partial<RegistryFacts>, ceilingMs = 0): RegistryView => ({
      facts: { ...facts, ...more },
      nowMs: NOW_MS,
      storeMs: NOW_MS,
      isUnfinished: false,
      workers: [{ workerId: 1, ceilingMs, freeInMs: 0 }],
      proofOf: () => undefined,
    });
    const reachOf = (...terms: Parameters<typeof view>) =>
      stateOf(view(...terms)).latestIdMs - NOW_MS;
    expect(reachOf({})).toBe(5000);
    expect(reachOf({}, NOW_MS + 7000)).toBe(7000);
    expect(reachOf({ safeFloorMs: NOW_MS + 6000 })).toBe(6000);
    expect(reachOf({ layoutFloorMs: NOW_MS + 8000 })).toBe(8000);
    expect(stateOf(view({}, NOW_MS + 7000)).usualLatestIdMs).toBe(NOW_MS + 5000);
  });
});

/*
 * Every concurrent sequence of two operators. Each reads both registries and sends an order. The
 * order takes effect later, if its registry is still unchanged, or never.
 */

interface Sent extends StoreMoveStep {
  /** The string in its registry at the time of the read. */
  readonly read: string;
  /** How often the other registry had gained worker IDs by then. */
  readonly gainCount: number;
}

interface World {
  readonly texts: Readonly<Record<MoveEnd, string>>;
  readonly gainCounts: Readonly<Record<MoveEnd, number>>;
  readonly sent: readonly Sent[];
}

const GOALS: readonly StoreMoveGoal[] = ['begin', 'end', 'undo'];
const KEYS = ['k1', 'k2'];
const SENT_COUNT_MAX = 2;
const CHANGE_COUNT_MAX = 4;

const otherOf = (at: MoveEnd): MoveEnd => (at === 'from' ? 'to' : 'from');
const stateFor = (text: string): RegistryState => ({ ...IN_USE, isUsed: text !== '', text });

/** Many worlds share a few strings, so their consequences are computed once. */
function remembered<R>(compute: (from: string, to: string) => R) {
  const known = new Map<string, R>();
  return ({ from, to }: World['texts']): R => {
    const key = `${from} to ${to}`;
    if (!known.has(key)) known.set(key, compute(from, to));
    return known.get(key)!;
  };
}

/** The next steps that an operator may find, for any goal. */
const stepsFor = remembered((from, to) => {
  const states = { from: stateFor(from), to: stateFor(to) };
  const plans = GOALS.flatMap((goal) => KEYS.map((key) => nextStoreStep({ ...states, goal, key })));
  return plans.filter((plan) => plan !== 'done' && !('refusal' in plan)) as StoreMoveStep[];
});

const isExplored = remembered((from, to) =>
  [from, to].every((text) => standingOf(text).count <= CHANGE_COUNT_MAX),
);

/** Each world that one event leads to. */
function afterOne(world: World): World[] {
  const { texts, gainCounts, sent } = world;
  const steps = sent.length === SENT_COUNT_MAX ? [] : stepsFor(texts);
  const sending = steps.map((step): World => {
    const { at } = step;
    const order = { ...step, read: texts[at], gainCount: gainCounts[otherOf(at)] };
    return { ...world, sent: [...sent, order] };
  });
  const arriving = sent.map((order, n): World => {
    const { at, text, read, floorMs } = order;
    const rest = sent.filter((_, other) => other !== n);
    if (texts[at] !== read) return { ...world, sent: rest };
    const gains = floorMs === undefined ? 0 : 1;
    // All grants of the other registry since the read are above the order's floor.
    if (gains === 1 && gainCounts[otherOf(at)] !== order.gainCount) {
      throw new Error(`It begins below what the other one granted: ${JSON.stringify(world)}`);
    }
    return {
      texts: { ...texts, [at]: text },
      gainCounts: { ...gainCounts, [at]: gainCounts[at] + gains },
      sent: rest,
    };
  });
  return [...sending, ...arriving].filter((next) => isExplored(next.texts));
}

const spanOf = (text: string) => admittedSpan(text, FINGERPRINT, 0);

/** The faults of two registries with these strings. */
const faultsOf = remembered((from, to) => {
  // The second registry has no processes before it exists.
  const common = to === '' ? undefined : spanOf(from) && commonSpan(spanOf(from)!, spanOf(to));
  // A process from the other registry brings its string here, and this must have no effect.
  const isDeaf = latestOf(to, from) === to || to === '';
  const isHeard = latestOf(from, to) !== from;
  const texts = `${from} and ${to}`;
  return [
    ...(common === undefined ? [] : [`${texts} have worker ids in common`]),
    ...(isDeaf && !isHeard ? [] : [`${texts}: one listens to the other`]),
  ];
});

const kindsOf = remembered((from, to) => [from, to].map((text) => standingOf(text).kind).join(' '));

/** Runs a command to its end, without holders of worker IDs. */
function endOf(texts: World['texts'], { goal, isBack }: WayOn): string {
  const { from, to } = isBack ? { from: texts.to, to: texts.from } : texts;
  const states = { from: stateFor(from), to: stateFor(to) };
  for (let count = 0; count < 20; count++) {
    const next = nextStoreStep({ ...states, goal, key: 'k9' });
    if (next === 'done' || 'refusal' in next) return next === 'done' ? next : next.refusal;
    states[next.at] = stateFor(next.text);
  }
  return 'It goes on for ever.';
}

const WAYS = GOALS.flatMap((goal) => [false, true].map((isBack): WayOn => ({ goal, isBack })));

/** All worlds that two operators can create. */
function explored(): World[] {
  const first: World = {
    texts: { from: FINGERPRINT, to: '' },
    gainCounts: { from: 0, to: 0 },
    sent: [],
  };
  const seen = new Map([[JSON.stringify(first), first]]);
  // The iteration over a Map includes entries added during it.
  for (const world of seen.values()) {
    for (const next of afterOne(world)) seen.set(JSON.stringify(next), next);
  }
  return [...seen.values()];
}

describe('two operators who move a registry at the same time', () => {
  let worlds: World[];
  beforeAll(() => {
    worlds = explored();
  });

  it("never put a worker ID into both stores, or one below the other store's grants", () => {
    const faults = new Set(worlds.flatMap(({ texts }) => faultsOf(texts)));
    expect([...faults]).toEqual([]);
    expect(worlds.length).toBeGreaterThan(500);
    const kinds = new Set(worlds.map(({ texts }) => kindsOf(texts)));
    expect([...kinds].toSorted()).toEqual([
      'closed closed',
      'closed half',
      'closed whole',
      'half closed',
      'half half',
      'whole closed',
      'whole none',
    ]);
  });

  it('never reach a state that no command can end', () => {
    const isStuck = ({ texts }: World) => WAYS.every((way) => endOf(texts, way) !== 'done');
    expect(new Set(worlds.filter(isStuck).map(({ texts }) => texts))).toEqual(new Set());
  });

  it('get a command that opens a registry, even after a loss or a restore', () => {
    const textsOf = (at: MoveEnd) => new Set(['', ...worlds.map(({ texts }) => texts[at])]);
    const pairs = [...textsOf('from')].flatMap((from) =>
      [...textsOf('to')].flatMap((to) => (from === '' && to === '' ? [] : [{ from, to }])),
    );
    let shutCount = 0;
    for (const texts of pairs) {
      const ends = { from: standingOf(texts.from), to: standingOf(texts.to) };
      const way = wayOn(ends);
      const isShut = Object.values(ends).every(({ kind }) => ['none', 'closed'].includes(kind));
      if (isShut) shutCount++;
      const end = way && endOf(texts, way);
      expect([texts, end]).toEqual([texts, way || isShut ? 'done' : undefined]);
    }
    expect(shutCount).toBeGreaterThan(50);
  });
});
