/**
 * A caller's view of locks: a section under a lock, a message to the holder, the order of waiting
 * callers, and errors with their cause.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { MemoryLocks } from '../../lib/index.js';
import type { LockSection } from '../../lib/lock/held-section.js';
import type { LockEvent } from '../../lib/lock/lock-events.js';
import { DistributedLock, lockKey } from '../../lib/nest/lock/index.js';
import { codeOf, LockWorld, open } from './held-locks.js';

describe('using', () => {
  it('runs a section under a lock, returns its result, and releases', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    const value = await locks.using('a', async (section) => {
      expect(section).toMatchObject({ lock: 'a', leftMs: 10_000 });
      expect(section.token).toBeGreaterThan(0n);
      section.assertHeld();
      expect(await locks.list()).toMatchObject([{ lock: 'a', token: section.token }]);
      return 7;
    });
    expect(value).toBe(7);
    expect(await locks.list()).toEqual([]);
    expect(await world.timersLeft()).toBe(0);
  });

  it('releases if the section throws, even synchronously, and passes its error on', async () => {
    const { locks } = new LockWorld().process();
    const error = new Error('mine');
    await expect(locks.using('a', async () => Promise.reject(error))).rejects.toBe(error);
    const thrown = locks.using('a', () => {
      throw error;
    });
    await expect(thrown).rejects.toBe(error);
    expect(await locks.list()).toEqual([]);
  });

  it('reports the holder of the lock, and for how long', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process({ application: 'shop' }), world.process()];
    const end = open();
    const running = one.locks.using('a', () => end.promise);
    await world.time.advance(3000);
    const refused = other.locks.using('a', () => 1);
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_HELD', retryable: true });
    await expect(refused).rejects.toThrow(/held by .* shop, for 7000 ms/);
    expect(await other.locks.tryAcquire('a')).toBeUndefined();
    end.resolve();
    await running;
  });

  it('waits for a lock until it is released', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const end = open();
    const running = one.locks.using('a', () => end.promise);
    await world.time.advance(1);
    const waiting = other.locks.using('a', { waitMs: 2000 }, () => 'then');
    await world.time.advance(1000);
    expect(other.locks.status.waitingCount).toBe(1);
    end.resolve();
    await running;
    // A release sends a message, so no time passes.
    await world.time.advance(0);
    expect(await waiting).toBe('then');
    expect(await world.timersLeft()).toBe(0);
  });

  it('polls a store without notifications, less often the longer it waits', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const end = open();
    const running = one.locks.using('a', () => end.promise);
    await world.time.advance(1);
    other.link.face.untilReleased = async () => Promise.reject(new Error('no such channel'));
    const waiting = other.locks.using('a', { waitMs: 9000 }, () => 'then');
    await world.time.advance(8000);
    const count = other.link.countOf('acquire');
    expect(count).toBeGreaterThan(8);
    expect(count).toBeLessThan(20);
    end.resolve();
    await running;
    await world.time.advance(1000);
    expect(await waiting).toBe('then');
  });

  it('waits no longer than waitMs', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const end = open();
    const running = one.locks.using('a', () => end.promise);
    await world.time.advance(1);
    const startMs = world.time.passedMs;
    const code = await world.settled(codeOf(other.locks.using('a', { waitMs: 500 }, () => 1)), 1);
    expect(code).toBe('LOCK_HELD');
    expect(world.time.passedMs - startMs).toBeLessThan(505);
    end.resolve();
    await running;
  });

  it('serves the callers of one process in order', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    const order: number[] = [];
    let insideCount = 0;
    const callers = Array.from({ length: 20 }, (_, at) =>
      locks.using('a', { waitMs: 5000 }, async () => {
        expect(++insideCount).toBe(1);
        await new Promise<void>((resolve) => world.time.after(5, resolve));
        order.push(at);
        insideCount--;
      }),
    );
    await world.settled(Promise.all(callers), 1);
    expect(order).toEqual(Array.from({ length: 20 }, (_, at) => at));
    // No caller asks the store in vain.
    expect(link.countOf('acquire')).toBe(20);
  });

  it('refuses a caller at once if another one of the process waits or holds', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    const end = open();
    const running = locks.using('a', () => end.promise);
    expect(await codeOf(locks.using('a', () => 1))).toBe('LOCK_HELD');
    await world.time.advance(1);
    await expect(locks.using('a', () => 1)).rejects.toMatchObject({ details: { leftMs: 9999 } });
    expect(link.countOf('acquire')).toBe(1);
    end.resolve();
    await running;
    expect(await locks.using('a', () => 1)).toBe(1);
  });

  it("stops waiting with a signal's reason, before its turn and during its request", async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const end = open();
    const running = one.locks.using('a', () => end.promise);
    await world.time.advance(1);
    const stops = [new AbortController(), new AbortController()];
    const waiting = stops.map(({ signal }) =>
      other.locks.using('a', { waitMs: 60_000, signal }, () => 1),
    );
    const settled = Promise.allSettled(waiting);
    await world.time.advance(100);
    for (const stop of stops) stop.abort('enough');
    const reasons = (await settled).map((result) => 'reason' in result && result.reason);
    expect(reasons).toEqual(['enough', 'enough']);
    const late = other.locks.using('a', { signal: stops[0]!.signal }, () => 1);
    await expect(late).rejects.toBe('enough');
    end.resolve();
    await running;
    expect(await other.locks.using('a', () => 1)).toBe(1);
    expect(await world.timersLeft()).toBe(0);
  });
});

describe('a section inside a section', () => {
  it('is refused on the same lock, at any depth', async () => {
    const { locks } = new LockWorld().process();
    const inner = () => locks.using('a', { waitMs: 60_000 }, () => 1);
    const middle = () => locks.using('b', inner);
    expect(await codeOf(locks.using('a', inner))).toBe('LOCK_REENTERED');
    expect(await codeOf(locks.using('a', middle))).toBe('LOCK_REENTERED');
    expect(await locks.using('a', () => locks.using('b', () => 2))).toBe(2);
  });

  it('does not count once the outer section has ended', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    const end = open();
    let later: Promise<number> | undefined;
    await locks.using('a', () => {
      later = end.promise.then(() => locks.using('a', () => 3));
    });
    end.resolve();
    expect(await later).toBe(3);
  });

  it('is allowed on another store, whose lock names are separate', async () => {
    const [one, other] = [new LockWorld().process().locks, new LockWorld().process().locks];
    expect(await one.using('a', () => other.using('a', () => 4))).toBe(4);
    const back = () => other.using('a', () => one.using('a', () => 5));
    expect(await codeOf(one.using('a', back))).toBe('LOCK_REENTERED');
  });

  it('costs one promise, however many locks were created', async () => {
    const traces = new Set<number>();
    for (let count = 0; count < 20; count++) {
      await new LockWorld().process().locks.using('a', () => undefined);
      // Each storage that was ever used adds to every promise, up to Node 22.
      traces.add(Object.getOwnPropertySymbols(executionAsyncResource()).length);
    }
    expect(traces.size).toBe(1);
  });

  it('does not count if the sections only run at the same time', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    const both = [1, 2].map((value) => locks.using('a', { waitMs: 100 }, async () => value));
    expect(await world.settled(Promise.all(both), 1)).toEqual([1, 2]);
  });
});

describe('tryAcquire', () => {
  it('returns a lock that is released once', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    const held = (await locks.tryAcquire('a'))!;
    await world.time.advance(30_000);
    held.assertHeld();
    expect(held.leftMs).toBeGreaterThan(5000);
    await Promise.all([held.release(), held.release()]);
    await held.release();
    expect(link.countOf('release')).toBe(1);
    expect(held.leftMs).toBe(0);
    expect(() => held.assertHeld()).toThrow('it was released');
    expect(held.signal.aborted).toBe(false);
    expect(locks.status.counts).toMatchObject({ acquired: 1, released: 1, lost: 0 });
    expect(await world.timersLeft()).toBe(0);
  });

  it('throws if the store is unreachable: no holder is known', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.way = 'failing';
    await expect(locks.tryAcquire('a')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
    });
  });
});

describe('a lock with a least hold time', () => {
  it('stays closed to others after its section has ended', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    let runCount = 0;
    const tick = (locks: typeof one.locks) =>
      locks.usingOrSkip('job', { holdAtLeastMs: 60_000 }, () => ++runCount);
    expect(await tick(one.locks)).toBe(1);
    await world.time.advance(59_999);
    expect(await tick(other.locks)).toBeUndefined();
    expect(await tick(one.locks)).toBeUndefined();
    await world.time.advance(1);
    expect(await tick(other.locks)).toBe(2);
  });

  it('does not treat a refusal inside the section as its own', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const held = await other.locks.tryAcquire('inner');
    const run = one.locks.usingOrSkip('job', {}, () => one.locks.using('inner', () => 1));
    expect(await codeOf(run)).toBe('LOCK_HELD');
    await held!.release();
  });
});

describe('options', () => {
  const { locks } = new LockWorld().process({ ttlMs: 5000, longestTtlMs: 20_000 });

  it.each([
    ['a lock without a name', '', {}],
    ['a name with spaces', 'a b', {}],
    ['a ttl too long for the namespace', 'a', { ttlMs: 20_001 }],
  ])('%s is refused', async (_name, lock, options) => {
    expect(await codeOf(locks.using(lock, options, () => 1))).toBe('ARGUMENT_INVALID');
  });

  it('names every fault of a process at once', () => {
    const make = () => new LockWorld().process({ ttlMs: 1, callTimeoutMs: 1, drainMs: -1 });
    expect(make).toThrow(/ttlMs.*callTimeoutMs.*drainMs/s);
  });
});

describe('status and listeners', () => {
  it('report locks held, waited for, refused, lost and released', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const events: LockEvent[] = [];
    const stop = one.locks.listen((event) => void events.push(event));
    const held = (await other.locks.tryAcquire('a'))!;
    await codeOf(one.locks.using('a', () => 1));
    one.link.way = 'failing';
    await codeOf(one.locks.using('b', () => 1));
    one.link.way = 'open';
    const end = open();
    const running = one.locks.using('c', () => end.promise);
    await world.time.advance(5);
    const { token } = (await one.locks.list()).find(({ lock }) => lock === 'c')!;
    expect(one.locks.status).toMatchObject({
      location: 'a test',
      held: [{ lock: 'c', token, heldMs: 5, leftMs: 9995 }],
      waitingCount: 0,
      counts: { acquired: 1, refused: 1, unavailable: 1, lost: 0, released: 0 },
    });
    end.resolve();
    await running;
    stop();
    await held.release();
    await one.locks.using('d', () => 1);
    expect(events.map(({ kind, lock }) => `${kind} ${lock}`)).toEqual([
      'refused a',
      'unavailable b',
      'acquired c',
      'released c',
    ]);
  });
});

/*
 * A key of foreign strings becomes the name of a lock, whatever they contain, and two keys never
 * share a name. A missing part and an invalid name are refused, with the position and the reason.
 */
const TEXTS = [
  'a b',
  'a%20b',
  'a|b',
  'a:b',
  'a/b',
  'null',
  'undefined',
  'NaN',
  '%6eull',
  '-null-',
  'x'.repeat(200),
  'x'.repeat(201),
  '\u001b[31m',
  'a\u202eb',
  '\ud83d\ude00'.repeat(100),
  'grün',
];

describe('the clocks of a request', () => {
  it.each([
    [NaN, 0],
    [Infinity, 0],
    [1_800_000_000_000.5, 0],
    [1_800_000_000_000, -5_000_000.5],
  ])('are complete if the store answers %s and the host shows %s', async (nowMs, hostMs) => {
    const store = new MemoryLocks();
    const acquire = async (request: Parameters<typeof store.acquire>[0]) => {
      return { ...(await store.acquire(request)), nowMs, timeMs: nowMs };
    };
    const odd = new Proxy(store, {
      get: (of, name) => {
        if (name === 'acquire') return acquire;
        const member: unknown = Reflect.get(of, name);
        return typeof member === 'function' ? member.bind(of) : member;
      },
    });
    const locks = new DistributedLock(odd, { clock: { now: () => hostMs } });
    for (let count = 0; count < 3; count++) {
      expect(await locks.using('order:7', () => count)).toBe(count);
    }
    await locks.close();
  });
});

describe('lockKey', () => {
  it.each(TEXTS)('builds a name from %j', async (text) => {
    const locks = new DistributedLock(new MemoryLocks());
    const key = lockKey`mail:${text}`;
    expect(await locks.using(key, async ({ lock }) => lock)).toBe(key);
    expect(key).not.toMatch(/(^|[^\p{L}\p{N}_])(undefined|null|NaN)($|[^\p{L}\p{N}_])/u);
    expect(key).not.toMatch(/\p{Cs}/u);
  });

  it('builds no name for two different inputs', () => {
    const one = TEXTS.map((text) => lockKey`mail:${text}`);
    const two = TEXTS.flatMap((a) => TEXTS.map((b) => lockKey`mail:${a}:${b}`));
    expect(new Set([...one, ...two]).size).toBe(one.length + two.length);
  });

  it('keeps readable text as it is', () => {
    expect(lockKey`order:${7}:${8n}:${'anna@example.com'}`).toBe('order:7:8:anna@example.com');
  });

  it.each([[undefined], [null], [NaN], [''], [{}], [true]])('refuses %j as a part', (part) => {
    const make = () => lockKey`order:${7}:${part as string}`;
    expect(make).toThrow(/Part 2 of the key/);
  });

  it.each(['\ud800', '\udc00', '\ud83d\ude00\ud83d'])(
    'refuses half a surrogate pair: %j',
    (text) => {
      const make = () => lockKey`order:${7}:${`ab${text}`}`;
      const at = text.length + 2;
      expect(make).toThrow(`Part 2 of the key of a lock has half of a surrogate pair at ${at}`);
      expect(make).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }));
    },
  );
});

describe('an invalid name', () => {
  it.each([
    ['', 'got 0.'],
    ['x'.repeat(129), 'got 129.'],
    ['a b', 'got 3, number 2 of them is U+0020.'],
    ['ab|', 'got 3, number 3 of them is U+007C.'],
    ['\u001b', 'got 1, number 1 of them is U+001B.'],
    ['a\u202eb', 'got 3, number 2 of them is U+202E.'],
  ])('%j is refused: %s', async (name, reason) => {
    const locks = new DistributedLock(new MemoryLocks());
    const refused = locks.using(name, () => 1);
    await expect(refused).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    await expect(refused).rejects.toThrow(reason);
  });
});

/*
 * A section that hangs keeps its lock only until its end, if one is set. Without one, a log line
 * reports it.
 */
const TTL_MS = 9000;
const AT_MOST = { holdAtMostMs: 60_000 };

async function hanging(options: object) {
  const world = new LockWorld();
  const { locks, link } = world.process({ ttlMs: TTL_MS });
  const begun = open<LockSection>();
  const end = open();
  const events: LockEvent[] = [];
  locks.listen((event) => void events.push(event));
  const ran = locks.using('job', options, async (section) => {
    begun.resolve(section);
    await end.promise;
  });
  ran.catch(() => undefined);
  return { world, locks, link, events, ran, end, section: await begun.promise };
}

describe('a section with a maximum duration', () => {
  it('is aborted when the time is over, and others get its lock at that moment', async () => {
    const { world, link, events, ran, end, section } = await hanging(AT_MOST);
    await world.time.advance(59_999);
    expect([section.signal.aborted, section.leftMs]).toEqual([false, 1]);
    await world.time.advance(1);
    expect(section.signal.reason).toMatchObject({
      code: 'LOCK_LOST',
      details: { reason: 'limit' },
    });
    expect(section.leftMs).toBe(0);
    expect(events).toContainEqual({ kind: 'lost', lock: 'job', reason: 'limit' });
    expect(await world.process().locks.using('job', () => 'next')).toBe('next');
    const count = link.countOf('extend');
    await world.time.advance(TTL_MS);
    expect(link.countOf('extend')).toBe(count);
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
    expect(await world.timersLeft()).toBe(0);
  });

  it('learns it from its own check, even if no timer has fired', async () => {
    const { world, section, end, ran } = await hanging(AT_MOST);
    await world.time.advance(57_000);
    world.time.wallMs += 3000;
    expect(() => section.assertHeld()).toThrow('`holdAtMostMs`');
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });

  it('continues if it ends in time', async () => {
    const { world, section, end, ran } = await hanging(AT_MOST);
    await world.time.advance(50_000);
    end.resolve();
    await ran;
    expect(section.signal.aborted).toBe(false);
    expect(await world.timersLeft()).toBe(0);
  });

  it.each([
    [{ holdAtMostMs: 99 }],
    [{ holdAtMostMs: 86_400_001 }],
    [{ holdAtMostMs: 5000, holdAtLeastMs: 5001 }],
    [{ holdAtMostMs: Infinity }],
  ])('cannot have this value: %j', async (options) => {
    const { locks } = new LockWorld().process();
    const refused = locks.using('job', options, () => 1);
    expect(await codeOf(refused)).toBe('ARGUMENT_INVALID');
    await expect(refused).rejects.toThrow('holdAtMostMs');
  });
});

describe('a section that runs for a long time', () => {
  it('is logged at ten times its ttl, and each time that has doubled', async () => {
    const { world, events, end, ran } = await hanging({});
    await world.time.advance(TTL_MS * 45);
    const told = events.flatMap((event) => (event.kind === 'long' ? [event.heldMs / TTL_MS] : []));
    expect(told).toEqual([10, 20, 40]);
    end.resolve();
    await ran;
  });
});
