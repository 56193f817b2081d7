/**
 * Leases the worker ID that has been free for the longest time; a repeated token gets its lease
 * again.
 *
 * Guarantee: a range starts at or after the end of its worker ID's last range, and ends at most one
 * ttl ahead of the registry's clock.
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
  // The search ran without the facts of a move in this request.
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
  // No range spans two eras or a move, so the token loses its earlier range.
  return { ...step, slots: [{ ...held, holder: undefined }, ...step.slots] };
}

/** The response may have been lost: the lease is granted again, with the length of a new lease. */
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
  // The ceiling is not max(now, floor) + ttl, which could outlive its quarantine.
  const ceilingMs = nowMs + request.ttlMs;
  const waitMs = floorMs + request.minRangeMs - ceilingMs;
  if (waitMs > 0) return { answer: { status: 'wait', waitMs }, header, slots: [] };
  const { token, nonce, holder: label, fingerprint } = request;
  const holder = { token, nonce, floorMs, era: header.era, sinceMs: nowMs, label };
  // Claims the layout only now: a new process that has to wait may still be refused in favor of an
  // earlier holder.
  const slot = { workerId, ceilingMs, holder: heldUnder(header, holder) };
  const terms = { refusal: 'wait', terms: request, reading } as const;
  return grantKept(claimed(header, fingerprint), slot, terms);
}

/**
 * A claim may take a held worker ID: its holder keeps the range that ends where this one starts.
 */
function isClaim({ takesOver = false, workerIdMin, workerIdMax }: LeaseRequest): boolean {
  return takesOver && workerIdMin === workerIdMax;
}

/*
 * Chooses candidate worker IDs before one of them is leased.
 *
 * A few candidates, drawn by a text, are enough. If any is free, a fleet that starts at once
 * spreads over all worker IDs, and a repeated acquire finds its lease again. More candidates are
 * read only if all of these are held.
 *
 * Guarantee: a draw decides which worker ID is requested, never whether it may be granted.
 */

/** One transaction of any store reads this many at little cost. */
const CANDIDATE_COUNT = 64;

/** A span up to this size is read completely, to find the worker ID free for longest. */
const WHOLE_COUNT_MAX = 4096;

/** The shortest prefix of a wide span from which candidates are drawn. */
const REACH_MIN = 64;

/** Returns the span that a request may use: the worker IDs of its layout, if the registry moves. */
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
 * True if all IDs of the span are candidates; also for an empty span, whose draws would never end.
 */
export function isSmall(span: IdSpan): boolean {
  return !(countOf(span) > CANDIDATE_COUNT);
}

/** True if the span has too many ceilings to read them all. */
export function isWide(span: IdSpan): boolean {
  return countOf(span) > WHOLE_COUNT_MAX;
}

/** Returns the same candidates for the same seed, and the entire span if it is no larger. */
export function candidatesOf(span: IdSpan, seed: string): number[] {
  const count = countOf(span);
  if (isSmall(span)) return Array.from({ length: count }, (_, at) => span.workerIdMin + at);
  const draw = drawsOf(seed);
  if (!isWide(span)) {
    // Adjacent rows cost a fraction of what scattered rows cost to read. They wrap around.
    const first = Math.floor(draw() * count);
    const length = CANDIDATE_COUNT;
    return Array.from({ length }, (_, at) => span.workerIdMin + ((first + at) % count));
  }
  const reaches = reachesOf(span);
  const drawn = new Set<number>();
  for (let at = 0; drawn.size < CANDIDATE_COUNT; at++) {
    drawn.add(span.workerIdMin + Math.floor(draw() * reaches[at % reaches.length]!));
  }
  return [...drawn];
}

/**
 * The prefixes of a wide span to draw from: a short one, then double, up to all of it. So a fleet
 * of any size gets as many draws in the used part as in the rest.
 */
export function reachesOf(span: IdSpan): number[] {
  const count = countOf(span);
  const reaches: number[] = [];
  for (let reach = REACH_MIN; reach < count; reach *= 2) reaches.push(reach);
  return [...reaches, count];
}

/** Returns one item of a list, the same for the same seed. */
export function drawnFrom<T>(list: readonly T[], seed: string): T | undefined {
  return list[Math.floor(drawsOf(seed)() * list.length)];
}

/** Texts that differ only in their last letter have this many equal draws. */
const ALIKE_COUNT = 3;

/**
 * Pseudorandom numbers from 0 up to 1, seeded by a text. Source: Park and Miller 1988, with 31
 * bits, so no product exceeds 53 bits.
 */
export function drawsOf(seed: string): () => number {
  let state = 1;
  const next = (added = 0) => (state = ((state + added) * 16_807) % 2_147_483_647);
  for (let at = 0; at < seed.length; at++) next(seed.charCodeAt(at));
  for (let n = 0; n < ALIKE_COUNT; n++) next();
  return () => next() / 2_147_483_647;
}

/*
 * The step that grants a range, and its response.
 *
 * Guarantee: the response contains exactly what is written to the slot.
 */

export function grantLease(header: RegistryHeader, slot: HeldSlot): Step {
  const { workerId, ceilingMs, holder } = slot;
  const answer = { status: 'ok', workerId, floorMs: holder.floorMs, ceilingMs } as const;
  return { answer, header, slots: [slot] };
}

/** The request, and the registry's record of it. */
interface KeptTerms {
  /** The stored end of this same range; absent for a range that begins now. */
  readonly storedMs?: number;
  readonly refusal: 'wait' | 'hold';
  readonly terms: Pick<LeaseTerms, 'ttlMs' | 'minRangeMs'>;
  readonly reading: StoreReading;
}

/**
 * Grants a range, or the part of it that no server can lose any more. What this step stores is
 * granted by a later step, once it is old enough. An end is stored one ttl before it is reached.
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
  // An end that is stored again before its grant would never be old enough.
  if (waitMs > 0) return { answer: { status, waitMs, isStored: true }, header, slots: [] };
  return { ...grantLease(header, { ...slot, ceilingMs: storedMs }), slots: [slot] };
}

/** The store's time may be from before this request, and would misjudge the store's clock. */
export function withoutTime(answer: LeaseAnswer): LeaseAnswer {
  const { nowMs: _, timeMs: __, ...timeless } = answer;
  return timeless;
}
