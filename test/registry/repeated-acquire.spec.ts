/**
 * A caller that asks for a worker id again before the store has answered: it gets the answer that
 * is on its way, so that a store as busy as it likes still serves everybody, each once.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { turn } from '../../lib/time/timers.js';
import { SAME_ANSWER_MS_MAX } from '../../lib/rows/cas-retry.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { REPEATED_MUTANTS } from '../mutants/rows-mutants.mjs';
import { asked, SlowStore } from './slow-store.js';

const REQUEST: LeaseRequest = {
  fingerprint: 'f',
  ttlMs: 60_000,
  minRangeMs: 50,
  quarantineMs: 0,
  token: 'mine',
  nonce: 'n0',
  workerIdMin: 0,
  workerIdMax: 1023,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
};
/** A start gives up after as long. */
const START_MS = 30_000;

/** Of whom the last is answered a first time when its call is over. */
const HERD = 300;

type Support = typeof RegistrySupport;

async function setUp(Registry: Support, stepMs: number) {
  const time = new SettableTime();
  const store = new SlowStore(time, 0);
  const chance = new SeededRandom(1);
  const random = () => chance.next();
  const support = () => new Registry(store, { timers: time, random });
  // With a registry that is there, and past its first quarantine.
  const first = asked(support(), { ...REQUEST, token: 'first' }, { time, random });
  await time.advance(REQUEST.ttlMs * 2);
  await first;
  store.stepMs = stepMs;
  return { time, random, store, support };
}

/** Each rejects where it does not hold, so that a mutant can be tried with it. */
const PROPERTIES: Record<string, (Registry: Support) => Promise<void>> = {
  async 'gets its worker id where each step of the store takes longer than a call may'(Registry) {
    const { time, random, store, support } = await setUp(Registry, 2500);
    let answer: unknown;
    void asked(support(), REQUEST, { time, random }).then((given) => (answer = given));
    await time.advance(START_MS);
    expect(answer).toMatchObject({ status: 'ok' });
    expect(store.granted.filter((grant) => grant.endsWith(' mine'))).toHaveLength(1);
  },

  async 'is one of a herd that all get theirs'(Registry) {
    const { time, random, store, support } = await setUp(Registry, 8);
    const workerIds: number[] = [];
    for (let count = 0; count < HERD; count++) {
      const request = { ...REQUEST, token: `of the herd ${count}` };
      void asked(support(), request, { time, random }).then((answer) =>
        workerIds.push((answer as LeaseGrant).workerId),
      );
    }
    await time.advance(START_MS);
    expect(workerIds).toHaveLength(HERD);
    expect(new Set(workerIds).size).toBe(HERD);
    expect(new Set(store.granted).size).toBe(HERD);
  },

  async 'is not told a time that was read before it asked'(Registry) {
    const { time, support } = await setUp(Registry, 3000);
    const one = support();
    // The clock of whoever asks has gone on meanwhile.
    const [once, again] = [0, 2000].map((ms) => ({ ...REQUEST, wallMs: time.now() + ms }));
    const [first, second] = [one.getNextWorkId(once!), one.getNextWorkId(again!)];
    await time.advance(START_MS);
    const { nowMs, timeMs, ...grant } = (await first) as LeaseGrant;
    expect([nowMs, timeMs]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(await second).toEqual(grant);
  },

  async 'gets an answer of its own where it asks something else'(Registry) {
    const { time, support } = await setUp(Registry, 100);
    const one = support();
    const first = one.getNextWorkId(REQUEST).catch((error: unknown) => error);
    const other = one.getNextWorkId({ ...REQUEST, workerIdMin: 7, workerIdMax: 7 });
    await time.advance(START_MS);
    expect(await first).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await other).toMatchObject({ status: 'ok', workerId: 7 });
  },

  async 'does not wait for ever for a store that answers nothing'(Registry) {
    const { time, random, store, support } = await setUp(Registry, Infinity);
    const one = support();
    let answer: unknown;
    void asked(one, REQUEST, { time, random }).then((given) => (answer = given));
    await time.advance(SAME_ANSWER_MS_MAX / 2);
    const { stepCount } = store;
    store.stepMs = 10;
    await time.advance(SAME_ANSWER_MS_MAX / 4);
    expect([answer, store.stepCount]).toEqual([undefined, stepCount]);
    await time.advance(SAME_ANSWER_MS_MAX);
    expect(answer).toMatchObject({ status: 'ok' });
  },

  async 'gets no answer of before its lease was given back'(Registry) {
    const { time, store, support } = await setUp(Registry, 0);
    const one = support();
    const granting = one.getNextWorkId(REQUEST);
    await time.advance(1000);
    const { workerId, ceilingMs: haveMs, mark } = (await granting) as LeaseGrant;
    store.stepMs = 100;
    const late = one.getNextWorkId(REQUEST).catch((error: unknown) => error);
    const lease: WorkerLease = { ...REQUEST, workerId, haveMs, mark: mark!, nonceNext: 'n1' };
    const released = one.release(lease, undefined);
    released.catch(() => undefined);
    await time.advance(50);
    const again = one.getNextWorkId(REQUEST);
    await time.advance(START_MS);
    expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(released).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await again).toMatchObject({ status: 'ok' });
  },
};

describe('whoever asks for a worker id again', () => {
  it.each(Object.entries(PROPERTIES))('%s', async (_name, holds) => {
    await expect(holds(RegistrySupport)).resolves.toBeUndefined();
  });

  it('leaves no timer behind', async () => {
    const { time, support } = await setUp(RegistrySupport, 10);
    const answers = [1, 2, 3].map(() => support().getNextWorkId(REQUEST));
    await time.advance(1000);
    await Promise.all(answers);
    await turn();
    expect(time.timerCount).toBe(0);
  });

  it.each(REPEATED_MUTANTS)('is seen to suffer where $name', async ({ edits, by }) => {
    const { RegistrySupport: Mutant } = (await loadLibrary(
      edits,
      'registry/registry-support.ts',
    )) as { RegistrySupport: Support };
    await expect(PROPERTIES[by]!(Mutant)).rejects.toBeDefined();
  });
});
