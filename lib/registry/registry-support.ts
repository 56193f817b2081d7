/**
 * Worker ids leased from any store of rows: each operation loads a snapshot, applies the rule and
 * writes the result, and starts over if another process was faster. All retries are in one file.
 *
 * Guarantee: the contract of IDistributedSupport in full, by the rules of every registry. No lock
 * is taken, so a process that stalls between reading and writing stops no other.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../lease/distributed-support.js';
import {
  overtaken,
  retried,
  SupersedingCalls,
  type RefusedWrites,
  type RetryParts,
} from '../rows/cas-retry.js';
import {
  HEADER_KEY,
  type Row,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
} from '../rows/row-store.js';
import { systemTimers, type Timers } from '../time/timers.js';
import {
  acquire,
  candidatesOf,
  countOf,
  drawnFrom,
  isSmall,
  isWide,
  spanToSearch,
  withoutTime,
} from './acquire.js';
import {
  finding,
  workerRecords,
  type Finding,
  type RegistryInspector,
  type RegistryView,
  type Changes,
  type IdSpan,
  type Step,
  type WorkerSlot,
} from './snapshot.js';
import { release, renew } from './renew.js';
import {
  firstBlocksOf,
  HEADER_AGE_MS,
  headerRow,
  isMade,
  StoredSnapshot,
  withBlocks,
  workerIdsOf,
} from './stored-snapshot.js';

const PAUSE_MS_MAX = 2000;
const LEFT_COUNT_MAX = 8;
/** A process that starts with a fleet is usually refused so often. */
const UNSUSPECTED_COUNT = 3;

interface Operation<T extends Changes> {
  /** @param number of writes that were refused */
  readonly take: (number: number) => Promise<Attempt<T>>;
  readonly isLatest: () => boolean;
  /** The span whose rows are made first, if this operation creates the registry. */
  readonly span: IdSpan;
}

interface Tries {
  readonly count: number;
  /** The number of times that missing rows were left to another process. */
  readonly leftCount: number;
  readonly refused: RefusedWrites;
}

/** The fate of a write that a step wanted. */
type Outcome = 'yes' | 'no' | 'prepared' | 'created' | 'left';

/** Parts that tests replace: timers and chance. */
export type RegistrySupportParts = RetryParts;

/**
 * A support around a store of your own.
 *
 * @throws SnowflakeError what the store throws; STORE_UNAVAILABLE where others change what it read
 * again and again.
 */
export class RegistrySupport implements IDistributedSupport {
  readonly location: string;
  /** The loss window of the store, plus the age that the time in the header may have. */
  readonly lossWindowMs: number;
  readonly #store: RowStore;
  readonly #timers: Timers;
  readonly #random: () => number;
  readonly #latest: SupersedingCalls;
  readonly #blocks: BlockMaker;
  readonly #rows: Rows = {
    read: (workerIds, request) => this.#read(workerIds, request),
    ceilings: async ({ workerIdMin: min, workerIdMax: max }) =>
      (await this.#store.ceilings?.(min, max)) ?? (await this.#store.readAll()).rows,
  };

  constructor(store: RowStore, parts: RegistrySupportParts = {}) {
    const { timers = systemTimers, random = Math.random } = parts;
    this.#store = store;
    [this.#timers, this.#random] = [timers, random];
    this.#latest = new SupersedingCalls(timers);
    this.#blocks = new BlockMaker(store, (workerIds) => this.#read(workerIds));
    this.location = store.location;
    this.lossWindowMs = store.lossWindowMs + HEADER_AGE_MS;
  }

  /** If a caller that gave up asks the same again, both get the same answer. */
  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    // The clocks have gone on between two tries, but the question is the same.
    const question = { ...request, wallMs: undefined, reckoned: undefined };
    const onItsWay = this.#latest.answerOnItsWay<LeaseAnswer>(question);
    if (onItsWay !== undefined) return withoutTime(await onItsWay);
    return this.#latest.repeatable(question, async (isLatest) => {
      const { snapshot, step } = await this.#attempts({
        take: (number) => acquireFrom(this.#rows, request, number),
        isLatest,
        span: request,
      });
      return this.#answer(snapshot, step.answer);
    });
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const { snapshot: last, step } = await this.#repeated(lease, async () => {
      const { workerId } = lease;
      const snapshot = await this.#read([workerId]);
      const held = snapshot.withoutWrites(lease);
      return {
        workerId,
        snapshot,
        step: renew(snapshot.ofWorker(workerId), held, snapshot.reading),
      };
    });
    return this.#answer(last, step.answer);
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.#repeated(lease, async () => {
      const { workerId } = lease;
      const snapshot = await this.#read([workerId]);
      const step = release(snapshot.ofWorker(workerId), lease, lastIssuedMs, snapshot.reading);
      return { workerId, snapshot, step };
    });
  }

  async workers(countMax?: number): Promise<WorkerRecord[]> {
    const snapshot = this.#snapshotOf(await this.#store.readAll(countMax));
    return workerRecords(snapshot.slots(), snapshot.nowMs).slice(0, countMax);
  }

  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  readonly #answer = (snapshot: StoredSnapshot, answer: LeaseAnswer): LeaseAnswer =>
    inTicks(snapshot.withWrites(answer), snapshot.resolutionMs, this.#random());

  async #read(workerIds: readonly number[], request?: LeaseRequest): Promise<StoredSnapshot> {
    // Without an index by token the token is looked up only where that costs little.
    const isFound = request !== undefined && !isWide(request);
    const token = isFound ? { token: request.token } : {};
    return this.#snapshotOf(
      await this.#store.read({ keys: [HEADER_KEY, ...workerIds.map(String)], ...token }),
    );
  }

  #snapshotOf(snapshot: RowSnapshot): StoredSnapshot {
    return new StoredSnapshot(snapshot, {
      lossWindowMs: this.lossWindowMs,
      clock: this.#store.clock,
    });
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
    // An attempt that had to make rows looks at the same ones again.
    let refusedCount = 0;
    let leftCount = 0;
    const { location } = this;
    const parts = { location, timers: this.#timers, random: this.#random };
    return retried<Attempt<T>>({ ...parts, pauseMsMax: PAUSE_MS_MAX }, async (refused, count) => {
      const attempt = await take(refusedCount);
      // The answer of the store may have been on its way for any time.
      if (!isLatest()) throw overtaken(location);
      const outcome = await this.#written(attempt, { count, leftCount, refused });
      if (outcome === 'yes') return { answer: attempt };
      if (outcome === 'no') refusedCount++;
      if (outcome === 'created') await this.#blocks.makeFirst(span);
      if (outcome !== 'left') return undefined;
      leftCount++;
      return { pauseMs: PAUSE_MS_MAX };
    });
  }

  async #written({ workerId, snapshot, step }: Attempt<Changes>, tries: Tries): Promise<Outcome> {
    const lack = snapshot.lackOf(workerId, step);
    if (lack === undefined) {
      const write = snapshot.writeOf(step);
      const isTaken = write === undefined || (await this.#isTaken(write, step.slots, tries));
      return isTaken ? 'yes' : 'no';
    }
    if (typeof lack !== 'number') {
      const isTaken = await this.#isTaken(snapshot.write([], lack), [], tries);
      return isTaken && snapshot.isEmpty ? 'created' : 'prepared';
    }
    // The process that created the registry is making them; a whole fleet at it would block that
    // one.
    if (snapshot.isInTheMaking && tries.leftCount < LEFT_COUNT_MAX) return 'left';
    await this.#blocks.make([lack]);
    return 'prepared';
  }

  async #isTaken(
    write: RowWrite,
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
}

function restsOf({ server, headerVersion, headerNumber, rows }: RowWrite): string {
  return JSON.stringify([
    server,
    headerVersion,
    String(headerNumber),
    rows.map((row) => row.version),
  ]);
}

/*
 * Searches for a free worker id in a store of rows: first among a few that are drawn; if none of
 * them is free, in all of the span, or by more draws if the span is wide. The rule decides what is
 * granted, from the snapshot it was read with.
 */

/** So many are drawn from a span too wide to be read whole. */
const DRAW_COUNT = 4;

/** The part of the store that the search uses. */
export interface Rows {
  read(workerIds: readonly number[], request: LeaseRequest): Promise<StoredSnapshot>;
  ceilings(span: IdSpan): Promise<readonly Pick<Row, 'key' | 'number'>[]>;
}

/** The snapshot for a worker id, and the step that the rule made of it. */
export interface Attempt<T extends Changes> {
  readonly workerId: number;
  readonly snapshot: StoredSnapshot;
  readonly step: T;
}

/** @param number of the attempt, from 0 up: each looks at others */
export async function acquireFrom(
  rows: Rows,
  request: LeaseRequest,
  number: number,
): Promise<Attempt<Step>> {
  const attempt = await searchFrom(rows, request, number);
  const { header, nowMs } = attempt.snapshot;
  const { workerIdMin, workerIdMax } = spanToSearch(request, header, nowMs);
  if (attempt.workerId >= workerIdMin && attempt.workerId <= workerIdMax) return attempt;
  // The registry admits fewer of its worker ids to this layout, which only its header says.
  return searchFrom(rows, { ...request, workerIdMin, workerIdMax }, number);
}

async function searchFrom(
  rows: Rows,
  request: LeaseRequest,
  number: number,
): Promise<Attempt<Step>> {
  const seed = `${request.token} ${number}`;
  const drawn = await acquireAmong(rows, candidatesOf(request, seed), request);
  if (drawn.step.answer.status !== 'none-free' || isSmall(request)) return drawn;
  if (isWide(request)) return acquireByDraws(drawn, { rows, request, seed });
  const { nowMs } = drawn.snapshot;
  const all = await slotsIn(rows, request);
  const free = all.filter(({ ceilingMs }) => ceilingMs <= nowMs);
  // Callers that ask at once would all take the one that has been free for longest.
  const chosen = number > 0 && free.length > 0 ? free : longestFree(all);
  return acquireAmong(rows, [drawnFrom(chosen, seed)!.workerId], request);
}

interface Draws {
  readonly rows: Rows;
  readonly request: LeaseRequest;
  readonly seed: string;
}

async function acquireByDraws(
  first: Attempt<Step>,
  { rows, request, seed }: Draws,
): Promise<Attempt<Step>> {
  let best = first;
  for (let draw = 1; draw < DRAW_COUNT; draw++) {
    const next = await acquireAmong(rows, candidatesOf(request, `${seed} ${draw}`), request);
    if (next.step.answer.status !== 'none-free') return next;
    if (waitOf(next) < waitOf(best)) best = next;
  }
  return best;
}

async function acquireAmong(
  rows: Rows,
  workerIds: readonly number[],
  request: LeaseRequest,
): Promise<Attempt<Step>> {
  const snapshot = await rows.read(workerIds, request);
  const slots = workerIds.map((workerId) => snapshot.slotOf(workerId));
  const lowest = drawnFrom(longestFree(madeFirst(slots, snapshot)), request.token)!;
  const step = acquire(snapshot.forAcquire(request, lowest), request, snapshot.reading);
  return { workerId: lowest.workerId, snapshot, step };
}

/** All slots of a span; a worker id that was never leased has been free for longest. */
async function slotsIn(rows: Rows, span: IdSpan): Promise<WorkerSlot[]> {
  const stored = await rows.ceilings(span);
  const ceilings = new Map(stored.map(({ key, number }) => [key, Number(number)]));
  return Array.from({ length: countOf(span) }, (_, at) => {
    const workerId = span.workerIdMin + at;
    return { workerId, ceilingMs: ceilings.get(String(workerId)) ?? 0 };
  });
}

/** Rows are reused before others are made, so that a registry has as many as its fleet needs. */
function madeFirst(slots: readonly WorkerSlot[], snapshot: StoredSnapshot): readonly WorkerSlot[] {
  const { nowMs } = snapshot;
  const made = slots.filter(
    ({ workerId, ceilingMs }) => snapshot.has(workerId) && ceilingMs <= nowMs,
  );
  return made.length > 0 ? made : slots;
}

function longestFree(slots: readonly WorkerSlot[]): readonly WorkerSlot[] {
  const lowestMs = slots.reduce((ms, { ceilingMs }) => Math.min(ms, ceilingMs), Infinity);
  return slots.filter(({ ceilingMs }) => ceilingMs === lowestMs);
}

function waitOf({ step: { answer } }: Attempt<Step>): number {
  return 'waitMs' in answer ? answer.waitMs : 0;
}

/*
 * Makes the rows of blocks before one of them is used, and lists them in the header.
 *
 * Guarantee: rows come first, so the header lists only blocks that have all their rows.
 */

/** After so many refusals the rows are left to the processes that need them. */
const FIRST_COUNT_MAX = 5;

export class BlockMaker {
  readonly #store: RowStore;
  readonly #read: (workerIds: readonly number[]) => Promise<StoredSnapshot>;

  constructor(store: RowStore, read: (workerIds: readonly number[]) => Promise<StoredSnapshot>) {
    this.#store = store;
    this.#read = read;
  }

  /** The creator of the registry does this; else all of a fleet that starts would make them. */
  async makeFirst(span: IdSpan): Promise<void> {
    const blocks = firstBlocksOf(span);
    try {
      for (let count = 0; count < FIRST_COUNT_MAX && !(await this.make(blocks)); count++);
    } catch {
      // Missing rows are made when they are needed as well.
    }
  }

  /** @returns false if another process changed the rows that it read */
  async make(blocks: readonly number[]): Promise<boolean> {
    const snapshot = await this.#read(blocks.flatMap(workerIdsOf));
    const { header } = snapshot;
    if (header === undefined || blocks.every((block) => isMade(header, block))) return true;
    // All blocks at once: each step waits for all of a fleet that starts with this registry.
    const writes = blocks
      .map((block) => snapshot.rowsOf(block))
      .filter(({ rows }) => rows.length > 0);
    const taken = await Promise.all(writes.map((write) => this.#store.write(write)));
    if (taken.some((isTaken) => isTaken !== true)) return false;
    const made = headerRow(withBlocks(header, blocks));
    return (await this.#store.write(snapshot.write([], made))) === true;
  }
}

/*
 * A registry in a store with compare-and-swap, as the operator uses it.
 *
 * Guarantee: read() and findings() change nothing.
 */

/** A store that can tell more than its advice. */
interface InspectedStore extends RowStore {
  /** Tells `snowflake doctor` about the server and its settings, besides the advice. */
  findings?(): Promise<Finding[]>;
}

export class RowInspector implements RegistryInspector {
  readonly lossWindowMs: number;
  readonly #store: InspectedStore;
  readonly #support: RegistrySupport;

  /**
   * @param where the store, for messages; without a password
   * @param key where in the store the registry lies
   */
  constructor(
    store: InspectedStore,
    readonly where: string,
    readonly key: string,
  ) {
    this.#store = store;
    this.#support = new RegistrySupport(store);
    this.lossWindowMs = this.#support.lossWindowMs;
  }

  async read(countMax?: number): Promise<RegistryView> {
    const { lossWindowMs } = this;
    const { clock } = this.#store;
    const snapshot = new StoredSnapshot(await this.#store.readAll(countMax), {
      lossWindowMs,
      clock,
    });
    const { facts, nowMs, reading } = snapshot;
    return {
      storeMs: reading.timeMs,
      nowMs,
      ...(facts && { facts }),
      isUnfinished: facts === undefined && snapshot.slots().length > 0,
      workers: workerRecords(snapshot.slots(), nowMs).slice(0, countMax),
      proofOf: (workerId) => snapshot.slotOf(workerId).holder,
    };
  }

  async findings(): Promise<Finding[]> {
    const [advice, findings = []] = await Promise.all([
      this.#support.advice(),
      this.#store.findings?.(),
    ]);
    return [...findings, ...advice.map((text) => finding('warning', 'settings', text))];
  }

  release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    return this.#support.release(lease, lastIssuedMs);
  }

  close(): Promise<void> {
    return this.#support.close();
  }
}

/*
 * Decides when to ask a store again whose clock has whole seconds.
 *
 * Guarantee: no caller asks before the next tick, until which the answer stays the same, and
 * callers that wait for one tick do not all come at once.
 */

/** @param random from 0 up to 1 */
export function inTicks(answer: LeaseAnswer, resolutionMs: number, random: number): LeaseAnswer {
  if (resolutionMs === 1 || (answer.status !== 'hold' && answer.status !== 'wait')) return answer;
  const tickCount = Math.ceil(answer.waitMs / resolutionMs);
  return { ...answer, waitMs: tickCount * resolutionMs + Math.floor(random * resolutionMs) };
}
