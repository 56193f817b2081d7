/**
 * The holders that a move of a running fleet has worker IDs for, and those that it waits for. Also
 * the report about the registry after a move, with holders or without.
 */
import { describe, expect, it } from '@jest/globals';
import { againstFindings } from '../../lib/cli/commands/regions.js';
import { crowdedText, isHeldBeside, Resettled } from '../../lib/cli/store/move-holders.js';
import type { WorkerRecord } from '../../lib/lease/distributed-support.js';
import type { RegistryView } from '../../lib/registry/snapshot.js';
import { heldIn, NOW_MS } from './held-records.js';

const whole = 't41-w10-s12/1ms@1704067200000';

describe('the holders that a half must have room for', () => {
  const left = { workerIdMin: 0, workerIdMax: 3 };
  it.each<[string, (string | undefined)[], boolean]>([
    ['nobody', [], true],
    ['four without a limit', Array.from({ length: 4 }), true],
    ['five without a limit', Array.from({ length: 5 }), false],
    ['one without a free worker ID', ['4-7'], false],
    ['the narrow ones before the wide ones', ['0-7', '0-7', '0-1', '0-1'], true],
    ['three for two places', ['0-1', '0-1', '0-1'], false],
    ['a chain that fits in one way only', ['0-3', '1-1', '0-1', '2-9'], true],
    ['a chain that does not fit', ['2-3', '2-2', '3-3', undefined], false],
  ])('counts %s', (_who, workerIds, isEnough) => {
    const holders = workerIds.map((ids, at) => heldIn(at, ids));
    expect(crowdedText(holders, { left, rest: left }) === undefined).toBe(isEnough);
  });

  it.each([
    ['a region without a worker ID on the other side', '0-3', false],
    ['a region with worker IDs on both sides', '2-5', true],
    ['a claimed number, and another one of its successor', '2-2', true],
  ])('counts what a rollout needs: %s', (_who, workerIds, isEnough) => {
    const rest = { workerIdMin: 4, workerIdMax: 7 };
    const refusal = crowdedText([heldIn(2, workerIds)], { left, rest });
    expect(refusal === undefined).toBe(isEnough);
  });

  it('counts a released worker ID that is not free yet', () => {
    const records = [0, 1, 2, 3, 4].map((at) => ({ ...heldIn(at), holder: undefined }));
    expect(crowdedText(records, { left, rest: left })).toContain('5 worker ids are in use');
  });
});

describe('the processes that a move waits for', () => {
  const view = (text: string, workers: WorkerRecord[], nowMs = NOW_MS) =>
    ({ facts: { fingerprint: text }, workers, nowMs }) as unknown as RegistryView;
  const halved = `#1 ${whole}[0-511] t41-w12-s10/1ms@1704067200000[2048-4095]`;
  const again = (workerId: number, of: WorkerRecord): WorkerRecord => ({
    ...of,
    workerId,
    holder: { ...of.holder!, sinceMs: 1 },
  });

  it('are those with another worker ID, and those between two worker IDs', () => {
    const [stays, moves] = [heldIn(3), heldIn(700)];
    const resettled = new Resettled();
    expect(resettled.rest(view(whole, [stays, moves]))).toEqual([]);
    expect(resettled.rest(view(halved, [stays, moves]))).toEqual([moves]);
    // It has released the worker ID. That no earlier read showed it makes no difference.
    expect(resettled.rest(view(halved, [stays]))).toEqual([moves]);
    expect(resettled.rest(view(halved, [stays, again(9, moves)]))).toEqual([]);
    const unseen = new Resettled();
    unseen.rest(view(whole, [stays, moves]));
    expect(unseen.rest(view(halved, [stays]))).toEqual([moves]);
    expect(unseen.rest(view(halved, [stays], NOW_MS + 10_000))).toEqual([]);
  });
});

describe('the processes that delay the end of a layout move', () => {
  const [old, next] = [
    { fingerprint: 't41-w10-s12/1ms@0', span: { workerIdMin: 0, workerIdMax: 511 } },
    { fingerprint: 't41-w12-s10/1ms@0', span: { workerIdMin: 2048, workerIdMax: 4095 } },
  ] as const;
  const held = [3, 700, 2050].map((workerId) => heldIn(workerId));

  it.each([
    ['that keeps the new layout: the old ones, even before they moved', next, [3, 700]],
    ['that undoes the move: the new ones alone', old, [2050]],
  ])('%s', (_end, kept, workerIds) => {
    const holders = held.filter(isHeldBeside(kept, [old, next]));
    expect(holders.map(({ workerId }) => workerId)).toEqual(workerIds);
  });
});

describe('two registries that `snowflake doctor --against` compares', () => {
  const viewOf = (text: string | undefined, holders: RegistryView['workers'] = []) => {
    const facts = text === undefined ? {} : { facts: { fingerprint: text, incarnation: text } };
    return { workers: holders, ...facts } as unknown as RegistryView;
  };
  const found = (one: RegistryView, other: RegistryView) =>
    againstFindings(one, other, one).map(({ level, text }) => `${level}: ${text}`);
  const MOVED = `#3 ${whole}[0-1023]`;
  const OLD_HALF = `#1 #out:k1 ${whole}[0-511]`;
  const NEW_HALF = `#1 #in:k1 ${whole}[512-1023]`;
  const CLOSED = `#2 #out:k1 ${whole}[]`;

  it.each([
    ['before the move', whole],
    ['during the move', OLD_HALF],
  ])('names one that a move left and that is open again, %s', (_when, text) => {
    const [nobody] = found(viewOf(MOVED), viewOf(text));
    expect(nobody).toMatch(/^warning: The other one .* opened it again. Nobody holds/);
    const [somebody, both] = found(
      viewOf(text, [heldIn(0), heldIn(1)]),
      viewOf(MOVED, [heldIn(0)]),
    );
    expect(somebody).toMatch(/^warning: This registry .* opened it again. 2 worker ids are held/);
    expect(both).toMatch(/^fault: Worker ids 0 are held in both/);
  });

  it.each([
    ['of one move', viewOf(OLD_HALF, [heldIn(1)]), viewOf(NEW_HALF, [heldIn(600)])],
    [
      'of two regions',
      viewOf(MOVED, [heldIn(1, '0-511')]),
      viewOf(whole, [heldIn(600, '512-1023')]),
    ],
    ['after as many moves', viewOf(MOVED), viewOf(MOVED)],
  ])('finds no fault in two %s', (_which, one, other) => {
    const distinct = { ...other, facts: { ...other.facts!, incarnation: 'other' } };
    const isFine = [expect.stringMatching(/^ok: Two registries of one layout/)];
    expect(found(one, distinct)).toEqual(isFine);
    expect(found(distinct, one)).toEqual(isFine);
  });

  it('finds no fault in a closed one', () => {
    const isFine = [expect.stringMatching(/^ok: One of the two is closed/)];
    expect(found(viewOf(CLOSED), viewOf(MOVED))).toEqual(isFine);
    expect(found(viewOf(MOVED), viewOf(CLOSED))).toEqual(isFine);
  });

  it('reports one as open to any process if a move left it empty', () => {
    expect(found(viewOf(MOVED), viewOf(undefined))).toEqual([
      expect.stringMatching(/^note: .* nothing to compare. If a move left it, .* opens it again/),
    ]);
    expect(found(viewOf(whole), viewOf(undefined))).toEqual([
      expect.stringMatching(/nothing to compare\.$/),
    ]);
  });
});
