/**
 * A header that is written long after its read does not take back what others received since.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { namedGrant } from '../../lib/counters/counter-store.js';
import type { LeaseGrant, LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { newHeader } from '../../lib/registry/prologue.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { RowInspector } from '../../lib/registry/row-inspector.js';
import { release } from '../../lib/registry/renew.js';
import { headerRow } from '../../lib/registry/stored-snapshot.js';
import { HEADER_KEY, numberIn, type RowStore } from '../../lib/rows/row-store.js';
import { type ClockPolicy, highest, nowOf, slewed } from '../../lib/rows/store-clock.js';
import { MemoryRegistry } from '../models/memory-registry.js';
import { keptTimeIn, MapStore, TIME_IS_KEPT, type StoreFault, WalkStore } from './walk-store.js';

const T0 = 1_800_000_000_000;
const TTL_MS = 10_000;

function setUp(fault?: StoreFault) {
  const moment = { timeMs: T0, serverCount: 0 };
  const turn = () => Promise.resolve();
  return { moment, store: new WalkStore({ moment, turn, fault, lossWindowMs: 0 }) };
}

/** Requests one worker ID. */
const request = (workerId: number): LeaseRequest => ({
  fingerprint: 'f',
  ttlMs: TTL_MS,
  minRangeMs: 50,
  quarantineMs: 0,
  token: `of ${workerId}`,
  nonce: 'n0',
  workerIdMin: workerId,
  workerIdMax: workerId,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
});

describe('an outdated header', () => {
  function leaseOf(asked: LeaseRequest, grant: LeaseGrant): WorkerLease {
    const { workerId, ceilingMs: haveMs, mark } = grant;
    return { ...asked, workerId, haveMs, mark: mark!, nonceNext: 'n1' };
  }

  /**
   * Whether the next holder of a worker ID with a deleted row begins before the last one ends.
   */
  async function overlaps(fault?: StoreFault): Promise<boolean> {
    const { moment, store } = setUp(fault);
    const support = new RegistrySupport(store);
    const acquire = async (workerId: number) =>
      (await support.getNextWorkId(request(workerId))) as LeaseGrant;
    await acquire(0);
    moment.timeMs += 2 * TTL_MS;
    const first = leaseOf(request(0), await acquire(0));
    let second = leaseOf(request(1), await acquire(1));

    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let stands: () => void = () => undefined;
    const standing = new Promise<void>((resolve) => (stands = resolve));
    const late: RowStore = {
      location: store.location,
      lossWindowMs: 0,
      read: (question) => store.read(question),
      readAll: () => store.readAll(),
      async write(write) {
        stands();
        await gate;
        return store.write(write);
      },
    };
    store.remove((key) => key === '0');
    const noted = new RegistrySupport(late).refreshAlive(first);
    await standing;
    for (let n = 0; n < 60; n++) {
      moment.timeMs += 1000;
      const { ceilingMs: haveMs, mark } = (await support.refreshAlive(second)) as LeaseGrant;
      const { nonceNext: nonce } = second;
      second = { ...second, haveMs, mark: mark!, nonce, nonceNext: `m${n}` };
    }
    store.remove((key) => key === '1');
    goOn();
    await noted;
    const answer = await support.getNextWorkId({ ...request(1), token: 'next' });
    return answer.status === 'ok' && answer.floorMs < second.haveMs;
  }

  it('is refused if its time has advanced, so that no range is lost', async () => {
    expect(await overlaps()).toBe(false);
  });

  it('would let two ranges overlap in a store that ignores the time', async () => {
    expect(await overlaps('header time')).toBe(true);
  });

  it('is compared in a store that keeps its version if only the time is new', async () => {
    expect(await keptTimeIn(setUp().store)).toEqual(TIME_IS_KEPT);
  });
});

/*
 * A process with the clock of a lost registry calls the next one late. The registry grants no lost
 * range again, and no caller waits for a clock that is behind.
 */
describe('late survivor', () => {
  const LONG_TTL_MS = 60_000;
  const AHEAD_MS = 600_000;
  const LATE_MS = LONG_TTL_MS + 5000;

  const reading = (timeMs: number, server = 'one') => ({
    timeMs,
    server,
    random: `${server} ${timeMs}`,
    lossWindowMs: 0,
  });

  /** Requests any of ten worker IDs. */
  const anyOf = (token: string, more: Partial<LeaseRequest> = {}): LeaseRequest => ({
    ...request(0),
    ttlMs: LONG_TTL_MS,
    minRangeMs: 1000,
    workerIdMax: 9,
    token,
    nonce: token,
    ...more,
  });

  /** The data that a process brings, with a grant from one time in a request of another. */
  function learned({ mark, ceilingMs, nowMs, timeMs }: LeaseGrant, elapsedMs: number) {
    const { incarnation, server, era } = mark!;
    const clocks = { nowMs: nowMs! + elapsedMs, timeMs: timeMs! + elapsedMs };
    const seen = { incarnation, server, era, haveMs: ceilingMs };
    return { quarantineMs: LONG_TTL_MS, seen, reckoned: { incarnation, server, ...clocks } };
  }

  describe('a survivor that calls after the safe floor has passed', () => {
    const lost = () => {
      const registry = new MemoryRegistry();
      registry.acquire(anyOf('first'), reading(T0 - LONG_TTL_MS + AHEAD_MS));
      const told = registry.acquire(anyOf('told'), reading(T0 + AHEAD_MS)) as LeaseGrant;
      // An operator corrects the store's clock, and another process continues long after the first.
      registry.acquire(anyOf('then'), reading(T0 + 1));
      const last = anyOf('last', { workerIdMin: 5, workerIdMax: 5 });
      const forgotten = registry.acquire(last, reading(T0 + 200_000)) as LeaseGrant;
      registry.state = undefined;
      const lossMs = T0 + 200_001;
      registry.acquire(anyOf('new'), reading(lossMs, 'two'));
      return { registry, told, forgotten, lateMs: lossMs + LATE_MS };
    };

    it('keeps later grants above all that was lost', () => {
      const { registry, told, forgotten, lateMs } = lost();
      const asks = anyOf('survivor', learned(told, lateMs - T0));
      registry.acquire(asks, reading(lateMs, 'two'));
      expect(registry.state!.safeFloorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
    });

    it('stops no process', () => {
      const { registry, told, lateMs } = lost();
      const asks = anyOf('survivor', learned(told, lateMs - T0));
      registry.acquire(asks, reading(lateMs, 'two'));
      const next = registry.acquire(anyOf('next'), reading(lateMs + 1000, 'two'));
      expect(next).toMatchObject({ status: 'ok' });
    });
  });

  it.each([
    [115_000, 55_000],
    [60_000, 0],
  ])('stops a holder of 30 s if %i ms come to its new registry, for %i ms', (ttlMs, gapMs) => {
    const registry = new MemoryRegistry();
    const short = anyOf('short', { ttlMs: 30_000, minRangeMs: 50 });
    registry.acquire(short, reading(T0));
    const { workerId, ceilingMs, mark } = registry.acquire(short, reading(T0 + 50)) as LeaseGrant;
    registry.acquire(anyOf('long', { ttlMs }), reading(T0 + 100));
    const lease = { ...short, workerId, nonceNext: 'next', haveMs: ceilingMs, mark: mark! };
    const answer = registry.renew(lease, reading(T0 + 100));
    const { waitMs } = answer as { waitMs: number };
    expect(answer.status).toBe('hold');
    expect(Math.max(0, T0 + 100 + waitMs - ceilingMs)).toBe(gapMs);
  });

  // The proof by induction (test/proof/lease.rules) showed that the floor was too low.
  it('a survivor that calls after the clock has passed all that was lost', () => {
    const registry = new MemoryRegistry();
    const aheadMs = 1000;
    registry.acquire(anyOf('first'), reading(T0 - LONG_TTL_MS));
    const told = registry.acquire(anyOf('told'), reading(T0)) as LeaseGrant;
    // An operator corrects the store's clock, and another process continues after this one.
    registry.acquire(anyOf('then'), reading(T0 - aheadMs));
    const five = { workerIdMin: 5, workerIdMax: 5 };
    const forgotten = registry.acquire(anyOf('last', five), reading(T0 + 500)) as LeaseGrant;
    registry.state = undefined;
    registry.acquire(anyOf('new'), reading(T0 + 501, 'two'));
    const asks = anyOf('survivor', learned(told, aheadMs + LATE_MS));
    registry.acquire(asks, reading(T0 + LATE_MS, 'two'));
    const next = registry.acquire(anyOf('next', five), reading(T0 + LATE_MS, 'two'));
    expect(forgotten.ceilingMs).toBeGreaterThan(told.ceilingMs);
    expect(next).toMatchObject({ status: 'ok' });
    expect((next as LeaseGrant).floorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
    // A repeated report moves nothing, since each move would restart a waiting grant.
    const { safeFloorMs } = registry.state!;
    const again = anyOf('another survivor', learned(told, aheadMs + LATE_MS));
    registry.acquire(again, reading(T0 + LATE_MS, 'two'));
    expect(registry.state!.safeFloorMs).toBe(safeFloorMs);
  });

  describe('a failed-over server whose successor is ahead, called again', () => {
    function left() {
      const registry = new MemoryRegistry();
      const first = registry.acquire(anyOf('first'), reading(T0 - 2 * AHEAD_MS)) as LeaseGrant;
      const other = new MemoryRegistry();
      other.state = structuredClone(registry.state!);
      other.acquire(anyOf('a'), reading(T0 + AHEAD_MS, 'two'));
      const told = other.acquire(anyOf('b'), reading(T0 + AHEAD_MS + 2000, 'two')) as LeaseGrant;
      return { registry, first, told };
    }

    it('grants again as soon as it has the time', () => {
      const { registry, told } = left();
      registry.acquire(anyOf('survivor', learned(told, 1000)), reading(T0 + 3000));
      expect(registry.acquire(anyOf('next'), reading(T0 + 6000))).toMatchObject({ status: 'ok' });
    });

    // Found by the simulation: seed 36002601 of `store move`.
    it("grants if the process has read this server's clock since", () => {
      const { registry, first, told } = left();
      const { seen } = learned(told, 1000);
      const { reckoned } = learned(first, 2 * AHEAD_MS + 3000);
      const survivor = anyOf('survivor', { quarantineMs: LONG_TTL_MS, seen, reckoned });
      registry.acquire(survivor, reading(T0 + 3000));
      const next = registry.acquire(anyOf('next'), reading(T0 + 6000));
      expect(next).toMatchObject({ status: 'ok' });
      expect((next as LeaseGrant).floorMs).toBeGreaterThanOrEqual(told.ceilingMs);
    });
  });
});

/*
 * An operator sets a registry's clock back during concurrent writes of the fleet.
 */
describe('a clock set back by an order', () => {
  const BACK_MS = 60_000;

  it.each([0, 1, 400, 999, 1000, 5000])('is done %d ms after the last write', async (sinceMs) => {
    const { moment, store } = setUp();
    const support = new RegistrySupport(store);
    const nowMs = async (workerId: number) =>
      ((await support.getNextWorkId(request(workerId))) as LeaseGrant).nowMs!;
    await nowMs(0);
    moment.timeMs += 10 * TTL_MS;
    await nowMs(1);
    moment.timeMs -= BACK_MS;
    expect((await nowMs(2)) - moment.timeMs).toBe(BACK_MS);
    moment.timeMs += sinceMs;
    const mark = { incarnation: '', server: '', operations: 0 };
    const operator = {
      ...request(0),
      token: 'o',
      workerId: 0,
      nonceNext: 'o',
      mark,
      settles: true,
    };
    await support.release(operator, undefined);
    expect(await nowMs(3)).toBe(moment.timeMs);
  });
});

/*
 * A registry's clock never goes back, whatever the clocks below it do.
 */
const START = { lastTimeMs: T0, slewMs: 0 };

/** The registry's clock at each of the store's times, which are given as steps. */
function told(policy: ClockPolicy, steps: readonly number[]): number[] {
  let clock = START;
  let timeMs = START.lastTimeMs;
  return steps.map((stepMs) => {
    timeMs += stepMs;
    clock = policy(clock, timeMs);
    return nowOf(clock);
  });
}

describe("a registry's clock", () => {
  it.each([
    ['slewed', slewed],
    ['highest', highest],
  ])('never goes back: %s', (_name, policy) => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -90_000, max: 90_000 })), (steps) => {
        const times = told(policy, steps);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
    );
  });

  it('returns by half of the elapsed time after a step back of one server', () => {
    const times = told(slewed, [-1000, 500, 1500]).map((ms) => ms - START.lastTimeMs);
    expect(times).toEqual([0, 250, 1000]);
  });

  it("does not advance because servers' clocks differ", () => {
    const steps = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 110 : -90));
    const [behind, ahead] = [slewed, highest].map((policy) => told(policy, steps).at(-1)!);
    expect(ahead! - START.lastTimeMs).toBe(1090);
    expect(behind! - START.lastTimeMs).toBeGreaterThan(2000);
  });

  it('is the one that the store returns', () => {
    const reading = { timeMs: 5000, server: 's', random: 'r', lossWindowMs: 0, clock: highest };
    const header = newHeader({ ...reading, timeMs: 9000 });
    const lease = {
      fingerprint: 'f',
      ttlMs: 10_000,
      minRangeMs: 0,
      quarantineMs: 0,
      workerId: 0,
      token: 't',
      nonce: 'n',
      nonceNext: 'n2',
      haveMs: 0,
      mark: { incarnation: 'r', server: 's', operations: 0 },
    };
    const changes = release({ header, slot: { workerId: 0, ceilingMs: 0 } }, lease, 0, reading);
    expect(changes.header).toMatchObject({ lastTimeMs: 9000, slewMs: 0 });
  });
});

describe('an operator', () => {
  const SET_BACK = { lastTimeMs: T0, slewMs: 1000 };

  async function read(timeMs: number) {
    const store = new MapStore({ timeMs, server: 's' });
    const header = newHeader({ timeMs, server: 's', random: 'r', lossWindowMs: 0 });
    store.rows.set(HEADER_KEY, { ...headerRow({ ...header, ...SET_BACK }), version: 1 });
    return new RowInspector(store, 'a Map', 'rows').read();
  }

  it('sees the current clock', async () => {
    for (const [elapsedMs, slewMs] of [
      [0, 1000],
      [600, 700],
      [5000, 0],
      [-200, 1200],
    ] as const) {
      const storeMs = SET_BACK.lastTimeMs + elapsedMs;
      const view = await read(storeMs);
      expect(view).toMatchObject({ storeMs, nowMs: storeMs + slewMs, facts: { slewMs } });
    }
  });
});

/* Decimal strings in stores use one grammar, the one of IDs. */
const MAX = 2n ** 63n - 1n;

it.each(['0', '7', String(MAX)])('reads %s', (text) => {
  expect(numberIn(text)).toBe(BigInt(text));
  expect(namedGrant(`${text}.random.order`)?.first).toBe(BigInt(text));
});

it.each(['', '00', '007', '-1', '+1', ' 1', '1n', '1e3', String(MAX + 1n), '9'.repeat(30)])(
  '%j is not',
  (text) => {
    expect(numberIn(text)).toBeUndefined();
    expect(namedGrant(`${text}.random.order`)).toBeUndefined();
  },
);

it('a number is not a text', () => {
  expect([7, 7n, undefined, null].map(numberIn)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it("sees no clock with a refusal that ignores the process's clock", () => {
  const registry = new MemoryRegistry();
  const reading = { timeMs: T0, server: 'one', random: 'r', lossWindowMs: 0 };
  registry.acquire(request(0), reading);
  registry.acquire(request(0), { ...reading, timeMs: T0 + 1000 });
  const other = { ...request(1), fingerprint: 'other' };
  const refused = { status: 'layout-mismatch', fingerprint: 'f' };
  expect(registry.acquire(other, reading)).toMatchObject({ ...refused, quarantineMs: TTL_MS });
  const reckoned = { incarnation: 'another', server: 'one', nowMs: T0 + 5000, timeMs: T0 };
  expect(registry.acquire({ ...other, reckoned }, reading)).toEqual(refused);
});
