/**
 * Locks with time, store and network under the test's control. Processes share one store in memory,
 * and each link to it can hang, fail, or lose and delay answers. The cases of permits and of
 * several locks use these.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { MemoryLocks } from '../../lib/index.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { HoldOptions, LockOptions } from '../../lib/lock/lock-options.js';
import type { LockStore, AcquireRequest, HeldLock } from '../../lib/lock/lock-store.js';
import { SettableTime } from '../../lib/testing/index.js';
import { turn } from '../../lib/time/timers.js';

export type Way =
  | 'open'
  /** The request is lost, without an answer. */
  | 'hanging'
  /** The store handles the request, and its answer is lost. */
  | 'deaf'
  /** Every request is refused. */
  | 'failing';

export interface Asked {
  readonly call: 'acquire' | 'extend' | 'release';
  readonly lock: string;
  readonly atMs: number;
}

/** The link to a store. */
export class Link {
  way: Way = 'open';
  /** The delay of an answer. */
  delayMs = 0;
  isClosed = false;
  readonly asked: Asked[] = [];
  /** The process of the last request. */
  holder = '';

  constructor(
    private readonly store: LockStore,
    private readonly time: SettableTime,
  ) {}

  readonly face: LockStore = {
    lossWindowMs: 0,
    location: 'a test',
    acquire: (request) => {
      this.holder = request.holder;
      return this.ask('acquire', request.lock, () => this.store.acquire(request));
    },
    extend: (request) => this.ask('extend', request.lock, () => this.store.extend(request)),
    release: (request) => this.ask('release', request.lock, () => this.store.release(request)),
    untilReleased: (lock, limitMs, signal) => this.store.untilReleased!(lock, limitMs, signal),
    locks: () => {
      this.isClosed = false;
      return this.store.locks!();
    },
    close: async () => void (this.isClosed = true),
  };

  countOf(call: Asked['call']): number {
    return this.asked.filter((one) => one.call === call).length;
  }

  private async ask<T>(call: Asked['call'], lock: string, run: () => Promise<T>): Promise<T> {
    // Like a real store, which reopens its connection for each caller.
    this.isClosed = false;
    this.asked.push({ call, lock, atMs: this.time.passedMs });
    if (this.way === 'failing') throw new Error('connection refused');
    if (this.way === 'hanging') return never();
    const answer = await run();
    if (this.way === 'deaf') return never();
    const { delayMs } = this;
    if (delayMs > 0) await new Promise<void>((resolve) => this.time.after(delayMs, resolve));
    return answer;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

export class LockWorld {
  readonly time = new SettableTime();
  readonly store = new MemoryLocks({ clock: this.time });

  /** @param Locks the library's class, or a mutant of it */
  constructor(private readonly Locks: typeof DistributedLock = DistributedLock) {}

  /** @param isTold whether waiting callers receive a message at a release */
  process(options: LockOptions = {}, isTold = true): { locks: DistributedLock; link: Link } {
    const link = new Link(this.store, this.time);
    if (!isTold) delete link.face.untilReleased;
    const { time } = this;
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    const locks = new this.Locks(link.face, { ...ports, random: () => 0.5, ...options });
    return { locks, link };
  }

  /** The count of timers, without those that watched calls and end within 2 s. */
  async timersLeft(): Promise<number> {
    await this.time.advance(2000);
    return this.time.timerCount;
  }

  /** Advances the time until a promise settles. */
  async settled<T>(promise: Promise<T>, stepMs = 10): Promise<T> {
    let isSettled = false;
    const end = () => void (isSettled = true);
    promise.then(end, end);
    for (let count = 0; count < 100_000 && !isSettled; count++) await this.time.advance(stepMs);
    return promise;
  }
}

/** A promise that a test settles. */
export function open<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: ((value: T) => void) | undefined;
  const promise = new Promise<T>((yes) => (resolve = yes));
  return { promise, resolve: resolve! };
}

export async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error as { code?: unknown }).code ?? error,
  );
}

// Locks in real stores, with the test as holder.

export function namedLock(lock: string, changes: Partial<AcquireRequest> = {}): AcquireRequest {
  const who = { holder: randomUUID(), label: 'a test' };
  return { lock, ...who, ttlMs: 2000, longestMs: 2000, have: 0n, ...changes };
}

/** Waits, by the store's clock, for a store that grants nothing yet. */
export async function heldIn(store: LockStore, request: AcquireRequest): Promise<HeldLock> {
  const { lock, holder } = request;
  for (;;) {
    const answer = await store.acquire(request);
    if (answer.status === 'ok') return { lock, holder, token: answer.token };
    if (answer.status === 'held') throw new Error(`${lock} is held by ${answer.label}`);
    // The store's requested wait, by the real clock.
    await sleep(answer.waitMs);
  }
}

/**
 * Stores in namespaces that already grant locks, so that no case has to wait.
 *
 * @param store of a namespace
 * @returns a function that creates a store for a case, once all are ready
 */
export async function readySpaces(
  store: (namespace: string) => LockStore,
  count = 40,
): Promise<(name: string) => LockStore> {
  const run = randomUUID();
  const spaces = Array.from({ length: count }, (_, at) => `${run}/${at}`);
  const first = namedLock('first', { ttlMs: 4000, longestMs: 4000 });
  await Promise.all(
    spaces.map(async (space) => {
      const own = store(space);
      await own.release(await heldIn(own, first));
      await own.close?.();
    }),
  );
  const spaceOf = new Map<string, string>();
  return (name) => {
    if (!spaceOf.has(name)) spaceOf.set(name, spaces.pop()!);
    return store(spaceOf.get(name)!);
  };
}

/*
 * Locks with permits, and several locks at once. A spec runs these cases on the library and on
 * mutants.
 */

export interface PermitCase {
  readonly name: string;
  readonly run: (world: LockWorld) => Promise<void>;
}

const WAITING = { permits: 2, waitMs: 5000 };

/** Holds the lock for the given time, and records the order of holders. */
function holding(world: LockWorld, forMs: number) {
  const [came, inside]: [unknown[], Map<number, unknown>] = [[], new Map()];
  let mostCount = 0;
  const hold = (locks: DistributedLock, who: unknown, options: HoldOptions = WAITING) =>
    locks.using('a', options, async ({ permit }) => {
      expect([permit, inside.get(permit)]).toEqual([permit, undefined]);
      inside.set(permit, who);
      came.push(who);
      mostCount = Math.max(mostCount, inside.size);
      await new Promise<void>((resolve) => world.time.after(forMs, resolve));
      inside.delete(permit);
    });
  return { came, hold, most: () => mostCount };
}

export const PERMIT_CASES: readonly PermitCase[] = [
  {
    name: 'have as many holders at once, in all processes, and no more',
    async run(world) {
      const { came, hold, most } = holding(world, 20);
      const fleet = Array.from({ length: 3 }, () => world.process());
      const calls = fleet.flatMap(({ locks }, at) => [at, at, at, at].map(() => hold(locks, at)));
      await world.settled(Promise.all(calls), 1);
      expect([came.length, most()]).toEqual([12, 2]);
      expect(await world.store.locks()).toEqual([]);
      expect(await world.timersLeft()).toBe(0);
    },
  },
  {
    name: 'all go to callers that do not wait, and further callers are refused',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      const asked = Array.from({ length: 5 }, () => one.locks.tryAcquire('a', { permits: 3 }));
      const held = (await Promise.all(asked)).filter((lock) => lock !== undefined);
      expect(held.map(({ permit }) => permit).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
      expect(one.locks.status.held.map(({ permit }) => permit).toSorted((a, b) => a - b)).toEqual([
        1, 2, 3,
      ]);
      const refused = other.locks.using('a', { permits: 3 }, () => 1);
      await expect(refused).rejects.toMatchObject({ code: 'LOCK_HELD', details: { lock: 'a' } });
      await held[1]!.release();
      const next = await other.locks.acquire('a', { permits: 3 });
      expect([next.lock, next.permit]).toEqual(['a', held[1]!.permit]);
      expect(next.token).toBeGreaterThan(held[1]!.token);
      await Promise.all([held[0]!.release(), held[2]!.release(), next.release()]);
      expect(await world.store.locks()).toEqual([]);
    },
  },
  {
    name: 'stay with no attempt whose answer was lost, and no attempt gets two',
    async run(world) {
      const { locks, link } = world.process({ callTimeoutMs: 200 });
      link.way = 'deaf';
      const asked = locks.acquire('a', { permits: 3, waitMs: 5000 });
      await world.time.advance(100);
      link.way = 'open';
      const held = await world.settled(asked);
      expect(await world.store.locks()).toHaveLength(1);
      await held.release();
      expect(await world.store.locks()).toEqual([]);
    },
  },
  {
    name: 'are released by an attempt that ends before its answer',
    async run(world) {
      const { locks, link } = world.process({ callTimeoutMs: 200 });
      link.way = 'deaf';
      const vain = codeOf(locks.acquire('a', { permits: 3 }));
      await world.time.advance(10);
      expect(await world.store.locks()).toHaveLength(1);
      link.way = 'open';
      await world.time.advance(200);
      expect(await vain).toBe('STORE_UNAVAILABLE');
      await world.time.advance(0);
      expect(await world.store.locks()).toEqual([]);
    },
  },
  {
    name: 'go to the callers of a process in order, without useless requests',
    async run(world) {
      const { came, hold, most } = holding(world, 5);
      const { locks, link } = world.process();
      const callers = Array.from({ length: 20 }, (_, at) => at);
      await world.settled(Promise.all(callers.map((at) => hold(locks, at))), 1);
      expect([came, most()]).toEqual([callers, 2]);
      expect(link.countOf('acquire')).toBe(20);
    },
  },
  {
    name: 'go to the caller that has waited longest, even if another process has the rest',
    async run(world) {
      const { came, hold } = holding(world, 5);
      const [one, other] = [world.process({}, false), world.process({}, false)];
      const foreign = await other.locks.acquire('a', WAITING);
      const own = await one.locks.acquire('a', WAITING);
      const calls = ['first', 'second', 'third'].map((who) => hold(one.locks, who));
      // By now the first caller has asked, and polls. The others queue.
      await world.time.advance(400);
      await own.release();
      await world.time.advance(0);
      expect(came).toEqual(['first']);
      await world.settled(Promise.all(calls), 1);
      expect(came).toEqual(['first', 'second', 'third']);
      await foreign.release();
    },
  },
  {
    name: 'let callers wait until another process releases any of them',
    async run(world) {
      for (const at of [0, 1]) {
        const [one, other] = [world.process(), world.process()];
        const held = [await one.locks.acquire('a', WAITING), await one.locks.acquire('a', WAITING)];
        const waiting = other.locks.acquire('a', WAITING);
        await world.time.advance(1000);
        await held[at]!.release();
        // A release sends a message, so no time passes.
        await world.time.advance(0);
        expect((await waiting).permit).toBe(held[at]!.permit);
        await (await waiting).release();
        await held[1 - at]!.release();
      }
    },
  },
  {
    name: 'get one request after the time in which other processes have priority',
    async run(world) {
      const { locks, link } = world.process();
      // A store that sends messages as long as the lock is free.
      let toldCount = 0;
      link.face.untilReleased = async (lock, _, signal) => {
        const isHeld = async () => (await world.store.locks()).some((one) => one.lock === lock);
        while (!signal.aborted && (await isHeld())) {
          await new Promise<void>((go) => world.time.after(1, go));
        }
        await turn();
        if (!signal.aborted) toldCount++;
      };
      const foreign = await world.process().locks.acquire('a', WAITING);
      const own = await locks.acquire('a', WAITING);
      const waiting = locks.acquire('a', WAITING);
      await world.time.advance(700);
      toldCount = 0;
      await own.release();
      await world.time.advance(10);
      expect(toldCount).toBeLessThanOrEqual(1);
      await (await world.settled(waiting, 1)).release();
      await foreign.release();
    },
  },
  {
    name: 'go to other processes if one has had them for long',
    async run(world) {
      // One of the two locks is always held. A process whose callers queue wants the other one.
      await world.process().locks.acquire('a', WAITING);
      const counts = [0, 0];
      const random = seeded();
      const fleet = [world.process({ random }), world.process({ random })];
      const wanted = [0, 0, 0, 1].map(async (of) => {
        const { locks } = fleet[of]!;
        while (world.time.passedMs < 60_000) {
          await locks.using('a', { permits: 2, waitMs: 60_000 }, async () => {
            counts[of]!++;
            await new Promise<void>((resolve) => world.time.after(700, resolve));
          });
        }
      });
      await world.settled(Promise.all(wanted), 1);
      expect([counts, Math.min(...counts) > Math.max(...counts) / 4]).toEqual([counts, true]);
    },
  },
  {
    name: 'are lost one by one',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      const lost = await one.locks.acquire('a', WAITING);
      const kept = await other.locks.acquire('a', WAITING);
      one.link.way = 'failing';
      await world.time.advance(10_000);
      expect([lost.leftMs, lost.signal.aborted, kept.signal.aborted]).toEqual([0, true, false]);
      const next = await other.locks.acquire('a', WAITING);
      expect(next.permit).toBe(lost.permit);
      kept.assertHeld();
    },
  },
  {
    name: 'include the lock without permits as the first',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      const plain = await one.locks.acquire('a');
      const second = await other.locks.acquire('a', WAITING);
      expect([plain.permit, second.permit]).toEqual([1, 2]);
      expect(await other.locks.tryAcquire('a', { permits: 1 })).toBeUndefined();
      const waiting = one.locks.acquire('a', WAITING);
      await world.time.advance(100);
      await plain.release();
      expect((await world.settled(waiting, 1)).permit).toBe(1);
      const inner = () => one.locks.using('b', WAITING, () => one.locks.using('b', WAITING, open));
      expect(await codeOf(inner())).toBe('LOCK_REENTERED');
    },
  },
];

/** Different numbers each time, and the same in each run. */
function seeded(): () => number {
  let at = 0;
  return () => (at = (at + 0.618) % 1);
}

/** Several locks at once. */
export const SEVERAL_CASES: readonly PermitCase[] = [
  {
    name: 'are taken in the same order by all callers, so that no two block each other',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      one.link.delayMs = other.link.delayMs = 10;
      const calls = [
        one.locks.usingAll(['a', 'b', 'c'], { waitMs: 3000 }, ({ locks }) => locks),
        other.locks.usingAll(['c', 'b', 'a', 'c'], { waitMs: 3000 }, ({ locks }) => locks),
      ];
      const taken = ['a', 'b', 'c'];
      expect(await world.settled(Promise.all(calls), 1)).toEqual([taken, taken]);
    },
  },
  {
    name: 'have a token each, and are released together',
    async run(world) {
      const { locks } = world.process();
      await locks.usingAll(['b', 'a'], {}, async ({ tokens, leftMs }) => {
        const held = await world.store.locks();
        expect([...tokens]).toEqual(held.map(({ lock, token }) => [lock, token]));
        expect(leftMs).toBe(10_000);
      });
      const held = await locks.acquireAll(['a', 'b']);
      expect(await codeOf(locks.using('b', () => 1))).toBe('LOCK_HELD');
      await Promise.all([held.release(), held.release()]);
      expect(() => held.assertHeld()).toThrow('it was released');
      expect([held.leftMs, await world.store.locks()]).toEqual([0, []]);
      expect(await world.timersLeft()).toBe(0);
    },
  },
  {
    name: 'are released if one of them is refused',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      const held = await one.locks.acquire('b');
      const refused = other.locks.acquireAll(['c', 'b', 'a']);
      await expect(refused).rejects.toMatchObject({ code: 'LOCK_HELD', details: { lock: 'b' } });
      expect((await world.store.locks()).map(({ lock }) => lock)).toEqual(['b']);
      await held.release();
    },
  },
  {
    name: 'share one wait and its limit',
    async run(world) {
      const [one, other] = [world.process(), world.process()];
      const [a, b] = [await one.locks.acquire('a'), await one.locks.acquire('b')];
      const startMs = world.time.passedMs;
      const waiting = codeOf(other.locks.acquireAll(['a', 'b'], { waitMs: 1000 }));
      await world.time.advance(700);
      await a.release();
      expect(await world.settled(waiting, 1)).toBe('LOCK_HELD');
      expect(world.time.passedMs - startMs).toBeLessThan(1005);
      await b.release();
    },
  },
  {
    name: 'are lost together with the first one',
    async run(world) {
      const { locks, link } = world.process();
      const begun = open<AbortSignal>();
      const end = open();
      const running = codeOf(
        locks.usingAll(['a', 'b'], {}, async (section) => {
          begun.resolve(section.signal);
          await end.promise;
          expect(section.leftMs).toBe(0);
          expect(() => section.assertHeld()).toThrow('The lock b is no longer held');
        }),
      );
      const signal = await begun.promise;
      const extend = link.face.extend.bind(link.face);
      link.face.extend = (request) =>
        request.lock === 'b' ? Promise.resolve({ status: 'lost' as const }) : extend(request);
      await world.time.advance(5000);
      expect([signal.aborted, signal.reason]).toMatchObject([true, { code: 'LOCK_LOST' }]);
      end.resolve();
      expect(await running).toBe('LOCK_LOST');
      expect(await world.store.locks()).toMatchObject([{ lock: 'b' }]);
    },
  },
  {
    name: 'are refused in a section that holds one of them, and are all held in their section',
    async run(world) {
      const { locks } = world.process();
      const all = () => locks.usingAll(['a', 'b'], {}, () => 1);
      expect(await codeOf(locks.using('b', all))).toBe('LOCK_REENTERED');
      expect(await world.store.locks()).toEqual([]);
      const one = (lock: string) => locks.usingAll(['a', 'b'], {}, () => locks.using(lock, open));
      expect(await codeOf(one('a'))).toBe('LOCK_REENTERED');
      expect(await codeOf(one('b'))).toBe('LOCK_REENTERED');
    },
  },
];
