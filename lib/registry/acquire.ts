/**
 * Leases the worker ID that has been free for longest; the same token gets its lease again.
 *
 * Guarantee: a range starts where the last one of its worker ID ended, or later, and ends no
 * further ahead of the registry's clock than one ttl.
 */
import type { LeaseAnswer, LeaseRequest, LeaseTerms } from '../lease/distributed-support.js';
import { nowOf } from '../rows/store-clock.js';
import { admittedSpan, commonSpan, isWithin, latestOf } from './layout-move.js';
import {
  claimed,
  floorOf,
  heldUnder,
  isLive,
  missedMove,
  observeMark,
  open,
  otherLayout,
  spanFor,
  withFacts,
} from './prologue.js';
import type {
  AcquireSnapshot,
  HeldSlot,
  IdSpan,
  RegistryHeader,
  Step,
  StoreReading,
  WorkerSlot,
} from './snapshot.js';

export function acquire(
  snapshot: AcquireSnapshot,
  request: LeaseRequest,
  reading: StoreReading,
): Step {
  return withFacts(acquired(snapshot, request, reading), reading);
}

function acquired(snapshot: AcquireSnapshot, request: LeaseRequest, reading: StoreReading): Step {
  const prologue = open(snapshot.header, request, reading);
  if (prologue.refused !== undefined) return prologue.refused;
  const { fingerprint, haveMs, seen } = request;
  const hasRange = isLive(haveMs, nowOf(prologue.header));
  const mine = hasRange ? claimed(prologue.header, fingerprint) : prologue.header;
  const header = observeMark(mine, seen, { ...request, reading });
  const { held, lowest } = snapshot;
  const span = commonSpan(request, spanFor(header, request));
  if (span === undefined) return { answer: otherLayout(header), header, slots: [] };
  // The search did not know yet what this request told of a move.
  if (!isWithin(lowest.workerId, span)) {
    return { answer: { status: 'wait', waitMs: 0 }, header, slots: [] };
  }
  if (held === undefined) return newLease(header, lowest, { request, reading });
  const isSame =
    held.holder.era === header.era &&
    isWithin(held.workerId, span) &&
    !missedMove(header, held.holder);
  const known = { ...held, holder: heldUnder(header, held.holder) };
  if (isSame) return sameLease(header, known, { request, reading });
  const step = newLease(header, lowest, { request, reading });
  if (step.slots.some(({ workerId }) => workerId === held.workerId)) return step;
  // No range runs across an era or a move, so the token gives up the range from before.
  return { ...step, slots: [{ ...held, holder: undefined }, ...step.slots] };
}

/** The answer may have been lost: the lease is granted again, as long as a new one would be. */
function sameLease(header: RegistryHeader, held: HeldSlot, { request, reading }: Asked): Step {
  const ceilingMs = Math.max(held.ceilingMs, nowOf(header) + request.ttlMs);
  const since = { storedMs: held.ceilingMs, refusal: 'wait' } as const;
  return grantKept(header, { ...held, ceilingMs }, { ...since, terms: request, reading });
}

interface Asked {
  readonly request: LeaseRequest;
  readonly reading: StoreReading;
}

function newLease(header: RegistryHeader, lowest: WorkerSlot, { request, reading }: Asked): Step {
  const { workerId, ceilingMs: lastMs } = lowest;
  const nowMs = nowOf(header);
  if (lastMs > nowMs && !isClaim(request)) {
    return { answer: { status: 'none-free', waitMs: lastMs - nowMs }, header, slots: [] };
  }
  const floorMs = Math.max(lastMs, floorOf(header));
  // Not max(now, floor) + ttl: a ceiling further ahead could outlive its quarantine.
  const ceilingMs = nowMs + request.ttlMs;
  const waitMs = floorMs + request.minRangeMs - ceilingMs;
  if (waitMs > 0) return { answer: { status: 'wait', waitMs }, header, slots: [] };
  const { token, nonce, holder: label, fingerprint } = request;
  const holder = { token, nonce, floorMs, era: header.era, sinceMs: nowMs, label };
  // The layout is claimed only now: a newcomer that has to wait may yet be refused, for a holder
  // that was here before.
  const slot = { workerId, ceilingMs, holder: heldUnder(header, holder) };
  const terms = { refusal: 'wait', terms: request, reading } as const;
  return grantKept(claimed(header, fingerprint), slot, terms);
}

/**
 * A claim takes a worker ID that may be held: its holder keeps the range that ends where this one
 * starts.
 */
function isClaim({ takesOver = false, workerIdMin, workerIdMax }: LeaseRequest): boolean {
  return takesOver && workerIdMin === workerIdMax;
}

/*
 * Chooses the worker IDs to look at before one of them is leased.
 *
 * A few, drawn by a text, are enough: if any is free, a fleet that starts at once spreads over all
 * of them, and an acquire that is repeated meets its lease again. Only if all of these are held is
 * it worth reading more.
 *
 * Guarantee: a draw decides which worker ID is asked for, never whether it may be granted.
 */

/** One transaction of any store reads so many at little cost. */
const CANDIDATE_COUNT = 64;

/** So many ceilings can be read whole to find the one that has been free for longest. */
const WHOLE_COUNT_MAX = 4096;

/** The shortest beginning of a wide span that draws are made from. */
const REACH_MIN = 64;

/** What a request may look at: the worker IDs of its layout, if that moves. */
export function spanToSearch(
  request: LeaseRequest,
  stored: Pick<RegistryHeader, 'fingerprint'> | undefined,
  nowMs: number,
): IdSpan {
  const text = latestOf(stored?.fingerprint ?? '', request.layouts);
  const span = admittedSpan(text, request.fingerprint, nowMs + request.ttlMs);
  return commonSpan(request, span) ?? request;
}

export function countOf({ workerIdMin, workerIdMax }: IdSpan): number {
  return workerIdMax - workerIdMin + 1;
}

/**
 * True if the candidates are all that exist; also for an empty span, whose draws would never end.
 */
export function isSmall(span: IdSpan): boolean {
  return !(countOf(span) > CANDIDATE_COUNT);
}

/** True if there are too many ceilings to read them all. */
export function isWide(span: IdSpan): boolean {
  return countOf(span) > WHOLE_COUNT_MAX;
}

/** Returns the same candidates for the same seed, and all of a span that is not larger. */
export function candidatesOf(span: IdSpan, seed: string): number[] {
  const count = countOf(span);
  if (isSmall(span)) return Array.from({ length: count }, (_, at) => span.workerIdMin + at);
  const draw = drawsOf(seed);
  // Neighbours are read at a fraction of the cost of as many others.
  if (!isWide(span)) return neighboursFrom(Math.floor(draw() * count), span);
  const reaches = reachesOf(span);
  const drawn = new Set<number>();
  for (let at = 0; drawn.size < CANDIDATE_COUNT; at++) {
    drawn.add(span.workerIdMin + Math.floor(draw() * reaches[at % reaches.length]!));
  }
  return [...drawn];
}

/** The first IDs of a span follow after its last ones. */
function neighboursFrom(first: number, span: IdSpan): number[] {
  const count = countOf(span);
  return Array.from(
    { length: CANDIDATE_COUNT },
    (_, at) => span.workerIdMin + ((first + at) % count),
  );
}

/**
 * The parts of a wide span to draw from, counted from its beginning: a little, twice as much, up to
 * all of it. So as many draws fall into the part that a fleet of any size has used as into the
 * rest.
 */
export function reachesOf(span: IdSpan): number[] {
  const count = countOf(span);
  const reaches: number[] = [];
  for (let reach = REACH_MIN; reach < count; reach *= 2) reaches.push(reach);
  return [...reaches, count];
}

/** Returns one of a list, the same for the same seed. */
export function drawnFrom<T>(list: readonly T[], seed: string): T | undefined {
  return list[Math.floor(drawsOf(seed)() * list.length)];
}

/** Texts that differ only in their last letter have so many draws alike. */
const ALIKE_COUNT = 3;

/**
 * Numbers from 0 up to 1 that a text determines.
 * Source: Park and Miller 1988, 31 bits, so that no product leaves 53.
 */
export function drawsOf(seed: string): () => number {
  let state = 1;
  const next = (added = 0) => (state = ((state + added) * 16_807) % 2_147_483_647);
  for (let at = 0; at < seed.length; at++) next(seed.charCodeAt(at));
  for (let n = 0; n < ALIKE_COUNT; n++) next();
  return () => next() / 2_147_483_647;
}

/*
 * The step that grants a range, and its answer.
 *
 * Guarantee: the answer says what the slot is written with, and nothing else.
 */

export function grantLease(header: RegistryHeader, slot: HeldSlot): Step {
  const { workerId, ceilingMs, holder } = slot;
  const answer = { status: 'ok', workerId, floorMs: holder.floorMs, ceilingMs } as const;
  return { answer, header, slots: [slot] };
}

/** What was asked for, and what the registry has of it. */
interface KeptTerms {
  /** The end of this very range as it was stored before; absent for one that begins now. */
  readonly storedMs?: number;
  readonly refusal: 'wait' | 'hold';
  readonly terms: Pick<LeaseTerms, 'ttlMs' | 'minRangeMs'>;
  readonly reading: StoreReading;
}

/**
 * Grants a range, or the part of it that no server can forget any more: what this step stores is
 * granted by a later one, once it has the age. Whoever stored an end did so one ttl before it.
 */
export function grantKept(header: RegistryHeader, slot: HeldSlot, kept: KeptTerms): Step {
  const { storedMs = -Infinity, refusal: status, terms, reading } = kept;
  const { keepsAfterMs = 0 } = reading;
  if (keepsAfterMs === 0) return grantLease(header, slot);
  const nowMs = nowOf(header);
  if (storedMs < nowMs + terms.minRangeMs) {
    return { answer: { status, waitMs: keepsAfterMs, isStored: true }, header, slots: [slot] };
  }
  const waitMs = Math.min(keepsAfterMs, storedMs - terms.ttlMs + keepsAfterMs - nowMs);
  // An end that is stored anew before it was granted would never get the age.
  if (waitMs > 0) return { answer: { status, waitMs, isStored: true }, header, slots: [] };
  return { ...grantLease(header, { ...slot, ceilingMs: storedMs }), slots: [slot] };
}

/** The store may have given its time before this caller asked, which would misjudge its clock. */
export function withoutTime(answer: LeaseAnswer): LeaseAnswer {
  const { nowMs: _, timeMs: __, ...timeless } = answer;
  return timeless;
}
