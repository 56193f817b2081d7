/**
 * Locks whose time, store and network are in the hands of a test: processes on one store in memory,
 * each with a way to it that can hang, fail, lose answers or bring them late.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryLocks } from '../../lib/index.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockOptions } from '../../lib/lock/lock-options.js';
import type { LockStore, AcquireRequest, HeldLock } from '../../lib/lock/lock-store.js';
import { SettableTime } from '../../lib/testing/index.js';

export type Way =
  | 'open'
  /** Nothing is heard of what is asked, and it is not carried out. */
  | 'hanging'
  /** What is asked is carried out, and its answer is lost. */
  | 'deaf'
  /** Whatever is asked is refused. */
  | 'failing';

export interface Asked {
  readonly call: 'acquire' | 'extend' | 'release';
  readonly lock: string;
  readonly atMs: number;
}

/** A way to a store. */
export class Link {
  way: Way = 'open';
  /** How long an answer is on its way. */
  delayMs = 0;
  isClosed = false;
  readonly asked: Asked[] = [];
  /** By whom the store was asked last. */
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
    // Like a store of ours, which opens its connection again for whoever calls it.
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

  /** @param isTold whether who waits is told of a release */
  process(options: LockOptions = {}, isTold = true): { locks: DistributedLock; link: Link } {
    const link = new Link(this.store, this.time);
    if (!isTold) delete link.face.untilReleased;
    const { time } = this;
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    const locks = new DistributedLock(link.face, { ...ports, random: () => 0.5, ...options });
    return { locks, link };
  }

  /** Lets time go by until a promise is settled. */
  async settled<T>(promise: Promise<T>, stepMs = 10): Promise<T> {
    let isSettled = false;
    const end = () => void (isSettled = true);
    promise.then(end, end);
    for (let count = 0; count < 100_000 && !isSettled; count++) await this.time.advance(stepMs);
    return promise;
  }
}

/** Something that a test ends when it likes. */
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

// Locks of real stores, held by whoever tests them.

export function namedLock(lock: string, changes: Partial<AcquireRequest> = {}): AcquireRequest {
  const who = { holder: randomUUID(), label: 'a test' };
  return { lock, ...who, ttlMs: 2000, longestMs: 2000, have: 0n, ...changes };
}

/** Waits for a store that grants nothing yet, by its own clock. */
export async function heldIn(store: LockStore, request: AcquireRequest): Promise<HeldLock> {
  const { lock, holder } = request;
  for (;;) {
    const answer = await store.acquire(request);
    if (answer.status === 'ok') return { lock, holder, token: answer.token };
    if (answer.status === 'held') throw new Error(`${lock} is held by ${answer.label}`);
    // So long the store asks to wait, by a clock that nobody sets.
    await sleep(answer.waitMs);
  }
}

/**
 * Stores on namespaces that grant locks already, so that not each case has to wait for it.
 *
 * @param store of a namespace
 * @returns what makes a store for the name of a case, once all are ready
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
