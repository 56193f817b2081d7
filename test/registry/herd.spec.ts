/**
 * A fleet that starts at once with a registry that is new, on a store that answers one after the
 * other: who has to do what is counted, so that no fleet keeps its own registry from being made.
 */
import { expect, it } from '@jest/globals';
import type { LeaseRequest } from '../../lib/lease/distributed-support.js';
import { pause } from '../../lib/time/timers.js';
import * as real from '../../lib/registry/registry-support.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { asked, SlowStore } from './slow-store.js';

const HERD = 1024;
const REQUEST: Omit<LeaseRequest, 'token' | 'nonce'> = {
  fingerprint: 'f',
  ttlMs: 60_000,
  minRangeMs: 1002,
  quarantineMs: 0,
  workerIdMin: 0,
  workerIdMax: HERD - 1,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
};
/** All would have long been served, and worse ways are seen to end as well. */
const START_MS = 60_000;

/** As a keeper waits. */
const WAIT_MS_MAX = 2000;

async function startAtOnce(Registry: typeof real.RegistrySupport) {
  const time = new SettableTime();
  const store = new SlowStore(time, 1);
  const chance = new SeededRandom(1);
  const random = () => chance.next();
  const workerIds = new Set<number>();
  const start = async (token: string): Promise<void> => {
    const support = new Registry(store, { timers: time, random });
    for (;;) {
      const answer = await asked(support, { ...REQUEST, token, nonce: 'n' }, { time, random });
      if (answer.status === 'ok') return void workerIds.add(answer.workerId);
      await pause(time, Math.min('waitMs' in answer ? answer.waitMs : 0, WAIT_MS_MAX));
    }
  };
  const starts = Array.from({ length: HERD }, (_, n) => start(`of the herd ${n}`));
  await time.advance(START_MS);
  await Promise.all(starts);
  return { servedCount: workerIds.size, stepCount: store.stepCount };
}

const file = 'registry/registry-support.ts';
/** Of the store, for each member: 8.7 today, and 20 where everybody makes the rows. */
const STEPS_EACH_MAX = 10;

it('is served, with few questions to the store', async () => {
  const { servedCount, stepCount } = await startAtOnce(real.RegistrySupport);
  expect(servedCount).toBe(HERD);
  expect(stepCount).toBeLessThan(STEPS_EACH_MAX * HERD);
});

it('asks far more where each of it makes the rows that are not there yet', async () => {
  const edit = { file, find: 'const LEFT_COUNT_MAX = 8', put: 'const LEFT_COUNT_MAX = 0' };
  const { stepCount } = await startAtOnce(await loadWith(edit));
  expect(stepCount).toBeGreaterThan(STEPS_EACH_MAX * HERD);
});

/** What is kept of the time when somebody was told that nothing is free, and before. */
async function timesKept(Registry: typeof real.RegistrySupport) {
  const time = new SettableTime();
  const store = new SlowStore(time, 0);
  const parts = { timers: time, random: () => 0 };
  const only = { ...REQUEST, workerIdMax: 0, nonce: 'n' };
  const kept = () => store.rows.rows.get(HEADER_KEY)!.number;
  // The first time it waits, for a registry that is new.
  for (let count = 0; count < 2; count++) {
    void new Registry(store, parts).getNextWorkId({ ...only, token: 'one' });
    await time.advance(5000);
  }
  const before = kept();
  const told = new Registry(store, parts).getNextWorkId({ ...only, token: 'other' });
  await time.advance(5000);
  expect(await told).toMatchObject({ status: 'none-free' });
  return [before, kept()];
}

it('writes no time for those to whom nothing is granted, which would refuse others', async () => {
  const [before, after] = await timesKept(real.RegistrySupport);
  expect(after).toBe(before);
  const edit = {
    file: 'registry/stored-snapshot.ts',
    find: "news !== 'facts' && slots",
    put: "news === 'none' && slots",
  };
  const [, later] = await timesKept(await loadWith(edit));
  expect(later).toBeGreaterThan(before!);
});

async function loadWith(edit: {
  file: string;
  find: string;
  put: string;
}): Promise<typeof real.RegistrySupport> {
  const broken = (await loadLibrary([edit], file)) as Pick<typeof real, 'RegistrySupport'>;
  return broken.RegistrySupport;
}
