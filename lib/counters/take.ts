/**
 * Grants positions of a counter: the next ones, or those that the clock has come to.
 *
 * Promise: a counter that is not there is created by a clock, or by whoever says where it starts,
 * and by nothing else; one of another form is left alone.
 */
import { nowOf } from '../registry/registry-clock.js';
import { formOf } from './check-take.js';
import { heard, opened, settled } from './counter-opening.js';
import { blankRow } from './counter-slice.js';
import type {
  CounterHeader,
  CounterReading,
  CounterRow,
  CounterSlice,
  CounterStep,
} from './counter-slice.js';
import type { ClockTake, DenseTake, TakeAnswer, TakeRequest } from './counter-store.js';
import { POSITION_MAX } from './counter-store.js';
import { grantText } from './grant-text.js';

type Step = CounterStep<TakeAnswer>;

/** A counter that grants, and the moment. */
interface Standing {
  readonly header: CounterHeader;
  readonly row: CounterRow;
  readonly reading: CounterReading;
}

export function take(slice: CounterSlice, request: TakeRequest, reading: CounterReading): Step {
  const moved = opened(slice.header, reading);
  const stored = slice.row ?? begun(request, moved);
  if (stored === undefined) return { answer: { status: 'absent' } };
  const { form } = stored;
  if (form !== formOf(request)) return { answer: { status: 'mismatch', stored: form } };
  const { have, era } = request;
  const header = heard(moved, stored, { have, era: slice.header && era });
  return request.kind === 'dense'
    ? takeDense({ header, row: stored, reading }, request)
    : takeClock({ header, row: stored, reading }, request);
}

/** One that follows the clock is safe wherever it begins, as after a loss. */
function begun(request: TakeRequest, { era }: CounterHeader): CounterRow | undefined {
  if (request.kind === 'clock') return blankRow(formOf(request), 0n, 0);
  if (request.startAt === undefined) return undefined;
  return blankRow(formOf(request), request.startAt, era);
}

/** Half of the skip in each window: whatever one loss takes with it lies in two of them. */
function takeDense({ header, row: stored, reading }: Standing, request: DenseTake): Step {
  const { lossWindowMs } = reading;
  const nowMs = nowOf(header);
  const { have, skip } = request;
  // Another server may have jumped over one of several losses, and granted from there.
  const jump = (next: bigint, margin: bigint, lossCount: number) =>
    next + (lossCount > 1 ? 2n * margin : margin);
  const row = settled(header, stored, { have, margin: skip, lossWindowMs, jump });
  const restCount = POSITION_MAX - row.next;
  if (restCount <= 0n) return { answer: { status: 'full' } };
  if (row.readyAtMs > nowMs) return waiting(header, row, row.readyAtMs - nowMs);
  const isOver = nowMs >= row.windowAtMs + lossWindowMs;
  const windowAtMs = isOver ? nowMs : row.windowAtMs;
  const usedCount = isOver ? 0n : row.windowCount;
  const windowLeft = lossWindowMs === 0 ? restCount : row.margin / 2n - usedCount;
  if (windowLeft <= 0n) return waiting(header, row, windowAtMs + lossWindowMs - nowMs);
  const count = least(request.count, restCount, windowLeft);
  const counted = { ...row, windowAtMs, windowCount: usedCount + count };
  return granted({ header, row: counted, reading }, request, row.next + count);
}

function takeClock({ header, row: stored, reading }: Standing, request: ClockTake): Step {
  const { lossWindowMs } = reading;
  const nowMs = nowOf(header);
  const { have, aheadMs } = request;
  const positionAt = (ms: number) => BigInt(ms) * BigInt(request.perMs);
  const jump = (next: bigint, margin: bigint) =>
    greatest(next, positionAt(nowMs + Number(margin) + lossWindowMs));
  const row = settled(header, stored, { have, margin: BigInt(aheadMs), lossWindowMs, jump });
  const ceiling = positionAt(nowMs + aheadMs);
  if (ceiling > POSITION_MAX || row.next >= POSITION_MAX) return { answer: { status: 'full' } };
  if (row.readyAtMs > nowMs) return waiting(header, row, row.readyAtMs - nowMs);
  const first = greatest(row.next, positionAt(nowMs));
  if (first >= ceiling) {
    const aheadOf = Number(first / BigInt(request.perMs)) + 1;
    return waiting(header, row, aheadOf - nowMs - aheadMs);
  }
  const count = least(request.count, ceiling - first);
  return granted({ header, row: { ...row, next: first }, reading }, request, first + count);
}

function waiting(header: CounterHeader, row: CounterRow, waitMs: number): Step {
  return { answer: { status: 'wait', waitMs }, header, row };
}

function granted({ header, row, reading }: Standing, request: TakeRequest, end: bigint): Step {
  const { next: first } = row;
  const grant = grantText({ first, random: reading.random });
  const named = `${grant}.${request.counter}`;
  const answer = { status: 'ok', first, end, grant: named, era: header.era } as const;
  return { answer, header, row: { ...row, next: end, grant } };
}

function least(...values: bigint[]): bigint {
  return values.reduce((a, b) => (b < a ? b : a));
}

function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
