/**
 * Measures the table of architecture.md: how often each layer calls a store that refuses, answers
 * late or never answers, how long it pauses, and when it ends. `test/stores/who-asks-again.spec.ts`
 * measures the stores themselves.
 */
import { describe, expect, it } from '@jest/globals';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { SnowflakeError } from '../../lib/errors.js';
import { MemoryRows } from '../../lib/index.js';
import type { IDistributedSupport, LeaseRequest } from '../../lib/lease/distributed-support.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import type { HoldOptions } from '../../lib/lock/lock-options.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import type { RowQuery, RowSnapshot, RowStore, RowWrite } from '../../lib/rows/row-store.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { retryRow, seconds } from '../docs/retry-table.js';
import { LockWorld, namedLock, type Way } from '../lock/held-locks.js';
import { CountingStore, kept } from '../segments/segment-simulation.js';
import { process, World } from './world.js';

/** The longest pauses. Each is drawn from 0 up to this part of its span. */
const random = () => 1;
const MINUTES = 10 * 60_000;

interface Ended {
  /** The time of its end in ms; undefined without an end. */
  readonly atMs: number | undefined;
  readonly error?: unknown;
}

/** Advances the time by ten minutes. */
async function endOf(time: SettableTime, call: Promise<unknown>): Promise<Ended> {
  const startMs = time.passedMs;
  let ended: Ended = { atMs: undefined };
  const end = (error?: unknown) => void (ended = { atMs: time.passedMs - startMs, error });
  call.then(() => end(), end);
  await time.advance(MINUTES);
  return ended;
}

/** The times between calls, without the duration of the calls. */
function pausesOf(calls: readonly number[], tookMs = 0): number[] {
  return calls.slice(1).map((atMs, at) => atMs - calls[at]! - tookMs);
}

describe('a keeper', () => {
  /** A process with recorded calls. */
  function processIn(world: World) {
    const calls: number[] = [];
    const noted = <T>(call: () => Promise<T>): Promise<T> => {
      calls.push(world.time.passedMs);
      return call();
    };
    const support: IDistributedSupport = {
      lossWindowMs: 0,
      getNextWorkId: (asked) => noted(() => world.getNextWorkId(asked)),
      refreshAlive: (lease) => noted(() => world.refreshAlive(lease)),
    };
    const { parts } = process(world);
    const keeper = new LeaseKeeper({ ...parts, random, support });
    return { keeper, calls, support, time: world.time };
  }

  async function renewing(change: (world: World) => void) {
    const world = new World();
    const one = processIn(world);
    await one.keeper.start();
    one.calls.length = 0;
    change(world);
    void one.keeper.refresh();
    await world.time.advance(MINUTES);
    return { ...one, world };
  }

  const RENEWAL = retryRow('keeper, renewal');
  const CALL = retryRow('call of a lease');
  const START = retryRow('keeper, without a lease');

  it('renews at a store that refuses, without end and less and less often', async () => {
    const { calls, keeper, time } = await renewing((world) => (world.isDown = true));
    const pauses = pausesOf(calls);
    expect(pauses.slice(0, 6)).toEqual([100, 200, 400, 800, 1600, 2000]);
    expect(seconds(Math.max(...pauses))).toBe(RENEWAL.pause);
    expect([calls.length > 300, RENEWAL.tries, RENEWAL.end]).toEqual([true, 'any number', 'never']);
    void keeper.stop();
    const { length } = calls;
    await time.advance(MINUTES);
    expect(calls).toHaveLength(length);
  });

  it('sends one request per call, with a limit, to a store that never answers', async () => {
    const { calls } = await renewing((world) => (world.isSlow = true));
    const tookMs = calls[1]! - calls[0]! - 100;
    expect({ tries: '1', pause: 'none', end: `${seconds(tookMs)} (\`callTimeoutMs\`)` }).toEqual(
      CALL,
    );
    expect(seconds(Math.max(...pausesOf(calls, tookMs)))).toBe(RENEWAL.pause);
  });

  it('uses an answer that arrives after the limit', async () => {
    const { keeper, world } = await renewing((world) => (world.isSlow = true));
    const before = keeper.endMs!;
    world.deliver();
    await world.time.advance(0);
    expect(keeper.endMs!).toBeGreaterThan(before);
  });

  it.each([
    ['refuses', { isDown: true }],
    ['never answers', { isSlow: true }],
  ])('without a lease gives up a start if the store %s', async (_, fault) => {
    const { keeper, time, calls } = processIn(Object.assign(new World(), fault));
    const { atMs, error } = await endOf(time, keeper.start());
    const start = `${seconds(30_000)} at a start (\`startTimeoutMs\`)`;
    expect([error, START]).toMatchObject([
      { code: 'STORE_UNAVAILABLE' },
      {
        tries: 'any number',
        pause: seconds(2000),
        end: `${start} and the try after it; later never`,
      },
    ]);
    // The attempt that was due at the end of the time, and its pause.
    const lastMs = calls.at(-1)!;
    expect([calls.at(-2)! <= 30_000, lastMs > 28_000]).toEqual([true, true]);
    expect(atMs!).toBeLessThanOrEqual(30_000 + 2000 + 2000);
  });

  it('without a lease retries without end later, and within 5 s after an answer to wait', async () => {
    const world = new World();
    const { keeper, calls, support, time } = processIn(world);
    await keeper.start();
    world.registry.state = undefined as never;
    calls.length = 0;
    support.refreshAlive = async () => ({ status: 'unknown' });
    support.getNextWorkId = async () => {
      calls.push(time.passedMs);
      return { status: 'wait', waitMs: 60_000 };
    };
    void keeper.refresh();
    await time.advance(MINUTES);
    expect(seconds(Math.max(...pausesOf(calls)))).toBe('5 s');
    expect(calls.length).toBeGreaterThan(100);
  });
});

describe('a keeper of buffered numbers', () => {
  it('retries a failing store without end', async () => {
    const store = new CountingStore();
    const { keeper, time } = kept(store, {}, undefined, 0);
    await keeper.start();
    const calls: number[] = [];
    store.take = async () => {
      calls.push(time.passedMs);
      throw new SnowflakeError('STORE_UNAVAILABLE', 'down');
    };
    keeper.source.nextIds(keeper.source.buffered);
    void keeper.refresh();
    await time.advance(MINUTES);
    const row = retryRow('keeper of buffered numbers');
    // The random value here is half of each span.
    expect(seconds(2 * Math.max(...pausesOf(calls)))).toBe(row.pause);
    expect([calls.length > 300, row.tries, row.end]).toEqual([true, 'any number', 'never']);
  });
});

describe("a lock's caller", () => {
  const ROW = retryRow('wait for a lock');

  async function waited(way: Way, options: HoldOptions) {
    const world = new LockWorld();
    const { locks, link } = world.process({ random });
    link.way = way;
    const ended = await endOf(world.time, locks.acquire('a', options));
    const calls = link.asked.filter(({ call }) => call === 'acquire').map(({ atMs }) => atMs);
    return { ...ended, calls };
  }

  it('waits for its full waitMs if the store refuses', async () => {
    const { atMs, calls } = await waited('failing', { waitMs: 60_000 });
    expect([atMs, seconds(Math.max(...pausesOf(calls)))]).toEqual([60_000, ROW.pause]);
  });

  it('also waits for the pending call if the store never answers', async () => {
    const { atMs } = await waited('hanging', { waitMs: 60_000 });
    expect(`\`waitMs\` and the call under way, ${seconds(atMs! - 60_000)}`).toBe(ROW.end);
  });

  it('checks a held lock often', async () => {
    const world = new LockWorld();
    await world.process().locks.acquire('a');
    const { locks, link } = world.process({ random }, false);
    void locks.acquire('a', { waitMs: 60_000 }).catch(() => undefined);
    await world.time.advance(60_000);
    const calls = link.asked.map(({ atMs }) => atMs);
    expect(Math.max(...pausesOf(calls))).toBe(1500);
  });

  it('extends it until its end', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process({ random });
    const held = await locks.acquire('a');
    link.way = 'failing';
    await world.time.advance(MINUTES);
    const calls = link.asked.filter(({ call }) => call === 'extend').map(({ atMs }) => atMs);
    const row = retryRow('extension of a lock');
    expect([held.leftMs, calls.length > 5, row.end]).toEqual([0, true, 'the end of the lock']);
    expect(Math.max(...pausesOf(calls))).toBeLessThanOrEqual(2000);
    expect([Math.max(...calls) < 10_000, row.pause]).toEqual([true, '2 s']);
  });
});

/** Rows that a test can keep from being read or written. */
class IllRows extends MemoryRows {
  illness: 'none' | 'contended' | 'refusing' | 'mute' | 'late' = 'none';
  readCount = 0;
  constructor(override readonly time: SettableTime) {
    super(time);
  }

  override async read(query: RowQuery): Promise<RowSnapshot> {
    this.readCount++;
    if (this.illness === 'mute') await new Promise(() => undefined);
    if (this.illness === 'refusing') throw new SnowflakeError('STORE_UNAVAILABLE', 'refused');
    if (this.illness === 'late') {
      await new Promise<void>((resolve) => this.time.after(LATE_MS, resolve));
    }
    return super.read(query);
  }

  override async write(write: RowWrite): Promise<boolean> {
    if (this.illness === 'none') return super.write(write);
    // Other processes were creating it.
    return undefined as never;
  }
}

const LATE_MS = 1500;

const REQUEST: LeaseRequest = {
  token: 'a',
  nonce: 'n',
  workerIdMin: 0,
  workerIdMax: 3,
  fingerprint: 't41-w10-s12',
  ttlMs: 60_000,
  quarantineMs: 0,
  minRangeMs: 0,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
};

type Opened = (rows: RowStore, time: SettableTime) => Promise<() => Promise<unknown>>;

const OPERATIONS: readonly (readonly [string, Opened])[] = [
  [
    'registry',
    async (rows, timers) => {
      const support = new RegistrySupport(rows, { timers, random });
      const acquiring = support.getNextWorkId(REQUEST);
      await timers.advance(5000);
      const answer = await acquiring;
      const { mark, workerId } = answer as { mark?: never; workerId: number };
      const lease = { ...REQUEST, workerId, mark: mark!, nonceNext: 'm' };
      return () => support.refreshAlive(lease);
    },
  ],
  [
    'counters, locks over rows',
    async (rows, timers) => {
      const counters = new RowCounters(rows, { timers, random });
      return () => counters.create({ counter: 'a', start: 1n });
    },
  ],
  [
    'counters, locks over rows',
    async (rows, timers) => {
      const locks = new RowLocks(rows, { timers, random });
      return () => locks.acquire(namedLock('a'));
    },
  ],
];

describe.each(OPERATIONS)('%s', (layer, open) => {
  async function measured(illness: IllRows['illness']) {
    const rows = new IllRows(new SettableTime());
    const ask = await open(rows, rows.time);
    rows.illness = illness;
    rows.readCount = 0;
    const ended = await endOf(rows.time, ask());
    return { ...ended, tries: rows.readCount };
  }

  const ROW = retryRow(layer);

  it('retries after conflicts as often and as long as the table states', async () => {
    const { tries, atMs, error } = await measured('contended');
    expect([String(tries), seconds(atMs!)]).toEqual([ROW.tries, ROW.end]);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  });

  it('takes longer by as much as a store answers late', async () => {
    const { tries, atMs } = await measured('late');
    expect(seconds(atMs! - tries * LATE_MS)).toBe(ROW.end);
  });

  it('sends one request to a store that refuses', async () => {
    expect(await measured('refusing')).toMatchObject({ tries: 1, atMs: 0 });
  });

  it("sends one request to a store that never answers, within its caller's limit", async () => {
    expect(await measured('mute')).toMatchObject({ tries: 1, atMs: undefined });
  });
});
