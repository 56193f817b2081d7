/**
 * Tests what the chaos relies on: its judges of locks and cron jobs, its verdict, and the rights
 * that it takes away.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { checkFleet, checkRuns } from './cron-judge.mjs';
import { breachesIn } from './region-topologies.mjs';
import { checkHolds, controlVerdictOf, verdictOf } from './report.mjs';
import { LATER, mistakesIn, userOfGuide } from './mistakes/clients.mjs';

// The judge finds two holders, falling tokens and late writes in the records of the processes. It
// reports no error for correct records.

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const hold = (token: number, fromMs: number, untilMs: number, lock = 'a') => {
  return { kind: 'hold', lock, token: String(token), fromMs, untilMs };
};
const at = (kind: 'end' | 'write', token: number, atMs: number) => {
  return { kind, lock: 'a', token: String(token), atMs };
};

/** A folder with the records of each process. */
function written(...processes: object[][]) {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-holds-'));
  folders.push(folder);
  processes.forEach((events, index) => {
    const lines = events.map((event) => `${JSON.stringify(event)}\n`);
    writeFileSync(join(folder, `process-${index}.events`), lines.join(''));
  });
  return folder;
}

function judged(...processes: object[][]) {
  const folder = written(...processes);
  const { duplicateCount, disorderCount, lateWriteCount } = checkHolds(folder);
  return [duplicateCount, disorderCount, lateWriteCount];
}

describe('checkHolds', () => {
  it('accepts holds that follow each other', () => {
    const first = [hold(1, 0, 100), hold(1, 30, 130), at('write', 1, 60), at('end', 1, 60)];
    const second = [hold(2, 60, 160), at('write', 2, 70), hold(1, 60, 160, 'b')];
    expect(judged(first, second, [hold(3, 160, 260)])).toEqual([0, 0, 0]);
  });

  it('finds two holders at one moment, up to the deadline of a killed holder', () => {
    expect(judged([hold(1, 0, 100)], [hold(2, 99.9, 200)])).toEqual([1, 0, 0]);
    expect(judged([hold(1, 0, 100), hold(1, 30, 150)], [hold(2, 120, 200)])).toEqual([1, 0, 0]);
    const long = [hold(1, 0, 500)];
    expect(judged(long, [hold(2, 10, 20)], [hold(3, 30, 40)])).toEqual([2, 0, 0]);
  });

  it('finds one token of two processes', () => {
    expect(judged([hold(1, 0, 100)], [hold(1, 100, 200)])).toEqual([0, 1, 0]);
  });

  it('finds a falling token', () => {
    expect(judged([hold(5, 0, 100)], [hold(4, 100, 200)])).toEqual([0, 1, 0]);
  });

  it('counts writes after a higher token', () => {
    const stalled = [hold(1, 0, 100), at('write', 1, 250)];
    expect(judged(stalled, [hold(2, 200, 300), at('write', 2, 210)])).toEqual([0, 0, 1]);
  });

  /** A hold of one of two permits. */
  const permit = (which: number, token: number, fromMs: number, untilMs: number) => ({
    ...hold(token, fromMs, untilMs, 'pool'),
    permit: which,
    permits: 2,
  });

  it('accepts as many holders as permits, with separate tokens for each permit', () => {
    const first = [permit(1, 8, 0, 100), permit(2, 3, 10, 50)];
    expect(judged(first, [permit(2, 4, 50, 150)], [permit(1, 9, 100, 200)])).toEqual([0, 0, 0]);
    const { kinds } = checkHolds(written(first, [permit(2, 4, 50, 150)], [hold(1, 0, 100)]));
    expect(kinds).toEqual({ permitCount: 3, most: 2, severalCount: 0 });
  });

  it('finds two holders of one permit, and a falling token of a permit', () => {
    expect(judged([permit(1, 1, 0, 100)], [permit(1, 2, 99.9, 200)])).toEqual([1, 0, 0]);
    expect(judged([permit(1, 5, 0, 100)], [permit(1, 4, 100, 200)])).toEqual([0, 1, 0]);
    const late = { ...at('write', 1, 250), lock: 'pool', permit: 1 };
    const next = { ...at('write', 2, 210), lock: 'pool', permit: 1 };
    const stalled = [permit(1, 1, 0, 100), late];
    expect(judged(stalled, [permit(1, 2, 200, 300), next])).toEqual([0, 0, 1]);
    expect(judged(stalled, [permit(1, 2, 200, 300), { ...next, permit: 2 }])).toEqual([0, 0, 0]);
  });

  it('finds more holders at once than the lock has permits', () => {
    const two = [permit(1, 1, 0, 100), permit(2, 1, 10, 100)];
    expect(judged(two, [permit(3, 1, 99.9, 200)])).toEqual([1, 0, 0]);
    expect(judged(two, [permit(3, 1, 100, 200)])).toEqual([0, 0, 0]);
    // Two holders of one permit, with a third holder, exceed two permits as well.
    expect(judged(two, [permit(2, 2, 50, 200)])).toEqual([2, 0, 0]);
  });

  /** A call of the store during [from, to] in ms. Without `to`, the store never answered. */
  let callCount = 0;
  const call = (
    op: 'acquire' | 'extend' | 'release',
    [fromMs, toMs]: readonly [number, number?],
    { holder, ...answer }: Readonly<Record<string, unknown>>,
  ) => {
    const asked = { kind: 'asked', call: ++callCount, op, lock: 'a', holder, ttlMs: 100, fromMs };
    const answered = { ...asked, kind: 'answered', toMs, status: 'done', ...answer };
    return toMs === undefined ? [asked] : [asked, answered];
  };
  const granted = (holder: string, token: number, during: readonly [number, number?]) =>
    call('acquire', during, { holder, status: 'ok', token: String(token) });
  const refused = (token: number, during: readonly [number, number]) =>
    call('acquire', during, { holder: 'late', status: 'held', token: String(token) });
  const extended = (holder: string, token: number, during: [number, number], status = 'ok') =>
    call('extend', during, { holder, status, token: String(token) });
  const released = (holder: string, during: readonly [number, number?]) =>
    call('release', during, { holder });

  const held = granted('x', 1, [0, 10]);

  it('finds an order for overlapping calls', () => {
    const calls = [
      ...granted('x', 1, [0, 30]),
      ...refused(1, [0, 10]),
      ...released('x', [40, 60]),
      ...granted('y', 2, [35, 45]),
      ...refused(1, [36, 70]),
      ...extended('y', 2, [80, 90]),
      ...refused(2, [100, 170]),
      ...granted('z', 3, [175, 185]),
      ...extended('y', 2, [186, 190], 'lost'),
    ];
    expect(judged(calls)).toEqual([0, 0, 0]);
    expect(checkHolds(written(calls)).orderedCount).toBe(9);
    const lost = [...held, ...released('x', [20, 30]), ...refused(1, [31, 40])];
    const twice = [lost, [...lost, ...granted('y', 2, [50, 60])]].map((each) => written(each));
    expect(twice.map((each) => checkHolds(each, true).duplicateCount)).toEqual([0, 1]);
  });

  it.each<[string, object[][]]>([
    ['a grant during another hold', [held, granted('y', 2, [20, 90])]],
    ['a token that is not higher', [granted('x', 2, [0, 10]), granted('y', 2, [120, 130])]],
    ['a refusal by a released holder', [held, released('x', [20, 30]), refused(1, [31, 40])]],
    ['a grant before a release began', [held, released('x', [40, 50]), granted('y', 2, [20, 30])]],
    ['a refusal by an unknown holder', [refused(7, [0, 10])]],
    ['a lock lost before its time', [held, extended('x', 1, [20, 30], 'lost')]],
    [
      'an extension of a lost lock',
      [held, granted('y', 2, [120, 130]), extended('x', 1, [131, 140])],
    ],
  ])('finds %s in the responses of a store', (_what, calls) => {
    expect(judged(calls.flat())).toEqual([1, 0, 0]);
  });

  it('accepts that an unanswered call happened, or did not', () => {
    const first = granted('x', 1, [0]);
    expect(judged([...first, ...refused(1, [20, 30])])).toEqual([0, 0, 0]);
    expect(judged([...first, ...granted('y', 1, [20, 30])])).toEqual([0, 0, 0]);
    const both = [...held, ...granted('y', 2, [30, 40])];
    expect(judged([...both, ...released('x', [20])])).toEqual([0, 0, 0]);
    expect(judged([...both, ...released('x', [50])])).toEqual([1, 0, 0]);
  });

  it('accepts a store that reports lost or hidden data, but no early grant', () => {
    const before = [...held, ...extended('x', 1, [20, 30], 'lost')];
    const quiet = call('acquire', [35, 40], { holder: 'y', status: 'wait' });
    expect(judged([...before, ...quiet, ...granted('y', 2, [120, 130])])).toEqual([0, 0, 0]);
    expect(judged([...before, ...quiet, ...granted('y', 2, [50, 60])])).toEqual([1, 0, 0]);
    expect(judged([...before, ...granted('y', 2, [120, 130])])).toEqual([1, 0, 0]);
    const barred = call('acquire', [35, 40], { holder: 'y', status: 'barred' });
    const unseen = [...held, ...released('x', [20, 30]), ...refused(1, [50, 60])];
    expect(judged([...unseen, ...barred])).toEqual([0, 0, 0]);
    // The lock worked well after that, and the store lost it again without notice.
    const later = [...granted('y', 2, [120, 130]), ...extended('y', 2, [140, 150], 'lost')];
    expect(judged([...before, ...quiet, ...later])).toEqual([1, 0, 0]);
  });

  it('accepts the refusal of a released lock after a clock step of its store', () => {
    const step = (fromMs: number, toMs: number) => ({ kind: 'step', fromMs, toMs });
    const after = [...held, ...released('x', [20, 30]), ...refused(1, [50, 60])];
    expect(judged([...after, step(40, 45)])).toEqual([1, 0, 0]);
    expect(judged([...after, step(40, 55)])).toEqual([0, 0, 0]);
    expect(judged([...held, step(5, 95), ...granted('y', 2, [50, 60])])).toEqual([1, 0, 0]);
  });

  it('accepts an early end of a lock only if a new process asks during a clock step', () => {
    const step = { kind: 'step', fromMs: 40, toMs: 90, aheadToMs: 60 };
    const early = [...held, ...granted('y', 2, [50, 70])];
    const isNew = (event: object) => ({ ...event, isNew: true });
    expect(judged([...early, step])).toEqual([1, 0, 0]);
    expect(judged([...early.map(isNew), step])).toEqual([0, 0, 0]);
    expect(judged([...early.map(isNew), { ...step, fromMs: 80 }])).toEqual([1, 0, 0]);
    expect(judged([...early.map(isNew), { ...step, aheadToMs: undefined }])).toEqual([1, 0, 0]);
    const both = [hold(1, 0, 100), { ...hold(2, 50, 120), file: 'process-2.events' }];
    const asked = isNew(call('acquire', [45, 55], { holder: 'z', status: 'wait' })[0]!);
    expect(judged([...both, step])).toEqual([1, 0, 0]);
    expect(judged([...both, step, asked])).toEqual([0, 0, 0]);
  });

  it('reads the records of a killed process', () => {
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-holds-'));
    folders.push(folder);
    const whole = JSON.stringify(hold(1, 0, 100));
    writeFileSync(join(folder, 'process-1.events'), `${whole}\n${whole.slice(0, 20)}`);
    expect(checkHolds(folder).leaseCount).toBe(1);
  });
});

describe('checkRuns', () => {
  const run = (second: number, atMs: number, token: number, skippedCount = 0) => ({
    kind: 'run',
    lock: 'job',
    tickMs: second * 1000,
    atMs,
    token: String(token),
    skippedCount,
  });
  const settled = (second: number, atMs: number) => {
    return { kind: 'settled', lock: 'job', settledMs: second * 1000, atMs };
  };
  const loss = (fromMs: number, toMs: number) => ({ kind: 'loss', fromMs, toMs });
  /** A row of the table of effects. */
  const effect = (second: number) => {
    return { kind: 'effect', lock: 'job', tick: String(second * 1000), token: '1' };
  };
  const judgedRuns = (...processes: object[][]) => {
    const { duplicateCount, disorderCount } = checkRuns(written(...processes));
    return [duplicateCount, disorderCount];
  };
  /** Correct ticks, each settled after its run. The first is tick 1. */
  const ticks = (...seconds: number[]) =>
    seconds.flatMap((second) => [
      run(second, second * 1000, second),
      settled(second, second * 1000 + 5),
    ]);

  it('accepts one run for each tick, in any process', () => {
    expect(judgedRuns(ticks(1, 3), ticks(2, 4))).toEqual([0, 0]);
    expect(judgedRuns(ticks(1, 2), [run(5, 5000, 5, 2)])).toEqual([0, 0]);
  });

  it('finds a run of a settled tick, a missed tick, and a falling token', () => {
    expect(judgedRuns(ticks(1, 2, 3), [run(2, 3500, 9)])).toEqual([1, 0]);
    // An unconfirmed tick may run again.
    expect(judgedRuns([run(1, 1000, 1)], [run(1, 3500, 2)])).toEqual([0, 0]);
    expect(judgedRuns(ticks(1, 2, 4))).toEqual([0, 1]);
    expect(judgedRuns(ticks(1, 2), [run(3, 3000, 1)])).toEqual([0, 1]);
    expect(judgedRuns(ticks(1, 2), [run(3, 3000, 2)])).toEqual([0, 1]);
  });

  it('accepts missed ticks around a loss', () => {
    const around = ticks(1, 2, 6, 7);
    expect(judgedRuns(around)).toEqual([0, 3]);
    expect(judgedRuns(around, [loss(2500, 3000)])).toEqual([0, 0]);
    // A call takes up to a second, so the loss may precede the last run.
    expect(judgedRuns(around, [loss(500, 1200)])).toEqual([0, 0]);
  });

  it('rejects ticks missed before a loss, or long after it', () => {
    const around = ticks(1, 2, 6, 7);
    expect(judgedRuns(around, [loss(6500, 7000)])).toEqual([0, 3]);
    expect(judgedRuns(around, [loss(200, 900)])).toEqual([0, 3]);
    expect(judgedRuns(ticks(1, 2, 4, 5, 8), [loss(2500, 3000)])).toEqual([0, 2]);
  });

  it('accepts one more run of each lost tick, and of the last tick', () => {
    // The store lost tick 2 as the process settled it.
    const first = [...ticks(1), run(2, 2000, 2), settled(2, 2100), loss(2050, 2900)];
    expect(judgedRuns(first, [run(2, 5000, 5)], ticks(3))).toEqual([0, 0]);
    // Tick 2 was settled before the loss.
    const before = [...ticks(1, 2), loss(2500, 2900)];
    expect(judgedRuns(before, [run(2, 5000, 5)])).toEqual([0, 0]);
  });

  it('accepts one more run of each lost tick after a second loss', () => {
    const lost = [...ticks(1, 2, 3), loss(1000, 4000), loss(4500, 4600)];
    expect(judgedRuns(lost, [run(2, 5000, 5)], [run(3, 5001, 6)])).toEqual([0, 0]);
    const kept = [...ticks(1, 2, 3), loss(3500, 4000), loss(4500, 4600)];
    expect(judgedRuns(kept, [run(2, 5000, 5)], [run(3, 5001, 6)])).toEqual([1, 0]);
  });

  it('rejects a second repetition, or one without a loss before it', () => {
    const before = [...ticks(1, 2), loss(2500, 2900)];
    const again = [run(2, 5000, 5), run(2, 5500, 6)];
    expect(judgedRuns(before, again)).toEqual([1, 0]);
    expect(judgedRuns(ticks(1, 2), [run(2, 5000, 5), loss(6000, 6100)])).toEqual([1, 0]);
  });

  it('rejects a falling token even after a loss', () => {
    const before = [...ticks(1, 2), loss(2500, 2900)];
    expect(judgedRuns(before, [run(3, 5000, 2)])).toEqual([0, 1]);
  });

  it('finds two effects of a tick, and a settled tick without one except around a loss', () => {
    const effects = [effect(1), effect(2), effect(3)];
    expect(judgedRuns(ticks(1, 2, 3), effects)).toEqual([0, 0]);
    expect(judgedRuns(ticks(1, 2, 3), [...effects, effect(2)])).toEqual([1, 0]);
    expect(judgedRuns(ticks(1, 2, 3), [effect(1), effect(3)])).toEqual([0, 1]);
    const lost = [effect(1), effect(3), loss(2100, 2500)];
    expect(judgedRuns(ticks(1, 2, 3), lost)).toEqual([0, 0]);
    // The last tick may still be running: it is not settled.
    expect(judgedRuns([...ticks(1, 2), run(3, 3000, 3)], [effect(1), effect(2)])).toEqual([0, 0]);
  });

  it('follows the schedule of each version, and accepts ticks that its rollout settles', () => {
    const second = (at: number) => ({ ...run(at, at * 1000, at), everyMs: 2000 });
    expect(judgedRuns([run(1, 1000, 1), second(2), second(4), second(6)])).toEqual([0, 0]);
    expect(judgedRuns([run(1, 1000, 1), second(2), second(6)])).toEqual([0, 1]);
    const leftOut = { ...second(6), skippedCount: 1 };
    expect(judgedRuns([second(2), leftOut])).toEqual([0, 0]);
    const rolled = { kind: 'rolled', name: 'rolled out with another zone', fromMs: 1500 };
    expect(judgedRuns(ticks(1, 4), [{ ...rolled, toMs: 3000 }])).toEqual([0, 0]);
    expect(judgedRuns(ticks(1, 2, 4), [{ ...rolled, toMs: 1600 }])).toEqual([0, 0]);
    expect(judgedRuns(ticks(1, 2, 3, 5), [{ ...rolled, toMs: 1600 }])).toEqual([0, 1]);
    // A rollout never excuses a second run of a settled tick.
    const again = [rolled, run(2, 3500, 9)].map((event) => ({ ...event, toMs: 9000 }));
    expect(judgedRuns(ticks(1, 2), again)).toEqual([1, 0]);
  });

  it('accepts a tick without an effect after its job gave up', () => {
    const tries = [run(2, 2000, 2), run(2, 5000, 3), run(2, 8000, 4)];
    const own = [...ticks(1), ...tries, { ...settled(2, 9000), givenUp: [2000] }];
    expect(judgedRuns(own, [effect(1)])).toEqual([0, 0]);
    expect(judgedRuns([...ticks(1), ...tries, settled(2, 9000)], [effect(1)])).toEqual([0, 1]);
  });

  it('accepts no second effect of a tick, even after a loss', () => {
    const effects = [effect(1), effect(2), effect(2), loss(1500, 2500)];
    expect(judgedRuns(ticks(1, 2), effects)).toEqual([1, 0]);
  });
});

describe('checkFleet', () => {
  const run = (lock: string, second: number, atMs = second * 1000) => {
    return { kind: 'run', lock, tickMs: second * 1000, atMs, token: String(second) };
  };
  const poison = (second: number, atMs: number) => {
    return { kind: 'poison', tickMs: second * 1000, atMs };
  };
  const told = [{ kind: 'wall', aheadMs: 0 }, { kind: 'shared' }];
  const foundIn = (...events: object[]) => checkFleet(written([...told, ...events]));

  it('accepts a correct fleet', () => {
    const poisoned = [poison(1, 1000), poison(1, 4000), poison(1, 64_000), poison(60, 184_000)];
    expect(foundIn(run('job', 1), run('job', 2), ...poisoned)).toEqual([]);
    const lost = { kind: 'loss', fromMs: 64_500, toMs: 69_000 };
    const again = [poison(65, 65_000), poison(70, 70_000), poison(70, 73_000)];
    expect(foundIn(...poisoned.slice(0, 3), lost, ...again)).toEqual([]);
  });

  it('finds a run before its time, by any clock', () => {
    expect(foundIn(run('job', 5, 3900))).toEqual(['job for 5000 by process-0.events: too early']);
    expect(foundIn(run('job', 5, 4000))).toEqual([]);
    const behind = [{ kind: 'wall', aheadMs: 2000 }, told[1]!, run('job', 5, 2100)];
    expect(checkFleet(written(behind))).toEqual([]);
  });

  it('finds a job that ends too many processes, for one tick or within a short time', () => {
    const four = [1000, 4000, 64_000, 184_000].map((atMs) => poison(1, atMs));
    expect(foundIn(...four)).toEqual(['4 processes ended in 183000 ms, 4 for one tick']);
    const soon = [poison(1, 1000), poison(1, 4000), poison(9, 9000)];
    // Two of them may belong to the record before the loss, and two to the record after it.
    const during = { kind: 'loss', fromMs: 500, toMs: 20_000 };
    expect(foundIn(during, ...soon, poison(12, 12_000))).toEqual([]);
    const five = [...soon, poison(12, 12_000), poison(15, 15_000)];
    expect(foundIn(during, ...five)).toEqual(['5 processes ended in 14000 ms, 2 for one tick']);
    expect(foundIn(...soon)).toEqual(['3 processes ended in 8000 ms, 2 for one tick']);
  });

  it('finds a fleet in which no application learns of the other one', () => {
    const events = [told[0]!, run('job', 1)];
    expect(checkFleet(written(events))).toEqual(['no application was told of the other one']);
  });
});

it('the judge of regions finds a conflict, and a run in which no region was cut off', () => {
  const breachesOf = (...states: string[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-regions-'));
    folders.push(folder);
    states.forEach((state, at) => {
      const event = JSON.stringify({ kind: 'region', state, atMs: at });
      writeFileSync(join(folder, `process-${at}.events`), `${event}\n`);
    });
    return breachesIn(folder).length;
  };
  expect(breachesOf('claimed', 'unchecked', 'claimed')).toBe(0);
  expect(breachesOf('claimed', 'unchecked', 'conflict')).toBe(1);
  expect(breachesOf('claimed')).toBe(1);
  expect(breachesOf()).toBe(2);
});

describe('the verdict', () => {
  type Result = Parameters<typeof verdictOf>[0][number];
  const fault = { name: 'kill -9', level: 'store', count: 2, grantCount: 3, longestGapMs: 0 };
  const result = (changes: object = {}) =>
    ({
      topology: 'one',
      words: { made: 'ids', good: 'No id was generated twice.' },
      least: { ids: 1000, leases: 8 },
      grants: 'leases',
      idCount: 5000,
      leaseCount: 20,
      duplicateCount: 0,
      disorderCount: 0,
      toleratesTwice: false,
      isThin: false,
      isPaced: true,
      breaches: [],
      faults: [fault],
      ...changes,
    }) as unknown as Result;
  const of = (...changes: object[]) => verdictOf(changes.map((each) => result(each)));

  it('is good if the fleet generated enough under every fault, without an error', () => {
    expect(of({}, {})).toEqual({ isGood: true, text: '\nNo id was generated twice.' });
  });

  it.each<[string, object, string]>([
    ['duplicate IDs', { duplicateCount: 3 }, '3 DUPLICATES, 0 OUT OF ORDER'],
    ['decreasing IDs', { disorderCount: 1 }, '0 DUPLICATES, 1 OUT OF ORDER'],
    ['any other error', { breaches: ['one: granted without its file'] }, 'without its file'],
    [
      'a fault that never happened',
      { faults: [{ ...fault, count: 0 }] },
      'this proves little: never happened: one: kill -9',
    ],
    [
      'no grant after a store fault',
      { faults: [{ ...fault, grantCount: 0 }] },
      'this proves little: nothing was granted after: one: kill -9',
    ],
    [
      'too few IDs or leases',
      { isThin: true, idCount: 900, leaseCount: 3 },
      'this proves little: too little was made: one: 900 ids of 1000, 3 leases of 8',
    ],
  ])('is bad for %s, even if another run is good', (_what, changes, said) => {
    for (const verdict of [of(changes, {}), of({}, changes)]) {
      expect(verdict).toMatchObject({ isGood: false, text: expect.stringContaining(said) });
    }
  });

  it('only counts duplicates beyond the promise', () => {
    const beyond = { toleratesTwice: true, duplicateCount: 3 };
    expect(of(beyond)).toMatchObject({
      isGood: true,
      text: expect.stringContaining('beyond the promise'),
    });
    expect(of(beyond, { duplicateCount: 1 })).toMatchObject({
      isGood: false,
      text: expect.stringContaining('1 DUPLICATES'),
    });
  });

  it('requires grants after a store fault if it counts them, but not after a process fault', () => {
    const idle = { faults: [{ ...fault, grantCount: 0 }] };
    expect(of({ ...idle, isPaced: false }).isGood).toBe(true);
    const ofProcess = { faults: [{ ...fault, level: 'process', grantCount: 0 }] };
    expect(of(ofProcess).isGood).toBe(true);
  });

  it('of a control is good if the removed rule causes errors', () => {
    const floor = { name: 'the floor' } as Parameters<typeof controlVerdictOf>[1];
    const tokens = { ...floor, shows: 'tokens that fell' } as typeof floor;
    expect(controlVerdictOf([result({ duplicateCount: 2 })], floor).isGood).toBe(true);
    expect(controlVerdictOf([result({ disorderCount: 2 })], floor)).toMatchObject({
      isGood: false,
      text: expect.stringContaining('the check is blind'),
    });
    expect(controlVerdictOf([result({ disorderCount: 2 })], tokens).isGood).toBe(true);
    const order = { ...floor, shows: 'processes that wait in vain' } as typeof floor;
    expect(controlVerdictOf([result({ duplicateCount: 2 })], order).isGood).toBe(false);
    expect(controlVerdictOf([result({ breaches: ['waits in vain'] })], order).isGood).toBe(true);
  });
});

// The chaos uses the guide's Redis user, and takes each of its rights away once.

const GUIDE =
  'Make it:\n\nACL SETUSER shop on >secret ~snowflake:{shop}:registry +eval +hset +info\n';

describe('userOfGuide', () => {
  it('finds the command in the guide', () => {
    const { user, namespace, words } = userOfGuide();
    expect(user).not.toBe('');
    expect(words).toContain(`~snowflake:{${namespace}}:registry`);
    expect(words).toEqual(expect.arrayContaining(['on', '+evalsha', ...Object.keys(LATER)]));
  });

  it('returns its separate words', () => {
    const words = ['on', '>secret', '~snowflake:{shop}:registry', '+eval', '+hset', '+info'];
    expect(userOfGuide(GUIDE)).toEqual({
      user: 'shop',
      password: 'secret',
      namespace: 'shop',
      words,
    });
  });

  it('rejects a guide without the command', () => {
    expect(() => userOfGuide('ACL LIST')).toThrow('makes no user that can be tested');
  });
});

describe('mistakesIn', () => {
  it('takes each right away once, except those that a start does not need', () => {
    const { words } = userOfGuide(GUIDE);
    const taken = mistakesIn(words).map((mistake) =>
      words.filter((word) => !mistake.words.includes(word)).join(' '),
    );
    const pattern = '~snowflake:{shop}:registry';
    expect(taken).toEqual(['+eval', '+hset', '+info', pattern, pattern, pattern, 'on']);
  });
});
