/**
 * Worker ids leased from any store with compare-and-swap: load a slice, apply the rule, write what
 * it says, and begin again where somebody else was faster.
 *
 * Promise: the contract of IDistributedSupport in full, by the rules of every registry. No lock is
 * taken, so that a process which stalls between reading and writing stops nobody.
 */
import { SnowflakeError } from '../errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../lease/distributed-support.js';
import { pause, systemTimers, type Timers } from '../patience/timers.js';
import { acquire } from './acquire.js';
import { candidatesOf, countOf, drawnFrom, isSmall, isWide, usedFirst } from './candidates.js';
import { workerRecords } from './registry-view.js';
import { release } from './release.js';
import { renew } from './renew.js';
import { headerRow } from './row-text.js';
import { isMade, withBlock, workerIdsOf } from './row-blocks.js';
import type { RegistrySlice, SliceStore } from './slice-store.js';
import type { Changes, Step, WorkerSlot } from './slice.js';
import { HEADER_AGE_MS, StoredSlice } from './stored-slice.js';

/** Each time somebody else got on, so that more than this is a store that refuses every write. */
const ATTEMPT_COUNT = 60;
const PAUSE_MS_MAX = 50;
/** Of a span too wide to be read whole. */
const DRAW_COUNT = 4;

export interface RegistrySupportParts {
  readonly timers?: Timers;
  /** From 0 up to 1. */
  readonly random?: () => number;
}

/** What was read for a worker id, and what the rule made of it. */
interface Attempt<T extends Changes> {
  readonly workerId: number;
  readonly slice: StoredSlice;
  readonly step: T;
}

/**
 * A support around a store of your own.
 *
 * @throws SnowflakeError what the store throws; STORE_UNAVAILABLE where others change what it read
 * again and again.
 */
export class RegistrySupport implements IDistributedSupport {
  readonly place: string;
  /** That of the store, and how old the time in the header may be. */
  readonly lossWindowMs: number;
  readonly #store: SliceStore;
  readonly #timers: Timers;
  readonly #random: () => number;

  constructor(store: SliceStore, parts: RegistrySupportParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#store = store;
    this.#timers = timers;
    this.#random = random;
    this.place = store.place;
    this.lossWindowMs = store.lossWindowMs + HEADER_AGE_MS;
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { slice, step } = await this.#repeated((number) => this.#acquire(request, number));
    return slice.withWrites(step.answer);
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const { workerId } = lease;
    const { slice: last, step } = await this.#repeated(async () => {
      const slice = await this.#read([workerId]);
      const stored = slice.ofWorker(workerId);
      const renewed = renew(stored, slice.withoutWrites(lease), slice.reading);
      return { workerId, slice, step: renewed };
    });
    return last.withWrites(step.answer);
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    const { workerId } = lease;
    await this.#repeated(async () => {
      const slice = await this.#read([workerId]);
      const stored = slice.ofWorker(workerId);
      return { workerId, slice, step: release(stored, lease, lastIssuedMs, slice.reading) };
    });
  }

  async workers(): Promise<WorkerRecord[]> {
    const slice = this.#sliceOf(await this.#store.readAll());
    return workerRecords(slice.slots(), slice.nowMs);
  }

  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  /** Among a few worker ids first; where none of them is free, among all. */
  async #acquire(request: LeaseRequest, number: number): Promise<Attempt<Step>> {
    const seed = `${request.token} ${number}`;
    const drawn = await this.#acquireAmong(candidatesOf(request, seed), request);
    if (drawn.step.answer.status !== 'none-free' || isSmall(request)) return drawn;
    if (isWide(request)) return this.#acquireByDraws(drawn, request, seed);
    const { nowMs } = drawn.slice;
    const all = await this.#slotsIn(request);
    const free = all.filter(({ ceilingMs }) => ceilingMs <= nowMs);
    // Those who ask at once would all take the one that has been free for longest.
    const chosen = number > 0 && free.length > 0 ? free : longestFree(all);
    return this.#acquireAmong([drawnFrom(chosen, seed)!.workerId], request);
  }

  async #acquireByDraws(
    first: Attempt<Step>,
    request: LeaseRequest,
    seed: string,
  ): Promise<Attempt<Step>> {
    let best = first;
    for (let draw = 1; draw < DRAW_COUNT; draw++) {
      const next = await this.#acquireAmong(candidatesOf(request, `${seed} ${draw}`), request);
      if (next.step.answer.status !== 'none-free') return next;
      if (waitOf(next) < waitOf(best)) best = next;
    }
    return best;
  }

  async #acquireAmong(workerIds: readonly number[], request: LeaseRequest): Promise<Attempt<Step>> {
    const slice = await this.#read(workerIds, request);
    const slots = workerIds.map((workerId) => slice.slotOf(workerId));
    const worth = isWide(request) ? usedFirst(slots, slice.nowMs) : slots;
    const lowest = drawnFrom(longestFree(worth), request.token)!;
    const step = acquire(slice.forAcquire(request, lowest), request, slice.reading);
    return { workerId: lowest.workerId, slice, step };
  }

  /** All of a span; a worker id that was never leased has been free for longest. */
  async #slotsIn(span: LeaseRequest): Promise<WorkerSlot[]> {
    const { workerIdMin: min, workerIdMax: max } = span;
    const rows = (await this.#store.ceilings?.(min, max)) ?? (await this.#store.readAll()).rows;
    const ceilings = new Map(rows.map(({ workerId, ceilingMs }) => [workerId, ceilingMs]));
    return Array.from({ length: countOf(span) }, (_, at) => {
      const workerId = min + at;
      return { workerId, ceilingMs: ceilings.get(workerId) ?? 0 };
    });
  }

  async #read(workerIds: readonly number[], request?: LeaseRequest): Promise<StoredSlice> {
    // Without an index by token it is looked for where that costs little.
    const isFound = request !== undefined && !isWide(request);
    const token = isFound ? { token: request.token } : {};
    return this.#sliceOf(await this.#store.read({ workerIds, ...token }));
  }

  #sliceOf(slice: RegistrySlice): StoredSlice {
    return new StoredSlice(slice, { lossWindowMs: this.lossWindowMs, clock: this.#store.clock });
  }

  async #repeated<T extends Changes>(
    take: (number: number) => Promise<Attempt<T>>,
  ): Promise<Attempt<T>> {
    for (let number = 0; number < ATTEMPT_COUNT; number++) {
      const attempt = await take(number);
      if (await this.#isWritten(attempt)) return attempt;
      const spanMs = Math.min(PAUSE_MS_MAX, 2 ** number);
      await pause(this.#timers, Math.ceil(this.#random() * spanMs));
    }
    throw this.#refused();
  }

  async #isWritten({ workerId, slice, step }: Attempt<Changes>): Promise<boolean> {
    const lack = slice.lackOf(workerId, step);
    if (typeof lack === 'number') await this.#makeBlock(lack);
    else if (lack !== undefined) await this.#store.write(slice.write([], lack));
    if (lack !== undefined) return false;
    const write = slice.writeOf(step);
    return write === undefined || this.#store.write(write);
  }

  /** Rows first: whatever block the header lists has all of them. */
  async #makeBlock(block: number): Promise<void> {
    const slice = await this.#read(workerIdsOf(block));
    const { header } = slice;
    if (header === undefined || isMade(header, block)) return;
    const isDone = await this.#store.write(slice.rowsOf(block));
    if (isDone) await this.#store.write(slice.write([], headerRow(withBlock(header, block))));
  }

  #refused(): SnowflakeError {
    return new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Others changed what was read from ${this.place} ${ATTEMPT_COUNT} times in a row, and ` +
        `nothing was written. It is asked again later; a store that never takes a write looks ` +
        `like this too.`,
    );
  }
}

function longestFree(slots: readonly WorkerSlot[]): WorkerSlot[] {
  const lowestMs = slots.reduce((ms, { ceilingMs }) => Math.min(ms, ceilingMs), Infinity);
  return slots.filter(({ ceilingMs }) => ceilingMs === lowestMs);
}

function waitOf({ step: { answer } }: Attempt<Step>): number {
  return 'waitMs' in answer ? answer.waitMs : 0;
}
