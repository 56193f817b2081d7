/**
 * The search for a free worker id in a store of rows: a few that are drawn first; where none of
 * them is free all of the span, or more draws where the span is wide. The rule decides what is
 * granted, from the slice it was read with.
 */
import type { LeaseRequest } from '../lease/distributed-support.js';
import { acquire } from './acquire.js';
import { candidatesOf, countOf, drawnFrom, isSmall, isWide, type IdSpan } from './candidates.js';
import type { Changes, Step, WorkerSlot } from './slice.js';
import type { StoredSlice } from './stored-slice.js';

/** Of a span too wide to be read whole. */
const DRAW_COUNT = 4;

/** What the search asks of the store. */
export interface Rows {
  read(workerIds: readonly number[], request: LeaseRequest): Promise<StoredSlice>;
  ceilings(span: IdSpan): Promise<readonly Pick<WorkerSlot, 'workerId' | 'ceilingMs'>[]>;
}

/** What was read for a worker id, and what the rule made of it. */
export interface Attempt<T extends Changes> {
  readonly workerId: number;
  readonly slice: StoredSlice;
  readonly step: T;
}

/** @param number of the attempt, from 0 up: each looks at others */
export async function acquireFrom(
  rows: Rows,
  request: LeaseRequest,
  number: number,
): Promise<Attempt<Step>> {
  const seed = `${request.token} ${number}`;
  const drawn = await acquireAmong(rows, candidatesOf(request, seed), request);
  if (drawn.step.answer.status !== 'none-free' || isSmall(request)) return drawn;
  if (isWide(request)) return acquireByDraws(drawn, { rows, request, seed });
  const { nowMs } = drawn.slice;
  const all = await slotsIn(rows, request);
  const free = all.filter(({ ceilingMs }) => ceilingMs <= nowMs);
  // Those who ask at once would all take the one that has been free for longest.
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
  const slice = await rows.read(workerIds, request);
  const slots = workerIds.map((workerId) => slice.slotOf(workerId));
  const lowest = drawnFrom(longestFree(madeFirst(slots, slice)), request.token)!;
  const step = acquire(slice.forAcquire(request, lowest), request, slice.reading);
  return { workerId: lowest.workerId, slice, step };
}

/** All of a span; a worker id that was never leased has been free for longest. */
async function slotsIn(rows: Rows, span: IdSpan): Promise<WorkerSlot[]> {
  const stored = await rows.ceilings(span);
  const ceilings = new Map(stored.map(({ workerId, ceilingMs }) => [workerId, ceilingMs]));
  return Array.from({ length: countOf(span) }, (_, at) => {
    const workerId = span.workerIdMin + at;
    return { workerId, ceilingMs: ceilings.get(workerId) ?? 0 };
  });
}

/** Rows are reused before others are made, so that a registry has as many as its fleet needs. */
function madeFirst(slots: readonly WorkerSlot[], slice: StoredSlice): readonly WorkerSlot[] {
  const { nowMs } = slice;
  const made = slots.filter(({ workerId, ceilingMs }) => slice.has(workerId) && ceilingMs <= nowMs);
  return made.length > 0 ? made : slots;
}

function longestFree(slots: readonly WorkerSlot[]): readonly WorkerSlot[] {
  const lowestMs = slots.reduce((ms, { ceilingMs }) => Math.min(ms, ceilingMs), Infinity);
  return slots.filter(({ ceilingMs }) => ceilingMs === lowestMs);
}

function waitOf({ step: { answer } }: Attempt<Step>): number {
  return 'waitMs' in answer ? answer.waitMs : 0;
}
