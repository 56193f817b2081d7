/**
 * Leases worker IDs from any store of rows. Each operation loads a snapshot, applies the rule, and
 * writes the result. It starts over if another process was faster.
 *
 * Guarantee: the full contract of IDistributedSupport, with the same rules in every store. No
 * operation takes a lock, so a process that stalls between reading and writing blocks no other.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
  WorkerRecord,
} from '../lease/distributed-support.js';
import {
  AgainAfter,
  overtaken,
  retried,
  SupersedingCalls,
  type Attempted,
  type ClockedParts,
  type RefusedWrites,
  type RetryParts,
} from '../rows/cas-retry.js';
import { HEADER_KEY, type Row, type RowStore, type RowWrite } from '../rows/row-store.js';
import { FewAtOnce } from '../time/line.js';
import { pause, systemTimers, type Timers } from '../time/timers.js';
import {
  acquire,
  candidatesOf,
  countOf,
  drawnFrom,
  drawsOf,
  isSmall,
  isWide,
  reachesOf,
  spanToSearch,
  withoutTime,
} from './acquire.js';
import {
  workerRecords,
  type Changes,
  type IdSpan,
  type Step,
  type WorkerSlot,
  type WorkerSnapshot,
} from './snapshot.js';
import { isWithin } from './layout-move.js';
import { release, renew } from './renew.js';
import { BlockMaker, HEADER_AGE_MS, StoredSnapshot } from './stored-snapshot.js';

const PAUSE_MS_MAX = 2000;
/** A new registry grants nothing for at most this time, so other processes can wait for it. */
const NEW_MS = 1000;
const OUTRUN_COUNT_MAX = 3;
const NO_PLACE = { headerVersion: -1, lookCount: 0 };
/** More concurrent starts would only wait for a connection, while their rows change. */
const STARTS_AT_ONCE = 8;
/** A limit, because some calls never end. */
const START_MS = 2000;
/** The usual number of refusals for a process that starts with a fleet. */
const UNSUSPECTED_COUNT = 3;

interface Operation<T extends Changes> {
  /** @param number of refused writes */
  readonly take: (number: number) => Promise<Attempt<T>>;
  readonly isLatest: () => boolean;
  /** The span whose rows are created first, if this operation creates the registry. */
  readonly span: IdSpan;
  /** True if many may run at once, none of them urgent. */
  readonly isStart?: boolean;
}

interface Tries {
  readonly count: number;
  /** True if this operation has begun to create the registry. */
  readonly isMaker: boolean;
  readonly refused: RefusedWrites;
}

/** The fate of a write that a step wanted. */
type Outcome = 'yes' | 'no' | 'begun' | 'created' | 'outrun' | 'prepared' | 'left';

/** Parts that tests replace: timers and randomness. */
export type RegistrySupportParts = RetryParts;

/**
 * A support for a custom store.
 *
 * @throws SnowflakeError the store's errors; STORE_UNAVAILABLE if other processes keep changing the
 * rows that it read.
 */
export class RegistrySupport implements IDistributedSupport {
  /**
   * The store's loss window, plus the maximum age of the time in the header. If a store can lose
   * recent writes, it grants a range only after their age limit, and the next range after another.
   */
  readonly lossWindowMs: number;
  readonly namespace: string | undefined;
  readonly #store: RowStore;
  readonly #timers: Timers;
  readonly #random: () => number;
  readonly #latest: SupersedingCalls;
  readonly #blocks: BlockMaker;
  readonly #starts: FewAtOnce;
  readonly #again: AgainAfter;
  /** The empty place of a registry, and how often it was left to the process that created it. */
  #place: { readonly headerVersion: number | undefined; readonly lookCount: number } = NO_PLACE;
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
    this.#starts = new FewAtOnce(STARTS_AT_ONCE, { ms: START_MS, timers });
    this.#again = new AgainAfter((parts as ClockedParts).monotonic);
    this.#blocks = new BlockMaker(store, (workerIds) => this.#read(workerIds));
    this.namespace = store.namespace;
    const { lossWindowMs, headerAgeMs = HEADER_AGE_MS, keepsAfterMs } = store;
    this.lossWindowMs =
      keepsAfterMs === undefined ? lossWindowMs + headerAgeMs : 2 * keepsAfterMs + headerAgeMs;
  }

  get location(): string {
    return this.#store.location;
  }

  /** If a caller repeats a request that timed out, both calls get the same response. */
  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    // Omits the clocks, which differ between two attempts of the same request.
    const question = JSON.stringify({ ...request, wallMs: undefined, reckoned: undefined });
    const onItsWay = this.#latest.answerOnItsWay<LeaseAnswer>(request.token, question);
    if (onItsWay !== undefined) return withoutTime(await onItsWay);
    const run = async (isLatest: () => boolean) => {
      const take = (number: number) => acquireFrom(this.#rows, request, number);
      return this.#answer(await this.#attempts({ take, isLatest, span: request, isStart: true }));
    };
    return this.#latest.of(request.token, run, question);
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const attempt = await this.#repeated(lease, (worker, snapshot) =>
      renew(worker, snapshot.withoutWrites(lease), snapshot.reading),
    );
    return this.#answer(attempt);
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.#repeated(lease, (worker, { reading }) =>
      release(worker, lease, lastIssuedMs, reading),
    );
  }

  async workers(countMax?: number): Promise<WorkerRecord[]> {
    const snapshot = new StoredSnapshot(await this.#store.readAll(countMax), this.#store);
    return workerRecords(snapshot.slots(), snapshot.nowMs).slice(0, countMax);
  }

  async advice(): Promise<string[]> {
    return (await this.#store.advice?.()) ?? [];
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  #answer({ snapshot, step, isMaker }: Done<Step>): LeaseAnswer {
    const answer = snapshot.withWrites(step.answer);
    if (answer.status !== 'hold' && answer.status !== 'wait') return answer;
    const { resolutionMs, isUnclaimed } = snapshot;
    const { timeMs } = snapshot.reading;
    // The first grant changes the header, on which every write depends, so one caller goes first.
    const isSpread = !isMaker && (isUnclaimed || resolutionMs > 1);
    const random = isSpread ? this.#random() : 0;
    return { ...answer, waitMs: this.#again.ms(answer.waitMs, { timeMs, resolutionMs }, random) };
  }

  async #read(workerIds: readonly number[], request?: LeaseRequest): Promise<StoredSnapshot> {
    // Without an index by token, the token is looked up only if that is cheap.
    const isFound = request !== undefined && !isWide(request);
    const token = isFound ? { token: request.token } : {};
    const query = { keys: [HEADER_KEY, ...workerIds.map(String)], ...token };
    const rows = await this.#again.noted(() => this.#store.read(query));
    return new StoredSnapshot(rows, this.#store);
  }

  #repeated<T extends Changes>(
    { workerId, token }: WorkerLease,
    rule: (worker: WorkerSnapshot, snapshot: StoredSnapshot) => T,
  ): Promise<Done<T>> {
    const span = { workerIdMin: workerId, workerIdMax: workerId };
    const take = async () => {
      const snapshot = await this.#read([workerId]);
      const worker = { header: snapshot.header, slot: snapshot.slotOf(workerId) };
      return { workerId, snapshot, step: rule(worker, snapshot) };
    };
    return this.#latest.of(token, (isLatest) => this.#attempts({ take, isLatest, span }));
  }

  async #attempts<T extends Changes>(operation: Operation<T>): Promise<Done<T>> {
    const { take, isLatest, span, isStart = false } = operation;
    // An attempt that had to create rows reads the same rows again.
    let refusedCount = 0;
    const tries = { isMaker: false };
    const { location } = this;
    const parts = { location, timers: this.#timers, random: this.#random };
    const tried = async (refused: RefusedWrites, count: number): Promise<Attempted<Done<T>>> => {
      const attempt = await take(refusedCount);
      // The store's response may be arbitrarily old.
      if (!isLatest()) throw overtaken(location);
      const outcome = await this.#written(attempt, { ...tries, count, refused });
      if (outcome === 'yes') return { answer: { ...attempt, isMaker: tries.isMaker } };
      if (outcome === 'no') refusedCount++;
      if (outcome === 'begun') tries.isMaker = true;
      if (outcome === 'created') await this.#blocks.makeFirst(span);
      // Without a random pause, waiting processes would find the same again.
      if (outcome === 'outrun') await pause(this.#timers, Math.ceil(this.#random() * NEW_MS));
      return outcome === 'left' ? { pauseMs: PAUSE_MS_MAX } : undefined;
    };
    return retried<Done<T>>({ ...parts, pauseMsMax: PAUSE_MS_MAX }, (refused, count) =>
      isStart && !tries.isMaker
        ? this.#starts.run(() => tried(refused, count))
        : tried(refused, count),
    );
  }

  async #written({ workerId, snapshot, step }: Attempt<Changes>, tries: Tries): Promise<Outcome> {
    const lack = snapshot.lackOf(workerId, step);
    if (lack === undefined) {
      const write = snapshot.writeOf(step);
      const isTaken = write === undefined || (await this.#isTaken(write, step.slots, tries));
      return isTaken ? 'yes' : 'no';
    }
    if (typeof lack !== 'number') {
      if (!tries.isMaker && this.#isMaking(snapshot)) return 'outrun';
      const isTaken = await this.#isTaken(snapshot.write([], lack), [], tries);
      if (snapshot.header !== undefined) return 'prepared';
      if (!isTaken) return 'outrun';
      return snapshot.isEmpty ? 'created' : 'begun';
    }
    // The registry's creator is creating the rows; a whole fleet doing the same would block it.
    if (snapshot.isInTheMaking) return 'left';
    await this.#blocks.make([lack]);
    return 'prepared';
  }

  /**
   * True while the process that reserved a registry's place may be creating it. All calls of this
   * process count together, so a call that is repeated early waits no longer.
   */
  #isMaking({ isEmpty, headerVersion }: StoredSnapshot): boolean {
    if (!isEmpty) return false;
    const { lookCount } = this.#place.headerVersion === headerVersion ? this.#place : NO_PLACE;
    this.#place = { headerVersion, lookCount: lookCount + 1 };
    return lookCount < OUTRUN_COUNT_MAX;
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
    // The next attempt may use other rows.
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
 * Searches for a free worker ID in a store of rows: first among a few drawn candidates. If none is
 * free, it searches the whole span, or draws more if the span is wide. The rule decides about the
 * grant, from the snapshot of the candidate.
 */

/** The number of draws from a span that is too wide to read completely. */
const DRAW_COUNT = 4;
/** The number of candidates to try before the others. */
const FEW_COUNT = 8;

/** The part of the store that the search uses. */
export interface Rows {
  read(workerIds: readonly number[], request: LeaseRequest): Promise<StoredSnapshot>;
  ceilings(span: IdSpan): Promise<readonly Pick<Row, 'key' | 'number'>[]>;
}

/** The snapshot for a worker ID, and the rule's step for it. */
export interface Attempt<T extends Changes> {
  readonly workerId: number;
  readonly snapshot: StoredSnapshot;
  readonly step: T;
}

/** An attempt whose changes, if any, are written. */
interface Done<T extends Changes> extends Attempt<T> {
  /** True if it has begun to create the registry. */
  readonly isMaker: boolean;
}

/** @param number of the attempt, from 0: each attempt uses other candidates */
export async function acquireFrom(
  rows: Rows,
  request: LeaseRequest,
  number: number,
): Promise<Attempt<Step>> {
  const attempt = await searchFrom(rows, request, number);
  const { header, nowMs } = attempt.snapshot;
  const span = spanToSearch(request, header, nowMs);
  if (isWithin(attempt.workerId, span)) return attempt;
  // The registry admits fewer worker IDs for this layout, which only its header shows.
  const { workerIdMin, workerIdMax } = span;
  return searchFrom(rows, { ...request, workerIdMin, workerIdMax }, number);
}

async function searchFrom(
  rows: Rows,
  request: LeaseRequest,
  number: number,
): Promise<Attempt<Step>> {
  const seed = `${request.token} ${number}`;
  const candidates = candidatesOf(request, seed);
  // A row costs the store and its caller as much as a statement, and usually one of these is free.
  // One for each prefix of a wide span, so that a fleet spreads as after a full search.
  const fewCount = isWide(request) ? reachesOf(request).length : FEW_COUNT;
  const few = isSmall(request) ? candidates : candidates.slice(0, fewCount);
  const first = await acquireAmong(rows, few, request);
  if (first.step.answer.status !== 'none-free' || isSmall(request)) return first;
  const drawn = await acquireAmong(rows, candidates, request);
  if (drawn.step.answer.status !== 'none-free') return drawn;
  if (isWide(request)) return acquireByDraws(drawn, { rows, request, seed });
  const { nowMs } = drawn.snapshot;
  const all = await slotsIn(rows, request);
  const free = all.filter(({ ceilingMs }) => ceilingMs <= nowMs);
  if (free.length === 0) {
    return acquireAmong(rows, [drawnFrom(longestFree(all), seed)!.workerId], request);
  }
  // Concurrent callers would otherwise all take the ID that has been free for the longest time.
  const at = Math.floor(drawsOf(seed)() * free.length);
  const rotated = [...free.slice(at), ...free.slice(0, at)];
  const byCeiling = free.toSorted((one, other) => one.ceilingMs - other.ceilingMs);
  const chosen = number > 0 ? rotated : byCeiling;
  const workerIds = chosen.slice(0, FEW_COUNT).map(({ workerId }) => workerId);
  return acquireAmong(rows, workerIds, request);
}

async function acquireByDraws(
  first: Attempt<Step>,
  { rows, request, seed }: { rows: Rows; request: LeaseRequest; seed: string },
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

/** All slots of a span; a never leased worker ID counts as free for the longest time. */
async function slotsIn(rows: Rows, span: IdSpan): Promise<WorkerSlot[]> {
  const stored = await rows.ceilings(span);
  const ceilings = new Map(stored.map(({ key, number }) => [key, Number(number)]));
  return Array.from({ length: countOf(span) }, (_, at) => {
    const workerId = span.workerIdMin + at;
    return { workerId, ceilingMs: ceilings.get(String(workerId)) ?? 0 };
  });
}

/** Rows are reused before new ones are created, so there are only as many as a fleet needs. */
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
