/**
 * Events that only a registry over rows has: the loss of the header alone, single deleted rows,
 * foreign strings, and a write that arrives much later.
 */
import { describe, expect, it } from '@jest/globals';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { RowInspector } from '../../lib/registry/row-inspector.js';
import { AgainAfter } from '../../lib/rows/cas-retry.js';
import {
  HEADER_KEY,
  SharedReads,
  type RowStore,
  type SharedQuery,
} from '../../lib/rows/row-store.js';
import { SettableTime } from '../../lib/testing/index.js';
import { turn } from '../../lib/time/timers.js';
import { MapStore } from './walk-store.js';

const T0 = 1_800_000_000_000;
const TTL_MS = 10_000;
const TERMS = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 50, quarantineMs: 0 };

function setUp(workerIdMax = 0) {
  const moment = { timeMs: T0, server: 'one' };
  const store = new MapStore(moment);
  const support = new RegistrySupport(store);
  const request = (token: string): LeaseRequest => ({
    ...TERMS,
    token,
    nonce: 'n',
    workerIdMin: 0,
    workerIdMax,
    haveMs: 0,
    holder: { host: 'h', pid: 1, application: 'a', version: '1.2.3' },
  });
  const acquire = async (token: string) => support.getNextWorkId(request(token));
  /** After the quarantine of a new registry. */
  const hold = async (token: string) => {
    await acquire(token);
    moment.timeMs += 2 * TTL_MS;
    return granted(await acquire(token));
  };
  const leaseOf = (token: string, grant: LeaseGrant): WorkerLease => {
    const { workerId, ceilingMs: haveMs, mark } = grant;
    return { ...request(token), workerId, nonceNext: 'n2', haveMs, mark: mark! };
  };
  return { moment, store, support, request, acquire, hold, leaseOf };
}

/** The same rows, written by another client. */
function through(store: MapStore, write: RowStore['write']): RowStore {
  const { location, lossWindowMs } = store;
  const read: RowStore['read'] = (question) => store.read(question);
  return { location, lossWindowMs, read, readAll: () => store.readAll(), write };
}

function granted(answer: LeaseAnswer): LeaseGrant {
  expect(answer.status).toBe('ok');
  return answer as LeaseGrant;
}

describe('a registry over rows', () => {
  it('grants the worker ID of a deleted row only after all that the row could have granted', async () => {
    const { store, moment, acquire, hold } = setUp();
    const { ceilingMs } = await hold('first');
    store.rows.delete('0');
    expect(await acquire('second')).toMatchObject({ status: 'wait' });
    moment.timeMs += TTL_MS;
    expect(granted(await acquire('second')).floorMs).toBeGreaterThanOrEqual(ceilingMs);
  });

  it('detects a deleted row at a renewal, and drops no range', async () => {
    const { store, support, moment, acquire, hold, leaseOf } = setUp();
    const grant = await hold('first');
    store.rows.delete('0');
    expect(await support.refreshAlive(leaseOf('first', grant))).toMatchObject({
      status: 'unknown',
    });
    moment.timeMs += 2 * TTL_MS;
    expect(granted(await acquire('second')).floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
  });

  it('counts no deletion if rows were never created', async () => {
    const { store, acquire, hold } = setUp(100);
    await hold('first');
    const eraOf = () => JSON.parse(store.rows.get(HEADER_KEY)!.text).era;
    const era = eraOf();
    for (let n = 0; n < 100; n++) granted(await acquire(`other ${n}`));
    expect(eraOf()).toBe(era);
  });

  it('continues no range across a lost header, even in an equal era', async () => {
    const { store, support, acquire, hold, leaseOf } = setUp(1);
    const grant = await hold('first');
    store.rows.delete(HEADER_KEY);
    await acquire('second');
    const answer = await support.refreshAlive(leaseOf('first', grant));
    expect(answer).toMatchObject({ status: 'hold' });
  });

  it('refuses the write of a process that saw an empty store long ago', async () => {
    const { store, moment, request, acquire } = setUp();
    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let stands: () => void = () => undefined;
    const standing = new Promise<void>((resolve) => (stands = resolve));
    const late = through(store, async (write) => {
      // Only the parts of a registry, not the blank header before it.
      if (write.header !== undefined && write.header.text !== '{}') {
        stands();
        await gate;
      }
      return store.write(write);
    });
    const slow = new RegistrySupport(late).getNextWorkId(request('slow'));
    await standing;
    moment.timeMs += 60_000;
    await acquire('fast');
    moment.timeMs += TTL_MS + 2000;
    const { ceilingMs } = granted(await acquire('fast'));
    store.rows.clear();
    goOn();
    expect(await slow).toMatchObject({ status: 'wait' });
    moment.timeMs += TTL_MS + 2000;
    expect(granted(await acquire('next')).floorMs).toBeGreaterThanOrEqual(ceilingMs);
  });

  it('keeps the ceiling of a row with an unreadable holder', async () => {
    const { store, moment, acquire, hold } = setUp();
    const { ceilingMs } = await hold('first');
    store.rows.set('0', { ...store.rows.get('0')!, text: '{"nonce":1' });
    expect(await acquire('second')).toMatchObject({ status: 'none-free' });
    moment.timeMs = ceilingMs;
    expect(granted(await acquire('second')).floorMs).toBe(ceilingMs);
  });

  it('refuses a row whose number is not a time, and grants nothing from it', async () => {
    const { store, acquire, hold } = setUp();
    await hold('first');
    store.rows.set('0', { ...store.rows.get('0')!, number: 2n ** 60n });
    const asked = acquire('second');
    await expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
  });

  it.each(['[]', 'null', '"1"', '{"version":"2"}', '{"version":2}', 'no JSON'])(
    'refuses the header %s, and writes nothing',
    async (text) => {
      const { store, acquire, hold } = setUp();
      await hold('first');
      store.rows.set(HEADER_KEY, { ...store.rows.get(HEADER_KEY)!, text });
      const before = structuredClone(store.rows);
      const asked = acquire('second');
      await expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect(store.rows).toEqual(before);
    },
  );

  it('gives up with an error if every write is refused', async () => {
    const { store, request } = setUp();
    const deaf = through(store, async () => false);
    const asked = new RegistrySupport(deaf, { random: () => 0 }).getNextWorkId(request('any'));
    await expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  });

  it('creates a registry whose creator died, however early each call is repeated', async () => {
    const { store, request } = setUp();
    const time = new SettableTime(T0);
    store.rows.set(HEADER_KEY, { key: HEADER_KEY, number: 0n, text: '{}', version: 5 });
    const support = new RegistrySupport(store, { timers: time, random: () => 0.99 });
    for (let callCount = 0; callCount < 40; callCount++) {
      void support.getNextWorkId(request('repeated')).catch(() => undefined);
      await time.advance(200);
    }
    expect(store.rows.get(HEADER_KEY)!.text).not.toBe('{}');
  });

  it('leases as many worker IDs as a fleet requests at once, and drops no request', async () => {
    const { moment, acquire } = setUp(199);
    await acquire('begins it');
    moment.timeMs += 2 * TTL_MS;
    const all = Array.from({ length: 200 }, (_, n) => acquire(`herd ${n}`));
    const workerIds = (await Promise.all(all)).map((answer) => granted(answer).workerId);
    expect(new Set(workerIds).size).toBe(200);
  });

  it('lists leased rows to an operator, but not the waiting ones', async () => {
    const { store, hold } = setUp(9);
    const { workerId } = await hold('first');
    const view = await new RowInspector(store, 'a Map', 'rows').read();
    expect(view.workers).toMatchObject([
      { workerId, holder: { host: 'h', application: 'a', version: '1.2.3' } },
    ]);
    expect(view.facts).toMatchObject({ fingerprint: 'f', era: 1 });
    expect(view.proofOf(workerId)).toMatchObject({ token: 'first', nonce: 'n' });
  });
});

// Concurrent reads of one process share a statement, and none gets an answer from before its call.

describe('reads that arrive during another read', () => {
  const manyKeys = (count: number, first = 0) =>
    Array.from({ length: count }, (_, at) => String(first + at));

  /** A store that answers when the test permits, with the number of the request. */
  function setUpReads() {
    const time = new SettableTime();
    const asked: { query: SharedQuery; answer: (error?: Error) => void }[] = [];
    const ask = (query: SharedQuery) =>
      new Promise<number>((resolve, reject) => {
        const number = asked.length;
        const answer = (error?: Error) => (error === undefined ? resolve(number) : reject(error));
        asked.push({ query, answer });
      });
    const reads = new SharedReads(ask, time);
    const askedSoFar = async () => {
      await turn();
      return asked.map(({ query }) => query.keys.length + query.tokens.length);
    };
    return { time, asked, reads, askedSoFar };
  }

  it('share the next one, which is sent after the last of them arrived', async () => {
    const { asked, reads, askedSoFar } = setUpReads();
    const first = reads.read({ keys: ['1', '2'], token: 't' });
    expect(await askedSoFar()).toEqual([3]);
    const later = [
      reads.read({ keys: ['2', '3'], token: 'u' }),
      reads.read({ keys: ['3', '4'], token: 't' }),
    ];
    expect(await askedSoFar()).toEqual([3]);
    asked[0]!.answer();
    expect(await first).toBe(0);
    expect(await askedSoFar()).toEqual([3, 5]);
    const latest = reads.read({ keys: ['2'] });
    asked[1]!.answer();
    expect(await Promise.all(later)).toEqual([1, 1]);
    await askedSoFar();
    asked[2]!.answer();
    expect(await latest).toBe(2);
  });

  it('receive no error of an earlier read', async () => {
    const { asked, reads, askedSoFar } = setUpReads();
    const first = reads.read({ keys: ['1'] });
    await askedSoFar();
    const second = reads.read({ keys: ['1'] });
    asked[0]!.answer(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    await askedSoFar();
    asked[1]!.answer();
    expect(await second).toBe(1);
  });

  it('wait only a moment for a read that hangs', async () => {
    const { time, asked, reads, askedSoFar } = setUpReads();
    void reads.read({ keys: ['1'] });
    await askedSoFar();
    const second = reads.read({ keys: ['1'] });
    await time.advance(49);
    expect(await askedSoFar()).toEqual([1]);
    await time.advance(1);
    expect(await askedSoFar()).toEqual([1, 1]);
    asked[1]!.answer();
    expect(await second).toBe(1);
  });

  it('are limited to the size of a transaction; the rest are sent separately', async () => {
    const { reads, askedSoFar } = setUpReads();
    void reads.read({ keys: manyKeys(1000) });
    void reads.read({ keys: manyKeys(60) });
    void reads.read({ keys: manyKeys(30, 60), token: 't' });
    void reads.read({ keys: manyKeys(30, 90) });
    expect(await askedSoFar()).toEqual([1000, 91, 30]);
  });
});

// When a waiting caller returns to a store whose clock has whole seconds only.

describe('a caller that waits for a store with whole seconds', () => {
  const resolutionMs = 1000;

  /** A store whose clock is a fraction of a second ahead of the process. */
  function setUpTicks(aheadMs: number) {
    const time = new SettableTime();
    const again = new AgainAfter({ now: () => time.passedMs });
    const store = { aheadMs: T0 + aheadMs };
    /** The current time, for an answer with this duration. */
    const read = (tripMs = 0) =>
      again.noted(async () => {
        const nowMs = store.aheadMs + time.passedMs;
        if (tripMs > 0) await time.advance(tripMs);
        return { timeMs: nowMs - (nowMs % resolutionMs), resolutionMs };
      });
    return { time, again, store, read };
  }

  it('waits for whole seconds if it has read the time once', async () => {
    const { again, read } = setUpTicks(300);
    expect(again.ms(2002, await read(), 0)).toBe(3000);
    expect(again.ms(0, await read(), 0.5)).toBe(1);
  });

  it('arrives at the tick if it read the time at the start of a second', async () => {
    const { time, again, read } = setUpTicks(300);
    await read();
    await time.advance(500);
    expect(again.ms(2002, await read(), 0)).toBe(2500);
    await time.advance(201);
    expect(again.ms(1002, await read(), 0)).toBe(2000);
    await time.advance(600);
    const found = await read();
    expect(again.ms(1002, found, 0)).toBe(1400);
    expect(again.ms(1002, found, 0.5)).toBe(1400 + 125);
  });

  it('counts a second from its first answer, however long that took', async () => {
    const { time, again, read } = setUpTicks(900);
    await read();
    await time.advance(101);
    const found = await read(700);
    expect(again.ms(1000, found, 0)).toBe(1000);
    await time.advance(200);
    expect(again.ms(1000, await read(), 0)).toBe(800);
  });

  it('waits for whole seconds again after the clock of the store was set back', async () => {
    const { time, again, store, read } = setUpTicks(0);
    await read();
    await time.advance(900);
    expect(again.ms(1000, await read(), 0)).toBe(100);
    store.aheadMs -= 400;
    await time.advance(100);
    expect(again.ms(1000, await read(), 0)).toBe(1000);
    await time.advance(400);
    expect(again.ms(1000, await read(), 0)).toBe(1000);
  });

  it('waits exactly the given time if the clock has milliseconds', async () => {
    const { time, again } = setUpTicks(0);
    const read = () => again.noted(() => Promise.resolve({ timeMs: T0 + time.passedMs }));
    await read();
    await time.advance(700);
    expect(again.ms(2002, await read(), 0)).toBe(2002);
    expect(again.ms(100, await read(), 0.5)).toBe(150);
  });
});
