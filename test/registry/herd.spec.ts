/**
 * A fleet that starts at once with a registry that is new, on a store that answers one after the
 * other: who has to do what is counted, so that no fleet keeps its own registry from being made.
 */
import { expect, it } from '@jest/globals';
import type { LeaseRequest } from '../../lib/lease/distributed-support.js';
import { pause } from '../../lib/patience/timers.js';
import * as real from '../../lib/registry/registry-support.js';
import { SeededRandom } from '../../lib/testing/seeded-random.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
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

/** Of the store, for each member: 8.7 today, and 20 where everybody makes the rows. */
const STEPS_EACH_MAX = 10;

it('is served, with few questions to the store', async () => {
  const { servedCount, stepCount } = await startAtOnce(real.RegistrySupport);
  expect(servedCount).toBe(HERD);
  expect(stepCount).toBeLessThan(STEPS_EACH_MAX * HERD);
});

it('asks far more where each of it makes the rows that are not there yet', async () => {
  const file = 'registry/registry-support.ts';
  const edit = { file, find: 'const LEFT_COUNT_MAX = 8', put: 'const LEFT_COUNT_MAX = 0' };
  const broken = (await loadLibrary([edit], file)) as Pick<typeof real, 'RegistrySupport'>;
  const { stepCount } = await startAtOnce(broken.RegistrySupport);
  expect(stepCount).toBeGreaterThan(STEPS_EACH_MAX * HERD);
});
