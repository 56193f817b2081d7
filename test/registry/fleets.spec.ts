/**
 * A fleet that starts at once on a new registry, in a store that handles one request after the
 * other. The test counts requests, so that a fleet cannot prevent the creation of its own registry.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import * as real from '../../lib/registry/registry-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { SAME_ANSWER_MS_MAX } from '../../lib/rows/cas-retry.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { pause, turn } from '../../lib/time/timers.js';
import { loadLibrary, loadWalk } from '../mutants/load-library.mjs';
import { REPEATED_MUTANTS, ROWS_MUTANTS } from '../mutants/registry-mutants.mjs';
import { walk, type WalkResult } from './concurrent-walk.js';
import { asked, SlowStore, type StoreFault } from './walk-store.js';

describe('a fleet that starts at once', () => {
  const HERD = 1024;
  const REQUEST: Omit<LeaseRequest, 'token' | 'nonce'> = {
    fingerprint: 'f',
    ttlMs: 60_000,
    minRangeMs: 1000,
    quarantineMs: 0,
    workerIdMin: 0,
    workerIdMax: HERD - 1,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a' },
  };
  /** All are served long before this. It is long enough for slower variants to end as well. */
  const START_MS = 60_000;

  const START_OF_SECOND_MS = 1_800_000_000_000;

  /** The longest wait of a keeper. */
  const WAIT_MS_MAX = 5000;

  async function startAtOnce(
    Registry: typeof real.RegistrySupport,
    { stepMs = 1, processCount = HERD, resolutionMs = 1, phaseMs = 0 } = {},
  ) {
    const time = new SettableTime(START_OF_SECOND_MS + phaseMs);
    const store = new SlowStore(time, stepMs, resolutionMs);
    const chance = new SeededRandom(1);
    const random = () => chance.next();
    const workerIds = new Set<number>();
    const parts = { timers: time, random, monotonic: { now: () => time.passedMs } };
    const supports = Array.from({ length: processCount }, () => new Registry(store, parts));
    const start = async (support: real.RegistrySupport, token: string): Promise<void> => {
      for (;;) {
        const answer = await asked(support, { ...REQUEST, token, nonce: 'n' }, { time, random });
        if (answer.status === 'ok') return void workerIds.add(answer.workerId);
        await pause(time, Math.min('waitMs' in answer ? answer.waitMs : 0, WAIT_MS_MAX));
      }
    };
    let servedMs = Infinity;
    const starts = Array.from({ length: HERD }, (_, n) =>
      start(supports[n % processCount]!, `of the herd ${n}`),
    );
    const served = Promise.all(starts).then(() => (servedMs = time.passedMs));
    await time.advance(START_MS);
    await served;
    const { stepCount, askedCount } = store;
    return { servedCount: workerIds.size, servedMs, stepCount, askedCount };
  }

  const file = 'registry/registry-support.ts';
  /** Steps of the store for each member: 6.7 today. */
  const STEPS_EACH_MAX = 7;
  /** Rows that each member requests: 44 today. */
  const ROWS_EACH_MAX = 60;

  it('is served with few requests to the store', async () => {
    const { servedCount, stepCount, askedCount } = await startAtOnce(real.RegistrySupport);
    expect(servedCount).toBe(HERD);
    expect(stepCount).toBeLessThan(STEPS_EACH_MAX * HERD);
    expect(askedCount).toBeLessThan(ROWS_EACH_MAX * HERD);
  });

  it.each([
    [
      'tries to create a registry at once',
      { find: 'const NEW_MS = 1000', put: 'const NEW_MS = 1' },
    ],
    [
      "continues with another process's registry",
      { find: 'OUTRUN_COUNT_MAX = 3', put: 'OUTRUN_COUNT_MAX = 0' },
    ],
    ['ignores which process creates the registry', { find: '!isMaker && (', put: 'false && (' }],
  ])('sends more requests if each process %s', async (_, edit) => {
    const { stepCount } = await startAtOnce(await loadWith({ file, ...edit }));
    expect(stepCount).toBeGreaterThan(STEPS_EACH_MAX * HERD);
  });

  it('reads far more rows if each process reads all its candidates at once', async () => {
    const edit = { file, find: 'const FEW_COUNT = 8', put: 'const FEW_COUNT = 64' };
    const { askedCount } = await startAtOnce(await loadWith(edit));
    expect(askedCount).toBeGreaterThan(3 * ROWS_EACH_MAX * HERD);
  });

  it('takes longer if each process creates the missing rows', async () => {
    const slowly = { stepMs: 2 };
    const { servedMs } = await startAtOnce(real.RegistrySupport, slowly);
    const find = 'const MAKING_MS = 10_000';
    const edit = { file: 'registry/stored-snapshot.ts', find, put: 'const MAKING_MS = 0' };
    const all = await startAtOnce(await loadWith(edit), slowly);
    expect(all.servedMs).toBeGreaterThan(1.1 * servedMs);
  });

  it('of a few processes sends hardly more requests than necessary', async () => {
    const few = { processCount: 8 };
    const { servedCount, servedMs, stepCount } = await startAtOnce(real.RegistrySupport, few);
    expect(servedCount).toBe(HERD);
    // One request that has to wait, one that chooses, and the grant.
    expect(stepCount).toBeLessThan(4 * HERD);
    expect(servedMs).toBeLessThan(5000);
  });

  it.each([100, 400, 700])(
    'aligns with the tick of a store with whole seconds, if begun %d ms after one',
    async (phaseMs) => {
      const coarse = { stepMs: 0.1, processCount: 8, resolutionMs: 1000, phaseMs };
      const { servedCount, servedMs } = await startAtOnce(real.RegistrySupport, coarse);
      expect(servedCount).toBe(HERD);
      expect(servedMs).toBeLessThan(3500);
      const edit = { find: 'resolutionMs > 1 ?', put: 'resolutionMs < 1 ?' };
      const Ignorant = await loadWith({ file: 'rows/cas-retry.ts', ...edit });
      const later = await startAtOnce(Ignorant, coarse);
      expect(later.servedMs).toBeGreaterThan(servedMs + 100);
    },
  );

  /** The stored time after an answer that no worker ID is free, and before it. */
  async function timesKept(Registry: typeof real.RegistrySupport) {
    const time = new SettableTime();
    const store = new SlowStore(time, 0);
    const parts = { timers: time, random: () => 0 };
    const only = { ...REQUEST, workerIdMax: 0, nonce: 'n' };
    const kept = () => store.rows.rows.get(HEADER_KEY)!.number;
    // The first call waits for a new registry.
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

  it('keeps the time of an answer that none is free: a new process needs it', async () => {
    const [before, after] = await timesKept(real.RegistrySupport);
    expect(after).toBeGreaterThan(before!);
  });

  it('sends more requests if each process that waits for a new registry keeps the time', async () => {
    const find = "(news === 'time' && this.isUnclaimed)";
    const edit = { file: 'registry/stored-snapshot.ts', find, put: 'false' };
    const { stepCount } = await startAtOnce(await loadWith(edit));
    expect(stepCount).toBeGreaterThan(STEPS_EACH_MAX * HERD);
  });

  async function loadWith(edit: {
    file: string;
    find: string;
    put: string;
  }): Promise<typeof real.RegistrySupport> {
    const broken = (await loadLibrary([edit], file)) as Pick<typeof real, 'RegistrySupport'>;
    return broken.RegistrySupport;
  }
});

/*
 * A caller that repeats its request for a worker ID before the answer arrives. It gets the pending
 * answer, so that even an overloaded store serves all callers, each once.
 */
describe('repeated acquire', () => {
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
  /** A start gives up after this. */
  const START_MS = 30_000;

  /** The last of these gets its first answer when its call is over. */
  const HERD = 300;

  type Support = typeof RegistrySupport;

  async function setUp(Registry: Support, stepMs: number) {
    const time = new SettableTime();
    const store = new SlowStore(time, 0);
    const chance = new SeededRandom(1);
    const random = () => chance.next();
    const support = () => new Registry(store, { timers: time, random });
    // The registry exists, and its first quarantine is over.
    const first = asked(support(), { ...REQUEST, token: 'first' }, { time, random });
    await time.advance(REQUEST.ttlMs * 2);
    await first;
    store.stepMs = stepMs;
    return { time, random, store, support };
  }

  /** Each property throws if it fails, so that it can run on a mutant. */
  const PROPERTIES: Record<string, (Registry: Support) => Promise<void>> = {
    async 'gets its worker ID even if each step of the store exceeds the limit of a call'(
      Registry,
    ) {
      const { time, random, store, support } = await setUp(Registry, 2500);
      let answer: unknown;
      void asked(support(), REQUEST, { time, random }).then((given) => (answer = given));
      await time.advance(START_MS);
      expect(answer).toMatchObject({ status: 'ok' });
      expect(store.granted.filter((grant) => grant.endsWith(' mine'))).toHaveLength(1);
    },

    async 'gets its worker ID in a herd, as all others do'(Registry) {
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

    async 'gets no time from before its request'(Registry) {
      const { time, support } = await setUp(Registry, 3000);
      const one = support();
      // The caller's clock has advanced in the meantime.
      const [once, again] = [0, 2000].map((ms) => ({ ...REQUEST, wallMs: time.now() + ms }));
      const [first, second] = [one.getNextWorkId(once!), one.getNextWorkId(again!)];
      await time.advance(START_MS);
      const { nowMs, timeMs, ...grant } = (await first) as LeaseGrant;
      expect([nowMs, timeMs]).toEqual([expect.any(Number), expect.any(Number)]);
      expect(await second).toEqual(grant);
    },

    async 'gets a separate answer to a different request'(Registry) {
      const { time, support } = await setUp(Registry, 100);
      const one = support();
      const first = one.getNextWorkId(REQUEST).catch((error: unknown) => error);
      const other = one.getNextWorkId({ ...REQUEST, workerIdMin: 7, workerIdMax: 7 });
      await time.advance(START_MS);
      expect(await first).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(await other).toMatchObject({ status: 'ok', workerId: 7 });
    },

    async 'does not wait forever for a silent store'(Registry) {
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

    async 'is not delayed by many unanswered requests'(Registry) {
      const { time, store, support } = await setUp(Registry, Infinity);
      const one = support();
      for (let count = 0; count < 100; count++) {
        const hung = one.getNextWorkId({ ...REQUEST, token: `hung ${count}` });
        hung.catch(() => undefined);
      }
      let answer: unknown;
      void one.getNextWorkId(REQUEST).then((given) => (answer = given));
      await time.advance(1000);
      store.stepMs = 1;
      await time.advance(2000);
      expect(answer).toMatchObject({ status: 'ok' });
    },

    async 'gets no answer from before the release of its lease'(Registry) {
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

  describe('a process that requests a worker ID again', () => {
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

    it.each(REPEATED_MUTANTS)('suffers with the fault: $name', async ({ edits, by }) => {
      const { RegistrySupport: Mutant } = (await loadLibrary(
        edits,
        'registry/registry-support.ts',
      )) as { RegistrySupport: Support };
      await expect(PROPERTIES[by]!(Mutant)).rejects.toBeDefined();
    });
  });
});

/*
 * Holders of a registry over rows never have overlapping ranges, in any order of their steps. The
 * walk detects each broken rule of a store or of its support.
 */
const SEED_COUNT = 200;
/** Used if the known seed no longer shows the error. */
const SEED_MAX = 5000;

type Walk = (seed: number) => Promise<WalkResult>;

async function isSeen(taken: Walk, knownSeed: number): Promise<boolean> {
  for (let seed = 0; seed <= SEED_MAX; seed++) {
    const { overlaps } = await taken(seed === 0 ? knownSeed : seed);
    if (overlaps.length > 0) return true;
  }
  return false;
}

describe('concurrent processes on a row store', () => {
  it('never hold overlapping ranges of one worker ID', async () => {
    let grantCount = 0;
    for (let seed = 1; seed <= SEED_COUNT; seed++) {
      const result = await walk(seed);
      expect([seed, result.overlaps]).toEqual([seed, []]);
      grantCount += result.grantCount;
    }
    expect(grantCount).toBeGreaterThan(SEED_COUNT * 5);
  });

  const faults: [fault: StoreFault, knownSeed: number][] = [
    ['row version', 3],
    ['header version', 343],
    ['one server name', 6],
    ['versions begin again', 20],
  ];
  it.each(faults)('hold overlapping ranges on a store with the fault: %s', async (fault, seed) => {
    expect(await isSeen((one) => walk(one, fault), seed)).toBe(true);
  });

  it.each(ROWS_MUTANTS)(
    'hold overlapping ranges with the fault: $name',
    async ({ edits, seed }) => {
      const broken = await loadWalk(edits);
      expect(await isSeen(broken.walk, seed)).toBe(true);
    },
  );
});
