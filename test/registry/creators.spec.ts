/**
 * Who creates a registry, and who waits for it: a start leaves the first rows to a creator that is
 * at it, and to nobody else.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import * as real from '../../lib/registry/registry-support.js';
import { pause } from '../../lib/time/timers.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { SlowStore } from './slow-store.js';

const TERMS = { fingerprint: 'f', ttlMs: 30_000, minRangeMs: 1002, quarantineMs: 0, haveMs: 0 };
const REQUEST: LeaseRequest = {
  ...TERMS,
  token: 'one',
  nonce: 'n',
  workerIdMin: 0,
  workerIdMax: 1023,
  holder: { host: 'h', pid: 1, application: 'a' },
};
const LEASE: WorkerLease = {
  ...REQUEST,
  workerId: 700,
  nonceNext: 'n2',
  mark: { incarnation: '', server: '', operations: 0 },
};
const LONG_MS = 60_000;
/** The longest that one pause can be. */
const PAUSE_MS = 2000;
const SOON_MS = 50;
/** So long a new registry grants nothing. */
const NO_GRANT_MS = 2000;

type Create = (support: real.RegistrySupport) => Promise<unknown>;

function setUp(Registry: typeof real.RegistrySupport) {
  const time = new SettableTime();
  const store = new SlowStore(time, 0);
  const support = new Registry(store, { timers: time, random: () => 0.99 });
  /** How long a call waits. */
  const waitOf = async (call: () => Promise<unknown>): Promise<number> => {
    let endedMs = Infinity;
    const startedMs = time.passedMs;
    const ended = call().then(() => (endedMs = time.passedMs));
    await time.advance(LONG_MS);
    await ended;
    return endedMs - startedMs;
  };
  return { time, store, support, waitOf };
}

const CREATORS: Record<string, Create> = {
  'the command that creates it': (support: real.RegistrySupport) =>
    support.release(LEASE, undefined),
  'a holder that renews after all was lost': (support: real.RegistrySupport) =>
    support.refreshAlive(LEASE),
  'another start': (support: real.RegistrySupport) =>
    support.getNextWorkId({ ...REQUEST, token: 'other' }),
};

describe.each(Object.entries(CREATORS))('where %s creates a registry', (_name, create) => {
  it('is not waited for, by itself or by a start a moment later', async () => {
    const { support, waitOf } = setUp(real.RegistrySupport);
    expect(await waitOf(() => create(support))).toBeLessThan(SOON_MS);
    const startMs = await startAfter(create, real.RegistrySupport);
    expect(startMs).toBeLessThan(SOON_MS);
  });

  it('keeps a start waiting, were the rows not made by whoever creates it', async () => {
    const edit = { file, find: 'await this.#blocks.makeFirst(span)', put: 'undefined' };
    const startMs = await startAfter(create, await loadWith(edit));
    expect(startMs).toBeGreaterThan(PAUSE_MS);
  });
});

/** As a keeper starts: it asks again when it is told to. */
async function started(support: real.RegistrySupport, time: SettableTime): Promise<void> {
  for (;;) {
    const answer = await support.getNextWorkId(REQUEST);
    if (answer.status === 'ok') return;
    await pause(time, (answer as { waitMs: number }).waitMs);
  }
}

/** How long a start takes, as soon as the new registry grants ranges. */
async function startAfter(create: Create, Registry: typeof real.RegistrySupport) {
  const { time, support, waitOf } = setUp(Registry);
  const created = create(support).catch(() => undefined);
  await time.advance(NO_GRANT_MS);
  const startMs = await waitOf(() => started(support, time));
  await created;
  return startMs;
}

describe('a registry whose creator has ended before it made the rows', () => {
  const headerOf = async (): Promise<ReturnType<typeof setUp>> => {
    const made = setUp(real.RegistrySupport);
    await made.waitOf(() => CREATORS['another start']!(made.support));
    const { rows } = made.store.rows;
    const { text, ...header } = rows.get(HEADER_KEY)!;
    const { blocks: _, ...facts } = JSON.parse(text!) as { blocks: number[] };
    rows.clear();
    rows.set(HEADER_KEY, { ...header, text: JSON.stringify(facts) });
    return made;
  };

  it('is waited for while the creator could be at it, and not for ever', async () => {
    const { time, support, waitOf, store } = await headerOf();
    const header = store.rows.rows.get(HEADER_KEY)!;
    const facts = JSON.parse(header.text!) as { lastTimeMs: number };
    const createdNow = { ...facts, lastTimeMs: time.now() };
    const row = { ...header, text: JSON.stringify(createdNow), number: BigInt(time.now()) };
    store.rows.rows.set(HEADER_KEY, row);
    const waitMs = await waitOf(() => support.getNextWorkId(REQUEST));
    expect(waitMs).toBeGreaterThan(PAUSE_MS);
    expect(waitMs).toBeLessThan(10 * PAUSE_MS);
  });

  it('is not waited for later', async () => {
    const { support, waitOf } = await headerOf();
    expect(await waitOf(() => support.getNextWorkId(REQUEST))).toBeLessThan(SOON_MS);
  });
});

const file = 'registry/registry-support.ts';

async function loadWith(edit: { file: string; find: string; put: string }) {
  const broken = (await loadLibrary([edit], file)) as Pick<typeof real, 'RegistrySupport'>;
  return broken.RegistrySupport;
}
