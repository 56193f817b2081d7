/**
 * A holder detects the end of its lock, whatever happens to the store, the network and the clocks,
 * and no rejection stays unhandled.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MemoryLocks, SnowflakeError } from '../../lib/index.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockSection } from '../../lib/lock/held-section.js';
import { turn } from '../../lib/time/timers.js';
import { codeOf, LockWorld, open, type Way } from './held-locks.js';

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));

const TTL_MS = 9000;

/** A section that runs until the test ends it. */
async function running(world = new LockWorld(), options = {}) {
  const { locks, link } = world.process({ ttlMs: TTL_MS, ...options });
  const end = open();
  const begun = open<LockSection>();
  const ran = locks.using('a', async (section) => {
    begun.resolve(section);
    await end.promise;
    return 'done';
  });
  // The test checks its result later.
  ran.catch(() => undefined);
  return { world, locks, link, end, ran, section: await begun.promise };
}

describe('a held lock', () => {
  it('is extended as long as its section runs', async () => {
    const { world, link, end, ran, section } = await running();
    for (let count = 0; count < 100; count++) {
      await world.time.advance(1000);
      expect(section.leftMs).toBeGreaterThan(TTL_MS / 2);
    }
    expect(link.countOf('extend')).toBe(Math.floor(100_000 / (TTL_MS / 3)));
    expect(await world.store.locks()).toMatchObject([{ lock: 'a', token: section.token }]);
    end.resolve();
    expect(await ran).toBe('done');
  });

  it('survives a short outage of the store', async () => {
    const { world, link, end, ran, section } = await running();
    await world.time.advance(2999);
    link.way = 'failing';
    await world.time.advance(5000);
    expect(link.countOf('extend')).toBeGreaterThan(2);
    link.way = 'open';
    await world.time.advance(2000);
    expect(section.leftMs).toBeGreaterThan(TTL_MS - 3000);
    end.resolve();
    expect(await ran).toBe('done');
  });

  it('is extended although every first answer arrives too late', async () => {
    const { world, link, end, ran, section } = await running();
    link.delayMs = 2500;
    await world.time.advance(60_000);
    expect(section.signal.aborted).toBe(false);
    end.resolve();
    await world.settled(ran);
    expect(await ran).toBe('done');
  });

  it.each<Way>(['hanging', 'deaf', 'failing'])(
    'ends at its deadline, before the store ends it, if the store is %s',
    async (way) => {
      const { world, locks, link, end, ran, section } = await running();
      await world.time.advance(1);
      link.way = way;
      const lastMs = TTL_MS - 1;
      await world.time.advance(lastMs - 1);
      expect(section.signal.aborted).toBe(false);
      section.assertHeld();
      await world.time.advance(1);
      expect(section.signal.aborted).toBe(true);
      expect(section.signal.reason).toMatchObject({ code: 'LOCK_LOST', retryable: false });
      expect(() => section.assertHeld()).toThrow('no longer held: its time was over');
      expect(locks.status).toMatchObject({ held: [], counts: { lost: 1 } });
      end.resolve();
      expect(await codeOf(ran)).toBe('LOCK_LOST');
      expect(world.time.timerCount).toBeLessThan(3);
      await world.time.advance(5000);
      expect(await world.timersLeft()).toBe(0);
    },
  );

  it('ends at the next extension if the store has lost it', async () => {
    const { world, link, end, ran, section } = await running();
    await world.store.release({ lock: 'a', holder: link.holder, token: section.token });
    await world.time.advance(TTL_MS / 3);
    expect(section.signal.reason).toMatchObject({ details: { reason: 'store' } });
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });
});

describe('a paused process', () => {
  it('detects on waking that its lock is lost, before any timer has fired', async () => {
    const { world, end, ran, section } = await running();
    world.time.wallMs += TTL_MS;
    expect(section.leftMs).toBe(0);
    expect(() => section.assertHeld()).toThrow('its time was over');
    expect(section.signal.aborted).toBe(true);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });

  it('detects it even if its section has already returned', async () => {
    const { world, end, ran, section } = await running();
    end.resolve();
    world.time.wallMs += TTL_MS;
    expect(await codeOf(ran)).toBe('LOCK_LOST');
    expect(section.signal.aborted).toBe(true);
  });

  it('does not regain its lock by an answer that arrives before any timer has fired', async () => {
    const { world, link, end, ran, section } = await running();
    link.delayMs = 100;
    await world.time.advance(TTL_MS / 3);
    expect(link.countOf('extend')).toBe(1);
    world.time.wallMs += (TTL_MS / 3) * 2;
    expect(section.leftMs).toBe(0);
    await world.time.advance(100);
    expect([section.leftMs, section.signal.aborted]).toEqual([0, true]);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });

  it('has an older token than the next holder', async () => {
    const world = new LockWorld();
    const { end, ran, section } = await running(world);
    world.time.wallMs += TTL_MS;
    const other = world.process();
    const token = await other.locks.using('a', (next) => next.token);
    expect(token).toBeGreaterThan(section.token);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });
});

describe('clocks', () => {
  it('set forward end a lock sooner, never later', async () => {
    const { world, end, ran, section } = await running();
    world.time.wallMs += TTL_MS - 1000;
    expect(section.leftMs).toBe(1000);
    end.resolve();
    expect(await ran).toBe('done');
  });

  it('set back do not make a lock last longer', async () => {
    const world = new LockWorld();
    const { link, end, ran, section } = await running(world);
    link.way = 'hanging';
    world.time.wallMs -= 3_600_000;
    await world.time.advance(TTL_MS - 1);
    expect(section.signal.aborted).toBe(false);
    await world.time.advance(1);
    expect(section.signal.aborted).toBe(true);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });

  it('count a slow answer from before its request', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process({ ttlMs: TTL_MS });
    link.delayMs = 1500;
    const held = await world.settled(locks.tryAcquire('a'), 1);
    expect(held!.leftMs).toBe(TTL_MS - 1500);
    link.delayMs = 0;
    await held!.release();
  });
});

describe('an acquire call', () => {
  it('ignores answers that arrive after its time', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process({ ttlMs: 1000 });
    link.delayMs = 1200;
    const code = await world.settled(codeOf(locks.tryAcquire('a')));
    expect(code).toBe('STORE_UNAVAILABLE');
    await world.time.advance(5000);
    expect(await world.store.locks()).toEqual([]);
  });

  it('gets the same lock again if its answer was lost', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.way = 'deaf';
    const waiting = locks.tryAcquire('a', { waitMs: 5000 });
    await world.time.advance(1000);
    const { token } = (await world.store.locks())[0]!;
    link.way = 'open';
    const held = await world.settled(waiting);
    expect(held!.token).toBe(token);
    await held!.release();
  });

  it('releases a possible grant if it ends without an answer', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.way = 'deaf';
    expect(await world.settled(codeOf(locks.tryAcquire('a')))).toBe('STORE_UNAVAILABLE');
    await world.time.advance(0);
    expect(await world.store.locks()).toEqual([]);
  });

  it("ends with the store's last answer", async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const held = await other.locks.tryAcquire('a');
    const waiting = codeOf(one.locks.using('a', { waitMs: 3000 }, () => 1));
    await world.time.advance(500);
    one.link.way = 'failing';
    expect(await world.settled(waiting)).toBe('STORE_UNAVAILABLE');
    await held!.release();
  });

  it.each([
    [true, [3, 100]],
    [false, [1, 1]],
  ])('retries if that may help: %s', async (retryable, [leastCount, mostCount]) => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    let askedCount = 0;
    link.face.acquire = async () => {
      askedCount++;
      throw new SnowflakeError('STORE_UNAVAILABLE', 'wrong password', { retryable });
    };
    const refused = locks.using('a', { waitMs: 1000 }, () => 1);
    refused.catch(() => undefined);
    await expect(world.settled(refused)).rejects.toThrow('wrong password');
    expect(askedCount).toBeGreaterThanOrEqual(leastCount!);
    expect(askedCount).toBeLessThanOrEqual(mostCount!);
  });

  it('reports how long a store that has lost data grants nothing', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.face.acquire = async () => ({ status: 'wait', waitMs: 3000 });
    const refused = locks.using('a', { waitMs: 2999 }, () => 1);
    await expect(refused).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { waitMs: 3000 },
    });
    const startMs = world.time.passedMs;
    const patient = locks.using('a', { waitMs: 3500 }, () => 'then');
    link.face.acquire = (request) => world.store.acquire(request);
    expect(await world.settled(patient, 1)).toBe('then');
    expect(world.time.passedMs - startMs).toBeLessThan(3010);
  });
});

describe('a release', () => {
  it.each<Way>(['hanging', 'deaf', 'failing'])(
    'does not fail a section if the store is %s',
    async (way) => {
      const { world, locks, link, end, ran } = await running();
      link.way = way;
      end.resolve();
      expect(await world.settled(ran)).toBe('done');
      expect(locks.status).toMatchObject({ held: [], counts: { released: 1 } });
    },
  );
});

describe('a shutdown', () => {
  it('refuses new and waiting callers, waits for holders, releases, and closes', async () => {
    const { world, locks, link, end, ran } = await running();
    const waiting = codeOf(locks.using('a', { waitMs: 60_000 }, () => 1));
    const other = world.process();
    const held = await other.locks.tryAcquire('b');
    const asking = codeOf(locks.using('b', { waitMs: 60_000 }, () => 1));
    await world.time.advance(10);
    const closed = locks.close();
    expect(locks.close()).toBe(closed);
    expect([await waiting, await asking]).toEqual(['NOT_READY', 'NOT_READY']);
    expect(await codeOf(locks.using('c', () => 1))).toBe('NOT_READY');
    await world.time.advance(4000);
    expect(link.isClosed).toBe(false);
    end.resolve();
    expect(await ran).toBe('done');
    await closed;
    expect(link.isClosed).toBe(true);
    expect((await world.store.locks()).map(({ lock }) => lock)).toEqual(['b']);
    await held!.release();
    expect(await world.timersLeft()).toBe(0);
  });

  it('closes at once if nothing is held', async () => {
    const { locks, link } = new LockWorld().process();
    await locks.close();
    expect(link.isClosed).toBe(true);
  });

  it('gives a section that does not end its full time', async () => {
    const { world, locks, link, end, ran, section } = await running(undefined, { drainMs: 4000 });
    const closed = locks.close();
    await world.time.advance(4000);
    await closed;
    expect(link.isClosed).toBe(true);
    expect(section.signal.aborted).toBe(false);
    await world.time.advance(TTL_MS);
    expect(section.signal.aborted).toBe(true);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
    expect(await world.timersLeft()).toBe(0);
  });

  it('releases sections that end later, and leaves no connection open', async () => {
    const { world, locks, link, end, ran } = await running(undefined, { drainMs: 0 });
    await world.settled(locks.close());
    expect(link.isClosed).toBe(true);
    end.resolve();
    expect(await ran).toBe('done');
    expect(link.isClosed).toBe(true);
    expect(await world.store.locks()).toEqual([]);
  });

  it('waits for drainMs at most, less the time of an earlier drain', async () => {
    const { world, locks } = await running(undefined, { drainMs: 4000 });
    const drained = locks.drain();
    await world.time.advance(4000);
    expect(await drained).toBe(0);
    let isClosed = false;
    const closed = locks.close(await drained).then(() => (isClosed = true));
    await world.time.advance(1);
    expect(isClosed).toBe(true);
    await closed;
  });

  it('waits for the rest of drainMs that a drain has left', async () => {
    const { world, locks, end, ran } = await running(undefined, { drainMs: 4000 });
    const drained = locks.drain();
    await world.time.advance(1000);
    end.resolve();
    await ran;
    expect(await drained).toBe(3000);
    expect(await locks.drain()).toBe(4000);
  });

  it('leaves no connection open for a later list', async () => {
    const { locks, link } = new LockWorld().process();
    await locks.close();
    expect(await locks.list()).toEqual([]);
    expect(link.isClosed).toBe(true);
  });

  it('leaves no connection open if an answer arrives later', async () => {
    const { world, locks, link, end, ran } = await running(undefined, { drainMs: 0 });
    link.delayMs = 100;
    await world.time.advance(TTL_MS / 3);
    link.isClosed = false;
    await world.settled(locks.close());
    // During its work, a store may lose its connection and open another one.
    link.isClosed = false;
    await world.time.advance(100);
    expect(link.isClosed).toBe(true);
    end.resolve();
    expect(await world.settled(ran)).toBe('done');
  });

  it('releases locks that are granted meanwhile', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.delayMs = 300;
    const asking = codeOf(locks.using('a', () => 1));
    await world.time.advance(10);
    const closed = locks.close();
    await world.settled(closed);
    expect(await asking).toBe('NOT_READY');
    expect(await world.store.locks()).toEqual([]);
    expect(link.isClosed).toBe(true);
  });
});

describe('a lock without any reference to it', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  async function kept(hold: (locks: DistributedLock) => Promise<unknown>) {
    const world = new LockWorld();
    const { locks, link } = world.process({ ttlMs: TTL_MS });
    const found = await hold(locks);
    const seen = () => link.countOf('extend');
    for (let count = 0; count < 10; count++) {
      collect();
      await turn();
    }
    const before = seen();
    await world.time.advance(TTL_MS);
    const { held } = locks.status;
    return { found, isExtended: seen() > before, heldCount: held.length };
  }

  it('ends with a warning', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    const { isExtended, heldCount } = await kept(async (locks) => {
      await locks.acquire('a');
      await locks.acquireAll(['b', 'c']);
    });
    expect([isExtended, heldCount]).toEqual([false, 0]);
    const texts = warned.mock.calls.map(([text]) => String(text)).toSorted();
    expect(texts.map((text) => text.slice(0, 30))).toEqual(
      ['a', 'b', 'c'].map((lock) => `The lock ${lock} was acquired, and nob`.slice(0, 30)),
    );
    warned.mockRestore();
  });

  it.each(['release', 'assertHeld'] as const)('is kept by its %s alone', async (name) => {
    const { found, isExtended, heldCount } = await kept(
      async (locks) => (await locks.acquire('a'))[name],
    );
    expect([typeof found, isExtended, heldCount]).toEqual(['function', true, 1]);
  });

  it('is released by `await using`', async () => {
    const locks = new DistributedLock(new MemoryLocks());
    const both = await locks.acquireAll(['b', 'c']);
    for (const held of [await locks.acquire('a'), both]) await held[Symbol.asyncDispose]();
    expect(await locks.list()).toEqual([]);
  });
});

describe('many listeners', () => {
  it('are one for many callers under one signal', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    await world.process().locks.acquireAll(['a', 'b', 'c'], { ttlMs: 10_000 });
    const { signal } = new AbortController();
    const add = jest.spyOn(signal, 'addEventListener');
    const calls = ['a', 'b', 'c'].map((lock) =>
      codeOf(locks.using(lock, { waitMs: 9, signal }, open)),
    );
    expect(await world.settled(Promise.all(calls))).toEqual(calls.map(() => 'LOCK_HELD'));
    expect(add).toHaveBeenCalledTimes(1);
  });

  // Node warns about more than ten listeners on a signal, and a warning fails a test.
  it('print no warning if one caller waits for many permits', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const permits = 20;
    const names = Array.from({ length: permits }, () => one.locks.acquire('a', { permits }));
    const held = await Promise.all(names);
    const waiting = other.locks.acquire('a', { permits, waitMs: 5000 });
    await world.time.advance(1000);
    await held[7]!.release();
    expect((await world.settled(waiting)).permit).toBe(held[7]!.permit);
  });
});

describe('all cases above', () => {
  it('leave no rejection unhandled', async () => {
    await turn();
    expect(unhandled).toEqual([]);
  });
});
