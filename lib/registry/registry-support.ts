/**
 * Worker ids leased from any store with compare-and-swap: load a slice, apply the rule, write what
 * it says, and begin again where somebody else was faster. All that is tried again is in one file.
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
import { RetryDelay } from '../patience/retry-delay.js';
import { pause, systemTimers, type Timers } from '../patience/timers.js';
import { acquireFrom, type Attempt, type Rows } from './acquire-rows.js';
import { BlockMaker } from './block-maker.js';
import { isWide, type IdSpan } from './candidates.js';
import { workerRecords } from './registry-view.js';
import { inTicks } from './coarse-clock.js';
import { withoutTime } from './grant.js';
import { release } from './release.js';
import { RefusedWrites } from './refused-writes.js';
import { renew } from './renew.js';
import { LatestOperation } from './latest-operation.js';
import type { RegistrySlice, SliceStore, SliceWrite } from './slice-store.js';
import type { Changes } from './slice.js';
import { HEADER_AGE_MS, StoredSlice } from './stored-slice.js';

/** Each time somebody else got on. */
const ATTEMPT_COUNT = 40;
const PAUSE_MS_MAX = 2000;
const LEFT_COUNT_MAX = 8;
/** So often whoever starts with a fleet is refused as a rule. */
const UNSUSPECTED_COUNT = 3;

interface Operation<T extends Changes> {
  /** @param number how many of its writes were refused */
  readonly take: (number: number) => Promise<Attempt<T>>;
  readonly isLatest: () => boolean;
  /** Of what is made first where it creates the registry. */
  readonly span: IdSpan;
}

interface Tries {
  readonly count: number;
  /** How often rows that are not there were left to somebody else. */
  readonly leftCount: number;
  readonly refused: RefusedWrites;
}

/** What became of what a step wanted to be written. */
type Outcome = 'yes' | 'no' | 'prepared' | 'created' | 'left';

/** What tests may replace: timers and chance. */
export interface RegistrySupportParts {
  readonly timers?: Timers | undefined;
  /** From 0 up to 1. */
  readonly random?: (() => number) | undefined;
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
  readonly #latest: LatestOperation;
  readonly #blocks: BlockMaker;
  readonly #rows: Rows = {
    read: (workerIds, request) => this.#read(workerIds, request),
    ceilings: async ({ workerIdMin: min, workerIdMax: max }) =>
      (await this.#store.ceilings?.(min, max)) ?? (await this.#store.readAll()).rows,
  };

  constructor(store: SliceStore, parts: RegistrySupportParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#store = store;
    [this.#timers, this.#random] = [timers, random];
    this.#latest = new LatestOperation(timers);
    this.#blocks = new BlockMaker(store, (workerIds) => this.#read(workerIds));
    this.place = store.place;
    this.lossWindowMs = store.lossWindowMs + HEADER_AGE_MS;
  }

  /** Asked the same again, as by a caller that gave up, it answers both with what comes. */
  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    // Its clocks have gone on between two tries, and it is the same question.
    const question = { ...request, wallMs: undefined, reckoned: undefined };
    const onItsWay = this.#latest.answerOnItsWay<LeaseAnswer>(question);
    if (onItsWay !== undefined) return withoutTime(await onItsWay);
    return this.#latest.repeatable(question, async (isLatest) => {
      const { slice, step } = await this.#attempts({
        take: (number) => acquireFrom(this.#rows, request, number),
        isLatest,
        span: request,
      });
      return this.#told(slice, step.answer);
    });
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const { slice: last, step } = await this.#repeated(lease, async () => {
      const { workerId } = lease;
      const slice = await this.#read([workerId]);
      const held = slice.withoutWrites(lease);
      return { workerId, slice, step: renew(slice.ofWorker(workerId), held, slice.reading) };
    });
    return this.#told(last, step.answer);
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.#repeated(lease, async () => {
      const { workerId } = lease;
      const slice = await this.#read([workerId]);
      const step = release(slice.ofWorker(workerId), lease, lastIssuedMs, slice.reading);
      return { workerId, slice, step };
    });
  }

  async workers(countMax?: number): Promise<WorkerRecord[]> {
    const slice = this.#sliceOf(await this.#store.readAll(countMax));
    return workerRecords(slice.slots(), slice.nowMs).slice(0, countMax);
  }

  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  readonly #told = (slice: StoredSlice, answer: LeaseAnswer): LeaseAnswer =>
    inTicks(slice.withWrites(answer), slice.resolutionMs, this.#random());

  async #read(workerIds: readonly number[], request?: LeaseRequest): Promise<StoredSlice> {
    // Without an index by token it is looked for where that costs little.
    const isFound = request !== undefined && !isWide(request);
    const token = isFound ? { token: request.token } : {};
    return this.#sliceOf(await this.#store.read({ workerIds, ...token }));
  }

  #sliceOf(slice: RegistrySlice): StoredSlice {
    return new StoredSlice(slice, { lossWindowMs: this.lossWindowMs, clock: this.#store.clock });
  }

  #repeated<T extends Changes>(
    lease: WorkerLease,
    take: Operation<T>['take'],
  ): Promise<Attempt<T>> {
    const { workerId } = lease;
    const span = { workerIdMin: workerId, workerIdMax: workerId };
    return this.#latest.of(lease, (isLatest) => this.#attempts({ take, isLatest, span }));
  }

  async #attempts<T extends Changes>(operation: Operation<T>): Promise<Attempt<T>> {
    const { take, isLatest, span } = operation;
    // Whoever had to make rows looks at the same ones again.
    let refusedCount = 0;
    let leftCount = 0;
    const refused = new RefusedWrites(this.place);
    const delay = new RetryDelay(this.#random, 1, PAUSE_MS_MAX);
    for (let count = 0; count < ATTEMPT_COUNT; count++) {
      const attempt = await take(refusedCount);
      // The answer of the store may have been on its way for as long as it liked.
      if (!isLatest()) break;
      const outcome = await this.#written(attempt, { count, leftCount, refused });
      if (outcome === 'yes') return attempt;
      if (outcome === 'no') refusedCount++;
      if (outcome === 'created') await this.#blocks.makeFirst(span);
      if (outcome === 'left') leftCount++;
      await pause(this.#timers, delay.next(outcome === 'left' ? PAUSE_MS_MAX : undefined));
    }
    throw this.#refused();
  }

  async #written({ workerId, slice, step }: Attempt<Changes>, tries: Tries): Promise<Outcome> {
    const lack = slice.lackOf(workerId, step);
    if (lack === undefined) {
      const write = slice.writeOf(step);
      const isTaken = write === undefined || (await this.#isTaken(write, step.slots, tries));
      return isTaken ? 'yes' : 'no';
    }
    if (typeof lack !== 'number') {
      const isTaken = await this.#isTaken(slice.write([], lack), [], tries);
      return isTaken && slice.isEmpty ? 'created' : 'prepared';
    }
    // Whoever created the registry is at it: a fleet that all did it would keep him from it.
    if (slice.isInTheMaking && tries.leftCount < LEFT_COUNT_MAX) return 'left';
    await this.#blocks.make([lack]);
    return 'prepared';
  }

  async #isTaken(
    write: SliceWrite,
    slots: Changes['slots'],
    { count, refused }: Tries,
  ): Promise<boolean> {
    const isTaken = await this.#store.write(write);
    if (isTaken === true) return true;
    const isSuspect = isTaken === false && this.#store.comparesRows === true;
    if (!isSuspect || count < UNSUSPECTED_COUNT) return false;
    // The next attempt may be about other rows.
    const found = await this.#read(slots.map(({ workerId }) => workerId));
    const now = restsOf(found.write(slots));
    refused.note(now === restsOf(write) ? 'as read' : now);
    return false;
  }

  #refused(): SnowflakeError {
    return new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Other processes kept changing what was read from ${this.place}, so nothing was written. ` +
        `It will be asked again.`,
    );
  }
}

function restsOf({ server, headerVersion, headerCeilingMs, rows }: SliceWrite): string {
  return JSON.stringify([server, headerVersion, headerCeilingMs, rows.map((row) => row.version)]);
}
