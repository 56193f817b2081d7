/**
 * The writes that the registry's rules request from a store, and their order. The contract suite,
 * the model and the simulation show that ranges stay apart.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { acquire, candidatesOf, drawsOf, reachesOf } from '../../lib/registry/acquire.js';
import { newHeader } from '../../lib/registry/prologue.js';
import * as real from '../../lib/registry/registry-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { release, renew } from '../../lib/registry/renew.js';
import {
  checkChanges,
  type HeldSlot,
  type RegistryHeader,
  type StoreReading,
} from '../../lib/registry/snapshot.js';
import { HEADER_KEY, type RowStore } from '../../lib/rows/row-store.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { pause, turn } from '../../lib/time/timers.js';
import { nextWorkerId } from '../models/worker-id-search.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { MapStore, SlowStore } from './walk-store.js';

const T0 = 1_800_000_000_000;
const TTL_MS = 60_000;
const reading: StoreReading = { timeMs: T0, server: 'one', random: 'r', lossWindowMs: 0 };
/** Created long ago by the layout f, and in its second era. */
const header: RegistryHeader = {
  ...newHeader({ ...reading, timeMs: T0 - 1000 }),
  fingerprint: 'f',
  quarantineMs: TTL_MS,
  era: 2,
  operations: 40,
};
const terms = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 50, quarantineMs: 0 };
const label = { host: 'h', pid: 1, application: 'a' };
const request: LeaseRequest = {
  ...terms,
  token: 'mine',
  nonce: 'n',
  workerIdMin: 0,
  workerIdMax: 9,
  haveMs: 0,
  holder: label,
};
const mark = { incarnation: 'r', server: 'one', operations: 40 };

/** A slot that the token has held since an era. */
function heldBy(token: string, given: { workerId: number; era: number; ceilingMs?: number }) {
  const { workerId, era, ceilingMs = T0 + 30_000 } = given;
  const holder = { token, nonce: 'n', floorMs: T0 - 9000, era, sinceMs: T0 - 9000, label };
  return { workerId, ceilingMs, holder } satisfies HeldSlot;
}

function leaseOf({ workerId, ceilingMs, holder }: HeldSlot): WorkerLease {
  const { token, nonce } = holder;
  return { ...terms, workerId, token, nonce, nonceNext: 'n2', haveMs: ceilingMs, mark };
}

describe('a registry step', () => {
  it('writes nothing if it refuses a request, and returns the reason', () => {
    const lowest = { workerId: 0, ceilingMs: 0 };
    const other = { ...request, fingerprint: 'g' };
    const refused = acquire({ header, held: undefined, lowest }, other, reading);
    expect(refused.answer).toMatchObject({
      status: 'layout-mismatch',
      fingerprint: 'f',
      nowMs: T0,
    });
    expect(refused).toEqual({ answer: refused.answer, slots: [] });
    const later = { ...header, version: '3' };
    expect(acquire({ header: later, held: undefined, lowest }, request, reading)).toEqual({
      answer: { status: 'other-version', version: '3' },
      slots: [],
    });
  });

  it('writes only the header if the registry begins with an operation', () => {
    const slot = { workerId: 3, ceilingMs: 0 };
    const lease = leaseOf(heldBy('nobody', { workerId: 3, era: 1 }));
    const { header: written, slots } = release({ header: undefined, slot }, lease, T0, reading);
    expect(written).toMatchObject({ fingerprint: '', era: 1, safeFloorMs: T0 + TTL_MS });
    expect(slots).toEqual([]);
  });

  it("drops a token's lease of an earlier era before it grants another worker ID", () => {
    const held = heldBy('mine', { workerId: 7, era: 1 });
    const lowest = { workerId: 2, ceilingMs: T0 - 5 };
    const { slots } = acquire({ header, held, lowest }, request, reading);
    expect(slots).toEqual([
      { workerId: 7, ceilingMs: held.ceilingMs, holder: undefined },
      { workerId: 2, ceilingMs: T0 + TTL_MS, holder: expect.objectContaining({ token: 'mine' }) },
    ]);
  });

  it('writes a slot once if a token gets the worker ID that it held in an earlier era', () => {
    const held = heldBy('mine', { workerId: 7, era: 1, ceilingMs: T0 - 5 });
    const { slots } = acquire({ header, held, lowest: held }, request, reading);
    expect(slots).toMatchObject([{ workerId: 7, holder: { token: 'mine', floorMs: T0 - 5 } }]);
  });

  it('drops it even if nothing can be granted', () => {
    const held = heldBy('mine', { workerId: 7, era: 1 });
    const { answer, slots } = acquire({ header, held, lowest: held }, request, reading);
    expect(answer).toMatchObject({ status: 'none-free', waitMs: 30_000 });
    expect(slots).toEqual([{ ...held, holder: undefined }]);
  });

  it('leaves a slot alone if an unknown caller has no newer facts than the registry', () => {
    const slot = heldBy('theirs', { workerId: 7, era: 2 });
    const stranger = leaseOf(heldBy('mine', { workerId: 7, era: 2 }));
    const step = renew({ header, slot }, stranger, reading);
    expect(step).toMatchObject({
      answer: { status: 'fenced', floorMs: slot.holder.floorMs },
      slots: [],
    });
    const knowsMore = { ...stranger, haveMs: slot.ceilingMs + 1 };
    expect(renew({ header, slot }, knowsMore, reading).slots).toEqual([
      { ...slot, ceilingMs: slot.ceilingMs + 1 },
    ]);
  });

  it('keeps the nonce of a holder that gets HOLD, so that it may retry', () => {
    const slot = heldBy('mine', { workerId: 7, era: 1 });
    const lost = { ...header, safeFloorMs: T0 + TTL_MS };
    const step = renew({ header: lost, slot }, leaseOf(slot), reading);
    expect(step).toMatchObject({ answer: { status: 'hold', waitMs: 50 }, slots: [] });
  });

  it('changes none of its input records', () => {
    const slot = heldBy('mine', { workerId: 7, era: 2 });
    const before = structuredClone({ header, slot });
    renew({ header, slot }, { ...leaseOf(slot), haveMs: T0 + 50_000 }, { ...reading, server: 'b' });
    release({ header, slot }, leaseOf(slot), T0, reading);
    expect({ header, slot }).toEqual(before);
  });
});

/*
 * The search for a worker ID: a full scan of thousands, and random draws from millions.
 */
const NOW_MS = 1_000_000;
const WIDE = { workerIdMin: 8_388_608, workerIdMax: 8_388_608 + 4_194_303 };
const COUNT = 4_194_304;

/** The ceilings, and the count of looks. */
class Ceilings {
  lookedAt = 0;
  constructor(private readonly of: (workerId: number) => number) {}

  search(seed: string, span = WIDE): number {
    const ceilingOf = (workerId: number) => {
      this.lookedAt++;
      const isInside = workerId >= span.workerIdMin && workerId <= span.workerIdMax;
      if (!isInside) throw new Error(`${workerId} lies outside the span.`);
      return this.of(workerId);
    };
    return nextWorkerId(span, { ceilingOf, nowMs: NOW_MS, seed });
  }
}

const HELD_MS = NOW_MS + 5000;
const FREE_MS = NOW_MS - 5000;
const seeds = Array.from({ length: 1000 }, (_, n) => `seed ${n}`);
/** A part of the worker IDs, in any order. */
const isIn = (workerId: number, share: number) =>
  (Math.imul(workerId, 0x9e3779b1) >>> 0) / 2 ** 32 < share;

describe('a result that no rule may write', () => {
  const slotTo = (ceilingMs: number) => ({ ...heldBy('mine', { workerId: 7, era: 2 }), ceilingMs });

  it.each(['operations', 'era', 'quarantineMs', 'safeFloorMs'] as const)(
    'is a lower %s, except in another registry',
    (name) => {
      const stored = { ...header, safeFloorMs: T0 };
      const fallen = { ...stored, [name]: stored[name] - 1 };
      const check = (now: RegistryHeader | undefined) => () =>
        checkChanges(stored, { header: now, slots: [] });
      expect(check(fallen)).toThrow(`${name} of a registry fell`);
      for (const now of [stored, undefined, { ...fallen, incarnation: 'another' }])
        expect(check(now)).not.toThrow();
    },
  );

  it('is a range that ends before it begins', () => {
    const { floorMs } = slotTo(0).holder!;
    const check = (ceilingMs: number) => () =>
      checkChanges(header, { header, slots: [slotTo(floorMs), slotTo(ceilingMs)] });
    expect(check(floorMs)).not.toThrow();
    expect(check(floorMs - 1)).toThrow('a range ends before it begins');
  });
});

describe('the search in a large span', () => {
  it('finds a free worker ID with few reads if one in a hundred is free', () => {
    const ceilings = new Ceilings((id) => (isIn(id, 0.99) ? HELD_MS : FREE_MS));
    const found = seeds.map((seed) => ceilings.search(seed));
    expect(found.filter((id) => isIn(id, 0.99))).toEqual([]);
    // Two looks at each of 68 and, in half of the calls, 256 more.
    expect(ceilings.lookedAt / seeds.length).toBeLessThan(600);
  });

  it('misses one in a thousand at the computed rate, and finds it on a retry', () => {
    const ceilings = new Ceilings((id) => (isIn(id, 0.999) ? HELD_MS : FREE_MS));
    const missed = seeds.slice(0, 250).filter((seed) => isIn(ceilings.search(seed), 0.999));
    // 0.999 ** 2116 is 12 %, which are 30 of 250.
    expect(missed.length).toBeGreaterThan(10);
    expect(missed.length).toBeLessThan(55);
    const again = missed.filter((seed) => isIn(ceilings.search(`${seed} again`), 0.999));
    expect(again.length).toBeLessThan(missed.length / 2);
  });

  it('if all are held, returns one that ends as early as any it read', () => {
    const ceilings = new Ceilings((id) => HELD_MS + (id % 60_000));
    for (const seed of seeds.slice(0, 50)) {
      expect((ceilings.search(seed) % 60_000) / 60_000).toBeLessThan(0.01);
    }
    // At most two looks at each of 2,116, and one more after each of nine rounds.
    expect(ceilings.lookedAt).toBeLessThanOrEqual(50 * (2 * 2116 + 9));
  });

  it('reuses earlier worker IDs, so that restarts do not fill the registry', () => {
    const ceilingsMs = new Map<number, number>();
    const ceilings = new Ceilings((id) => ceilingsMs.get(id) ?? 0);
    const leased = (seed: string) => {
      const workerId = ceilings.search(seed);
      ceilingsMs.set(workerId, HELD_MS);
      return workerId;
    };
    const fleet = Array.from({ length: 1000 }, (_, n) => leased(`first ${n}`));
    for (let restart = 0; restart < 10_000; restart++) {
      const at = restart % fleet.length;
      ceilingsMs.set(fleet[at]!, FREE_MS + restart / 1e6);
      fleet[at] = leased(`restart ${restart}`);
    }
    expect(new Set(fleet).size).toBe(fleet.length);
    expect(ceilingsMs.size).toBeLessThan(3 * fleet.length);
  });

  it('spreads a fleet that starts at once over an empty registry', () => {
    const drawn = seeds.map((seed) => candidatesOf(WIDE, seed));
    expect(drawn.every((ids) => new Set(ids).size === 64)).toBe(true);
    const firsts = drawn.map((ids, n) => ids[n % ids.length]!);
    expect(new Set(firsts).size).toBeGreaterThan(600);
  });
});

describe('the drawn candidates', () => {
  it('are none if a span has no ends', () => {
    const noSpan = {} as { workerIdMin: number; workerIdMax: number };
    expect(candidatesOf(noSpan, 'any')).toEqual([]);
  });

  it('range from 64 worker IDs to all of them', () => {
    const reaches = reachesOf(WIDE);
    expect([reaches[0], reaches.at(-2), reaches.at(-1)]).toEqual([64, COUNT / 2, COUNT]);
    expect(reachesOf({ workerIdMin: 0, workerIdMax: 4999 }).at(-1)).toBe(5000);
  });

  it('are even, and differ for texts that differ in one letter', () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (const seed of seeds) {
      const draw = drawsOf(seed);
      for (let n = 0; n < 100; n++) counts[Math.floor(draw() * 10)]!++;
    }
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    const firsts = seeds.map((seed) => Math.floor(drawsOf(seed)() * COUNT));
    expect(new Set(firsts).size).toBeGreaterThan(990);
  });
});

/*
 * Which process creates a registry, and which wait for it. A start leaves the first rows to an
 * active creator only.
 */
describe('creators', () => {
  const TERMS = { fingerprint: 'f', ttlMs: 30_000, minRangeMs: 1000, quarantineMs: 0, haveMs: 0 };
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
  /** The longest single pause. */
  const PAUSE_MS = 2000;
  const SOON_MS = 50;
  /** How long a new registry grants nothing. */
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

  describe.each(Object.entries(CREATORS))('%s that creates a registry', (_name, create) => {
    it('is not waited for, by itself or by a start a moment later', async () => {
      const { support, waitOf } = setUp(real.RegistrySupport);
      expect(await waitOf(() => create(support))).toBeLessThan(SOON_MS);
      const startMs = await startAfter(create, real.RegistrySupport);
      expect(startMs).toBeLessThan(SOON_MS);
    });
  });

  // The renewal writes the header once more. From then on no caller waits for its rows.
  const WAITED_FOR = Object.entries(CREATORS).filter(([name]) => !name.includes('renews'));
  it.each(WAITED_FOR)('keep a start waiting if %s does not make the rows', async (_, create) => {
    const edit = { file, find: 'await this.#blocks.makeFirst(span)', put: 'undefined' };
    expect(await startAfter(create, await loadWith(edit))).toBeGreaterThan(PAUSE_MS);
  });

  /** Starts like a keeper: it repeats its request when the answer requires it. */
  async function started(support: real.RegistrySupport, time: SettableTime): Promise<void> {
    for (;;) {
      const answer = await support.getNextWorkId(REQUEST);
      if (answer.status === 'ok') return;
      await pause(time, (answer as { waitMs: number }).waitMs);
    }
  }

  /** How long a start takes once the new registry grants ranges. */
  async function startAfter(create: Create, Registry: typeof real.RegistrySupport) {
    const { time, support, waitOf } = setUp(Registry);
    const created = create(support).catch(() => undefined);
    await time.advance(NO_GRANT_MS);
    const startMs = await waitOf(() => started(support, time));
    await created;
    return startMs;
  }

  describe('a registry whose creator ended before it created the rows', () => {
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

    it('waits while the creator could still be at work, and not without end', async () => {
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

    it('does not wait later', async () => {
      const { support, waitOf } = await headerOf();
      expect(await waitOf(() => support.getNextWorkId(REQUEST))).toBeLessThan(SOON_MS);
    });
  });

  const file = 'registry/registry-support.ts';

  async function loadWith(edit: { file: string; find: string; put: string }) {
    const broken = (await loadLibrary([edit], file)) as Pick<typeof real, 'RegistrySupport'>;
    return broken.RegistrySupport;
  }
});

/*
 * An abandoned operation: its caller gave up and repeated the request.
 */
describe('superseded', () => {
  const TERMS = { fingerprint: 'f', ttlMs: 10_000, minRangeMs: 50, quarantineMs: 0 };
  const REQUEST: LeaseRequest = {
    ...TERMS,
    token: 'mine',
    nonce: 'n0',
    workerIdMin: 0,
    workerIdMax: 0,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a' },
  };

  async function setUp() {
    const moment = { timeMs: 1_800_000_000_000, server: 'one' };
    const rows = new MapStore(moment);
    await new RegistrySupport(rows).getNextWorkId(REQUEST);
    moment.timeMs += 20_000;
    const grant = (await new RegistrySupport(rows).getNextWorkId(REQUEST)) as LeaseGrant;
    let isBusy = false;
    let isSlow = false;
    const waiting: (() => void)[] = [];
    const store: RowStore = {
      location: 'a busy store',
      lossWindowMs: 0,
      async read(question) {
        if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
        return rows.read(question);
      },
      readAll: () => rows.readAll(),
      write: async (write) => !isBusy && rows.write(write),
    };
    const after = (_: number, run: () => void) => waiting.push(run);
    const timers = { after, every: after, cancel: () => undefined };
    const { workerId, ceilingMs: haveMs, mark } = grant;
    const lease: WorkerLease = { ...REQUEST, workerId, haveMs, mark: mark!, nonceNext: 'n1' };
    return {
      support: new RegistrySupport(store, { timers }),
      lease,
      setBusy: (value: boolean) => void (isBusy = value),
      setSlow: (value: boolean) => void (isSlow = value),
      /** Lets a caller continue that pauses between two tries, or waits for an answer. */
      wake: async () => {
        await turn();
        for (const run of waiting.splice(0)) run();
        await turn();
      },
    };
  }

  describe('a repeated operation', () => {
    it('does not take the holder for a copy of itself when it arrives later', async () => {
      const { support, lease, setBusy, wake } = await setUp();
      setBusy(true);
      const late = support.refreshAlive(lease).catch((error: unknown) => error);
      await turn();
      setBusy(false);
      expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
      const second = { ...lease, nonce: 'n1', nonceNext: 'n2' };
      expect(await support.refreshAlive(second)).toMatchObject({ status: 'ok' });
      await wake();
      expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      const third = { ...lease, nonce: 'n2', nonceNext: 'n3' };
      expect(await support.refreshAlive(third)).toMatchObject({ status: 'ok' });
    });

    it('does not take the holder for a copy if the store received the request late', async () => {
      const { support, lease, setSlow, wake } = await setUp();
      setSlow(true);
      const late = support.refreshAlive(lease).catch((error: unknown) => error);
      await turn();
      setSlow(false);
      await support.refreshAlive(lease);
      await support.refreshAlive({ ...lease, nonce: 'n1', nonceNext: 'n2' });
      await wake();
      expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      const third = { ...lease, nonce: 'n2', nonceNext: 'n3' };
      expect(await support.refreshAlive(third)).toMatchObject({ status: 'ok' });
    });

    it('does not raise the ceiling of a lease that was released since', async () => {
      const { support, lease, setBusy, wake } = await setUp();
      setBusy(true);
      const late = support.refreshAlive(lease).catch((error: unknown) => error);
      await turn();
      setBusy(false);
      await support.release(lease, undefined);
      const [given] = await support.workers();
      await wake();
      await late;
      expect((await support.workers())[0]).toMatchObject({ ceilingMs: given!.ceilingMs });
    });
  });
});
