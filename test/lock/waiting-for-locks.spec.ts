/**
 * A caller that waits for a lock without messages is not left behind. It polls often while the lock
 * changes hands, and learns of missed releases.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { LATER_MS, Releases, type ReleaseMessages } from '../../lib/lock/releases.js';
import { SettableTime } from '../../lib/testing/index.js';
import { MemoryLocks } from '../../lib/index.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockEvent } from '../../lib/lock/lock-events.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { PERMIT_MUTANTS } from '../mutants/lock-mutants.mjs';
import { codeOf, LockWorld, open, PERMIT_CASES, SEVERAL_CASES } from './held-locks.js';

describe('a caller without notifications', () => {
  it('polls as often as at first when the lock has changed hands', async () => {
    const world = new LockWorld();
    const [one, other, last] = [world.process(), world.process(), world.process()];
    other.link.face.untilReleased = async () => Promise.reject(new Error('no such channel'));
    const ends = [open(), open()];
    const first = one.locks.using('a', () => ends[0]!.promise);
    await world.time.advance(1);
    const waiting = other.locks.using('a', { waitMs: 60_000 }, () => 'then');
    await world.time.advance(8000);
    ends[0]!.resolve();
    await first;
    // Another caller was faster between two polls.
    const second = last.locks.using('a', () => ends[1]!.promise);
    await world.time.advance(8000);
    ends[1]!.resolve();
    await second;
    expect(await world.settled(waiting)).toBe('then');
    const acquires = other.link.asked.filter(({ call }) => call === 'acquire');
    const askedMs = acquires.map(({ atMs }) => atMs);
    const pauses = askedMs.slice(1).map((ms, at) => ms - askedMs[at]!);
    // It doubles to a second, two times.
    expect(pauses.filter((ms) => ms <= 50)).toHaveLength(2);
    expect(pauses.filter((ms) => ms <= 100)).toHaveLength(4);
  });
});

describe('a caller of a store without notifications', () => {
  it.each([20, 200, 2000])(
    'polls within 5 ms plus a quarter of the hold of %d ms',
    async (holdMs) => {
      const world = new LockWorld();
      const [one, other] = [world.process({}, false), world.process({}, false)];
      const end = open();
      const first = one.locks.using('a', () => end.promise);
      await world.time.advance(1);
      const waiting = other.locks.using('a', { waitMs: 60_000 }, () => world.time.passedMs);
      await world.time.advance(holdMs);
      const endedMs = world.time.passedMs;
      end.resolve();
      await first;
      expect((await world.settled(waiting, 1)) - endedMs).toBeLessThanOrEqual(5 + holdMs / 4);
      const asked = other.link.asked.filter(({ call }) => call === 'acquire').length;
      expect(asked).toBeLessThan(10 * Math.log10(holdMs));
    },
  );
});

describe('a caller of a slow store without notifications', () => {
  it('pauses for two times as long as the store takes to answer', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process({}, false), world.process({}, false)];
    await one.locks.acquire('a');
    other.link.delayMs = 40;
    const waiting = codeOf(other.locks.acquire('a', { waitMs: 600 }));
    expect(await world.settled(waiting, 1)).toBe('LOCK_HELD');
    const asked = other.link.asked.filter(({ call }) => call === 'acquire').length;
    expect([asked > 3, asked <= 6]).toEqual([true, true]);
  });
});

describe('several processes that poll at once', () => {
  /** How often each process had the lock in a minute. */
  const turnsOf = async (isTold: boolean, holdMs: number) => {
    const world = new LockWorld();
    const counts = [0, 0, 0, 0];
    let at = 0;
    const wanted = counts.map(async (_, of) => {
      // Different jitter each time, and the same in each run.
      const random = () => (at = (at + 0.618) % 1);
      const { locks } = world.process({ random }, isTold);
      while (world.time.passedMs < 60_000) {
        await locks.using('a', { waitMs: 60_000 }, async () => {
          counts[of]!++;
          await new Promise<void>((resolve) => world.time.after(holdMs, resolve));
        });
      }
    });
    await world.settled(Promise.all(wanted), 1);
    return counts;
  };

  it.each([
    [true, 700],
    [true, 20],
    [false, 700],
    [false, 20],
  ])('all get the lock after a notified release: %s, held for %d ms', async (isTold, holdMs) => {
    const counts = await turnsOf(isTold, holdMs);
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 4);
  });
});

describe('a process without competitors', () => {
  it('requests a lock that it held for long a moment later, and any other at once', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    const heldFor = (ms: number) =>
      locks.using('a', { waitMs: 5000 }, async () => {
        await new Promise<void>((resolve) => world.time.after(ms, resolve));
        return world.time.passedMs;
      });
    const waitedMs = async (ms: number) => {
      const endMs = await world.settled(heldFor(ms), 1);
      const nextMs = world.settled(heldFor(0), 1);
      return (await nextMs) - endMs;
    };
    expect(await waitedMs(499)).toBe(0);
    expect(await waitedMs(5000)).toBe(25);
    // A caller that does not wait is never delayed.
    await world.settled(heldFor(5000), 1);
    expect(await locks.using('a', () => 'at once')).toBe('at once');
  });
});

describe('thousands of callers in one process', () => {
  it('yield to other work as they arrive and leave', async () => {
    const COUNT = 2000;
    const locks = new DistributedLock(new MemoryLocks(), { ttlMs: 60_000, drainMs: 0 });
    const order: number[] = [];
    const turnCounts: number[] = [];
    let readCount = 0;
    const options = {
      get waitMs() {
        readCount++;
        return 60_000;
      },
    };
    const all = Array.from({ length: COUNT }, (_, at) =>
      locks.using('a', options, () => void order.push(at)),
    );
    // Not even the options of unstarted calls are read.
    expect(readCount).toBeGreaterThan(0);
    expect(readCount).toBeLessThan(100);
    expect(locks.status.waitingCount).toBeGreaterThan(COUNT - 100);
    while (order.length < COUNT) {
      const before = order.length;
      await new Promise(setImmediate);
      turnCounts.push(order.length - before);
    }
    await Promise.all(all);
    expect(order).toEqual(Array.from({ length: COUNT }, (_, at) => at));
    expect(Math.max(...turnCounts)).toBeLessThan(100);
    expect(locks.status.waitingCount).toBe(0);
  });

  it('are all refused by a shutdown before their turn', async () => {
    const locks = new DistributedLock(new MemoryLocks(), { drainMs: 0 });
    const all = Array.from({ length: 200 }, (_, at) => codeOf(locks.acquire(`${at}`)));
    await locks.close();
    expect(new Set((await Promise.all(all)).slice(100))).toEqual(new Set(['NOT_READY']));
  });
});

describe('notified releases', () => {
  it('are polled by every caller if messages may have been missed', async () => {
    const subscribed: string[] = [];
    let ended!: () => void;
    const messages = {
      onMessage: (_message: unknown, end: () => void) => void (ended = end),
      subscribe: async (channel: string) => void subscribed.push(channel),
      unsubscribe: async () => undefined,
      close: async () => undefined,
    };
    const releases = new Releases(messages, new SettableTime());
    const { signal } = new AbortController();
    const wait = () => releases.until('a', signal, async () => false);
    const both = Promise.all([wait(), wait()]);
    await new Promise(setImmediate);
    expect(subscribed).toEqual(['a']);
    ended();
    await both;
    void wait();
    expect(subscribed).toEqual(['a', 'a']);
  });

  it('reach first the caller that missed the last one, and soon the others', async () => {
    const time = new SettableTime();
    const all: Parameters<ReleaseMessages['onMessage']>[] = [];
    const processes = [0, 1, 2].map(() => {
      const messages: ReleaseMessages = {
        onMessage: (...heard) => void all.push(heard),
        subscribe: async () => undefined,
        unsubscribe: async () => undefined,
        close: async () => undefined,
      };
      return new Releases(messages, time);
    });
    let woken: number[] = [];
    const { signal } = new AbortController();
    const wait = (at: number) =>
      processes[at]!.until('a', signal, async () => false).then(() => woken.push(at));
    const settled = () => new Promise(setImmediate);
    /**
     * The order of waking: one caller at once after a release that all receive, and the others
     * later.
     */
    const told = async (later = LATER_MS) => {
      woken = [];
      for (const [message] of all) message('a');
      await settled();
      const first = woken;
      woken = [];
      await time.advance(later);
      await settled();
      const others = woken;
      for (const at of [...first, ...others]) void wait(at);
      await settled();
      return [first, others];
    };
    const lose = async (at: number) => {
      const tell = async (who: string) => {
        for (const [, , lost] of all) lost('a', who);
      };
      processes[at]!.lost('a', tell);
      // It has reported its loss.
      processes[at]!.lost('a', () => Promise.reject(new Error('told twice')));
      await settled();
    };
    for (const at of [0, 1, 2]) void wait(at);
    expect(await told()).toEqual([[0, 1, 2], []]);
    await lose(2);
    await lose(1);
    expect(await told()).toEqual([[2], [0, 1]]);
    // The next release comes before the others receive this one.
    expect(await told(LATER_MS - 1)).toEqual([[1], []]);
    expect(await told()).toEqual([[0, 1, 2], []]);
    for (const one of processes) await one.close();
  });
});

/** A store that grants nothing for the given time. Each answer takes a while. */
function paused(world: LockWorld, forMs: number) {
  const untilMs = world.time.passedMs + forMs;
  const each = Array.from({ length: 3 }, () => world.process());
  for (const { link } of each) {
    const granted = { ...link.face };
    link.face.acquire = async (request) => {
      await new Promise<void>((resolve) => world.time.after(1, resolve));
      const waitMs = untilMs - world.time.passedMs;
      return waitMs > 0 ? { status: 'wait', waitMs } : granted.acquire(request);
    };
  }
  return each.map(({ locks }) => locks);
}

describe('a caller that skips work done elsewhere', () => {
  const OPTIONS = { holdAtLeastMs: 60_000 };

  it("runs once, at the end of the store's pause", async () => {
    const world = new LockWorld();
    const fleet = paused(world, 28_000);
    const events: LockEvent[] = [];
    fleet[0]!.listen((event) => void events.push(event));
    let runCount = 0;
    const ticks = fleet.map((locks) => locks.usingOrSkip('job', OPTIONS, () => ++runCount));
    await world.time.advance(28_000);
    expect(runCount).toBe(0);
    expect(events).toEqual([{ kind: 'paused', lock: 'job', waitMs: 27_999 }]);
    await world.time.advance(2);
    expect((await Promise.all(ticks)).filter(Boolean)).toEqual([1]);
  });

  it('waits out a pause behind another caller of its process', async () => {
    const world = new LockWorld();
    const [locks] = paused(world, 28_000);
    let runCount = 0;
    const skip = () => locks!.usingOrSkip('job', OPTIONS, () => ++runCount);
    const ticks = Promise.all([skip(), skip(), locks!.usingOrSkip('job', { waitMs: 500 }, skip)]);
    await world.time.advance(28_002);
    expect(await ticks).toEqual([1, undefined, undefined]);
  });

  it('is not delayed by an earlier caller that waits for longer', async () => {
    const world = new LockWorld();
    const [locks] = paused(world, 90_000);
    const patient = locks!.using('job', { waitMs: 100_000 }, () => 'done');
    const codes = [0, 500].map((waitMs) => codeOf(locks!.usingOrSkip('job', { waitMs }, () => 1)));
    await world.time.advance(600);
    expect(await Promise.all(codes)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
    await world.time.advance(90_000);
    expect(await patient).toBe('done');
  });

  it('also waits for a holder, up to its waitMs', async () => {
    const world = new LockWorld();
    const [one, other] = paused(world, 12_000);
    const options = { waitMs: 9000 };
    const end = open();
    const ticks = [one!, other!].map((locks, at) =>
      locks.usingOrSkip('job', options, () => (at === 0 ? end.promise.then(() => 1) : 2)),
    );
    await world.time.advance(12_000 + 8000);
    end.resolve();
    expect(await world.settled(Promise.all(ticks))).toEqual([1, 2]);
  });

  it('receives a pause of more than a minute, as does a caller that does not skip', async () => {
    const world = new LockWorld();
    const [one, other] = paused(world, 60_001);
    const skipping = codeOf(one!.usingOrSkip('job', OPTIONS, () => 1));
    expect(await world.settled(skipping)).toBe('STORE_UNAVAILABLE');
    const code = codeOf(other!.using('job', OPTIONS, () => 1));
    expect(await world.settled(code)).toBe('STORE_UNAVAILABLE');
  });
});

describe('a caller that has waited without success', () => {
  it('gets the advice to wait for longer, not to wait', async () => {
    const world = new LockWorld();
    const [one, other] = [world.process(), world.process()];
    const held = await one.locks.tryAcquire('a');
    const refused = other.locks.using('a', { waitMs: 700 }, () => 1).catch(String);
    expect(await world.settled(refused)).toMatch(/waited for, for 700 ms.*a longer `waitMs`/);
    expect(await other.locks.using('a', () => 1).catch(String)).toMatch(/or give `waitMs` to wait/);
    await held!.release();
  });
});

/** A process whose calls share one connection, one after another, each with the given duration. */
function overOneConnection(world: LockWorld, eachMs: number) {
  const { locks, link } = world.process();
  let last: Promise<unknown> = Promise.resolve();
  const inTurn =
    <Q, A>(call: (request: Q) => Promise<A>) =>
    (request: Q): Promise<A> => {
      const own = last.then(async () => {
        await new Promise<void>((resolve) => world.time.after(eachMs, resolve));
        return call(request);
      });
      last = own.catch(() => undefined);
      return own;
    };
  const { face } = link;
  const slow = {
    acquire: inTurn(face.acquire.bind(face)),
    extend: inTurn(face.extend.bind(face)),
    release: inTurn(face.release.bind(face)),
  };
  Object.assign(face, slow);
  return { locks, link };
}

const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `order:${at}`);

describe('more locks at once than one connection can serve in time', () => {
  it('are all granted and none is lost, although the last request is sent after the limit', async () => {
    const world = new LockWorld();
    const { locks } = overOneConnection(world, 8);
    const end = open();
    const leftMs: number[] = [];
    const all = namesOf(300).map((lock) =>
      locks.using(lock, async (section) => {
        leftMs.push(section.leftMs);
        await end.promise;
        section.assertHeld();
      }),
    );
    // Longer than the ttl: each lock was extended in the meantime.
    for (let passedMs = 0; passedMs < 12_000; passedMs += 10) await world.time.advance(10);
    expect(leftMs).toHaveLength(300);
    // Its time began with its turn.
    expect(Math.min(...leftMs)).toBeGreaterThan(9400);
    expect(locks.status.held).toHaveLength(300);
    end.resolve();
    await world.settled(Promise.all(all));
    expect(locks.status.counts).toMatchObject({ acquired: 300, unavailable: 0, lost: 0 });
  });

  it('extend held locks before they request others', async () => {
    const world = new LockWorld();
    const { locks, link } = overOneConnection(world, 10);
    const end = open();
    const held = locks.using('held', () => end.promise);
    await world.time.advance(3300);
    const others = namesOf(300).map((lock) => locks.using(lock, () => 1));
    await world.time.advance(34 + 640);
    const calls = link.asked.map(({ call }) => call);
    // After the calls in progress, and before the 200 that have not started.
    expect(calls.indexOf('extend')).toBeGreaterThan(0);
    expect(calls.filter((call) => call === 'acquire').length).toBeLessThan(80);
    end.resolve();
    await world.settled(Promise.all([held, ...others]));
  });
});

describe('a caller in the queue for a store', () => {
  it('fails together with the first if the store never answers', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process();
    link.way = 'hanging';
    const codes = namesOf(300).map((lock) => codeOf(locks.using(lock, () => 1)));
    // They arrive in separate turns of the event loop, in which no time passes.
    for (let turns = 0; turns < 30; turns++) await world.time.advance(0);
    await world.time.advance(2000);
    expect(new Set(await Promise.all(codes))).toEqual(new Set(['STORE_UNAVAILABLE']));
    expect(link.countOf('acquire')).toBe(48);
  });

  it('leaves at once if its signal aborts or at a shutdown, and sends nothing', async () => {
    const world = new LockWorld();
    const { locks, link } = world.process({ drainMs: 0 });
    link.way = 'hanging';
    const [stop, reason] = [new AbortController(), new Error('no longer')];
    const first = namesOf(48).map((lock) => codeOf(locks.using(lock, () => 1)));
    await world.time.advance(1);
    const { signal } = stop;
    const stopped = locks.using('stopped', { signal }, () => 1).catch((error: unknown) => error);
    const closed = codeOf(locks.using('closed', { waitMs: 9000 }, () => 1));
    await world.time.advance(1);
    stop.abort(reason);
    expect(await stopped).toBe(reason);
    void locks.close();
    expect(await closed).toBe('NOT_READY');
    await world.settled(Promise.all(first));
    expect(link.countOf('acquire')).toBe(48);
  });
});

describe('ten thousand callers of one lock', () => {
  const Real = AbortController;
  afterEach(() => {
    globalThis.AbortController = Real;
  });

  it('share one signal while they wait in the queue', async () => {
    const world = new LockWorld();
    const { locks } = world.process();
    const end = open();
    const running = locks.using('a', () => end.promise);
    await world.time.advance(1);
    let madeCount = 0;
    globalThis.AbortController = class extends Real {
      constructor() {
        super();
        madeCount++;
      }
    };
    let doneCount = 0;
    const callers = Array.from({ length: 10_000 }, () =>
      locks.using('a', { waitMs: 60_000 }, () => doneCount++),
    );
    await world.time.advance(1);
    expect(locks.status.waitingCount).toBe(10_000);
    expect(madeCount).toBe(0);
    end.resolve();
    await running;
    await Promise.all(callers);
    expect(doneCount).toBe(10_000);
  });
});

/*
 * Permits of a lock, and several locks at once. The cases detect broken variants.
 */

describe('permits', () => {
  it.each(PERMIT_CASES)('$name', async ({ run }) => {
    await expect(run(new LockWorld())).resolves.toBeUndefined();
  });
});

describe('several locks', () => {
  it.each(SEVERAL_CASES)('$name', async ({ run }) => {
    await expect(run(new LockWorld())).resolves.toBeUndefined();
  });

  it.each<[string, string[], object, RegExp]>([
    ['none', [], {}, /`locks.length` to be an integer from 1 to 100, got 0/],
    ['too many', Array.from({ length: 101 }, (_, at) => `l${at}`), {}, /1 to 100, got 101/],
    ['no array', 'ab' as unknown as string[], {}, /`locks` to be an array, got string/],
    ['two invalid names', ['a', '', 'b c'], {}, /got 0\..*got 3, number 2/s],
    ['permits', ['a'], { permits: 2 }, /no option `permits`/],
    ['a minimum time', ['a'], { holdAtLeastMs: 5 }, /no option `holdAtLeastMs`/],
  ])('cannot be %s', async (_what, names, options, said) => {
    const { locks } = new LockWorld().process();
    const refused = locks.acquireAll(names, options);
    await expect(refused).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    await expect(refused).rejects.toThrow(said);
  });
});

it.each(PERMIT_MUTANTS)('the cases detect: $name', async ({ edits, by }) => {
  const { DistributedLock: Broken } = (await loadLibrary(edits, 'lock/distributed-lock.ts')) as {
    DistributedLock: typeof DistributedLock;
  };
  const { run } = [...PERMIT_CASES, ...SEVERAL_CASES].find(({ name }) => name === by)!;
  await expect(run(new LockWorld(Broken))).rejects.toBeInstanceOf(Error);
});
