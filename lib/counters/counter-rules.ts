/**
 * Grants positions of a counter: the next positions, or those that the clock has reached.
 *
 * Guarantee: only a clock, or a caller that gives a start, creates a missing counter. A counter of
 * another form stays unchanged.
 */
import { bigintFaults, nameFaults, refuse, wholeFaults } from '../options.js';
import type { StoreReading } from '../rows/row-store.js';
import { nowOf, slewed } from '../rows/store-clock.js';
import {
  blankRow,
  POSITION_MAX,
  STORE_COUNT_MAX,
  type CounterHeader,
  type CounterRow,
  type CounterSnapshot,
  type CounterStep,
  type ClockTake,
  type DenseTake,
  type NamedGrant,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
} from './counter-store.js';

type Step = CounterStep<TakeAnswer>;

/** A counter that may grant, and the store's time and server. */
interface Standing {
  readonly header: CounterHeader;
  readonly row: CounterRow;
  readonly reading: StoreReading;
}

export function take(snapshot: CounterSnapshot, request: TakeRequest, reading: StoreReading): Step {
  const observed = observeServer(snapshot.header, reading);
  const stored = snapshot.row ?? begin(request, observed);
  if (stored === undefined) return { answer: { status: 'absent' } };
  const { form } = stored;
  if (form !== formOf(request)) return { answer: { status: 'mismatch', stored: form } };
  const { have, era } = request;
  const header = observeAnswer(observed, stored, { have, era: snapshot.header && era });
  const row = settle(header, stored, request, reading.lossWindowMs);
  return request.kind === 'dense'
    ? takeDense({ header, row, reading }, request)
    : takeClock({ header, row, reading }, request);
}

/** A counter that follows the clock is safe from any start, since it starts as after a loss. */
function begin(request: TakeRequest, { era }: CounterHeader): CounterRow | undefined {
  if (request.kind === 'clock') return blankRow(formOf(request), 0n, 0);
  if (request.startAt === undefined) return undefined;
  return blankRow(formOf(request), request.startAt, era);
}

/** Each window grants at most half of the loss gap, because a loss spans at most two windows. */
function takeDense({ header, row, reading }: Standing, request: DenseTake): Step {
  const { lossWindowMs } = reading;
  const nowMs = nowOf(header);
  const restCount = POSITION_MAX - row.next;
  if (restCount <= 0n) return { answer: { status: 'full' } };
  if (row.readyAtMs > nowMs) return wait(header, row, row.readyAtMs - nowMs);
  const isOver = nowMs >= row.windowAtMs + lossWindowMs;
  const windowAtMs = isOver ? nowMs : row.windowAtMs;
  const usedCount = isOver ? 0n : row.windowCount;
  const windowLeft = lossWindowMs === 0 ? restCount : row.margin / 2n - usedCount;
  if (windowLeft <= 0n) return wait(header, row, windowAtMs + lossWindowMs - nowMs);
  const count = least(request.count, restCount, windowLeft);
  const counted = { ...row, windowAtMs, windowCount: usedCount + count };
  return grantRange({ header, row: counted, reading }, request, row.next + count);
}

function takeClock({ header, row: settled, reading }: Standing, request: ClockTake): Step {
  const nowMs = nowOf(header);
  const { aheadMs, reckonedMs = 0 } = request;
  const positionAt = (ms: number) => BigInt(ms) * BigInt(request.perMs);
  // The clock may have been set back together with the loss. Until the first grant after the loss,
  // any caller may prove this, and the jump then grows by the difference.
  const behindMs = Math.max(0, reckonedMs - nowMs);
  const clear = positionAt(settled.readyAtMs + Number(settled.margin) + behindMs);
  const isClear = settled.grant !== '' || settled.next >= clear;
  const row = isClear ? settled : { ...settled, next: clear };
  const ceiling = positionAt(nowMs + aheadMs);
  if (ceiling > POSITION_MAX || row.next >= POSITION_MAX) return { answer: { status: 'full' } };
  if (row.readyAtMs > nowMs) return wait(header, row, row.readyAtMs - nowMs);
  const clockAt = positionAt(nowMs);
  const first = row.next > clockAt ? row.next : clockAt;
  if (first >= ceiling) {
    const aheadOf = Number(first / BigInt(request.perMs)) + 1;
    return wait(header, row, aheadOf - nowMs - aheadMs);
  }
  const count = least(request.count, ceiling - first);
  return grantRange({ header, row: { ...row, next: first }, reading }, request, first + count);
}

function wait(header: CounterHeader, row: CounterRow, waitMs: number): Step {
  return { answer: { status: 'wait', waitMs, nowMs: nowOf(header) }, header, row };
}

function grantRange({ header, row, reading }: Standing, request: TakeRequest, end: bigint): Step {
  const { next: first } = row;
  const grant = `${first}.${reading.random}`;
  const named = `${grant}.${request.counter}`;
  const { era } = header;
  const nowMs = nowOf(header);
  const answer = { status: 'ok', first, end, grant: named, era, nowMs } as const;
  return { answer, header, row: { ...row, next: end, grant } };
}

function least(...values: bigint[]): bigint {
  return values.reduce((a, b) => (b < a ? b : a));
}

/*
 * Begins every operation on a counter: advances the clock, detects a loss of data, and makes the
 * counter jump over the lost positions.
 *
 * Guarantee: the clock never moves back. After a loss, a counter jumps over all positions that may
 * be granted but lost, and grants nothing until the jump itself can no longer be lost.
 */

function observeServer(stored: CounterHeader | undefined, reading: StoreReading): CounterHeader {
  const { timeMs, server, isPutBack, isLeft, random, clock = slewed } = reading;
  if (stored === undefined) {
    return { incarnation: random, server, lastTimeMs: timeMs, slewMs: 0, era: 1 };
  }
  const observed = { ...stored, ...clock(stored, timeMs) };
  // The other server has jumped from the same place, so this one counts two losses.
  if (isLeft) return inNextEra(inNextEra(observed));
  const isSame = observed.server === server && isPutBack !== true;
  return isSame ? observed : inNextEra({ ...observed, server });
}

/** Acknowledged writes may be lost: each counter jumps before it grants again. */
function inNextEra(header: CounterHeader): CounterHeader {
  return { ...header, era: header.era + 1 };
}

/** A caller that received more than the store has recorded proves that the store lost data. */
function observeAnswer(
  header: CounterHeader,
  row: CounterRow,
  { have, era = 0 }: Pick<TakeRequest, 'have' | 'era'>,
): CounterHeader {
  // A caller with a higher loss count has used a server that replaced this one.
  if (era > header.era) return inNextEra({ ...header, era });
  return have > row.next ? inNextEra(header) : header;
}

/**
 * Brings the counter up to date before it grants. A larger margin is recorded before it is used: if
 * a loss erased both, the next jump would use the smaller margin.
 */
function settle(
  header: CounterHeader,
  row: CounterRow,
  request: TakeRequest,
  lossWindowMs: number,
): CounterRow {
  const lossCount = header.era - row.era;
  const asked = request.kind === 'dense' ? request.lossGap : BigInt(request.aheadMs);
  const margin = asked > row.margin ? asked : row.margin;
  if (lossCount === 0 && margin === row.margin) return row;
  const readyAtMs = nowOf(header) + lossWindowMs;
  if (lossCount === 0) return { ...row, margin, readyAtMs };
  const known = request.have > row.next ? request.have : row.next;
  // Another server may have jumped after one of several losses, and granted from there.
  const jump = request.kind === 'dense' ? (lossCount > 1 ? 2n * margin : margin) : 0n;
  const next = known + jump;
  return { ...row, next, era: header.era, margin, readyAtMs, grant: '' };
}

/*
 * Takes back the last positions of the last grant.
 *
 * Guarantee: takes back only exactly that grant. A range with the same end may belong to a
 * different grant, since grants in between may have been returned or lost.
 */

/** @returns whether the positions were taken back */
export function giveBack(
  { header: stored, row }: CounterSnapshot,
  { text, first, unused }: NamedGrant & { readonly unused: bigint },
  reading: StoreReading,
): CounterStep<boolean> {
  if (stored === undefined || row === undefined) return { answer: false };
  const header = observeServer(stored, reading);
  // After a loss, later grants may follow the last one that the store has recorded.
  const isLast = row.grant === text && row.era === header.era && row.form.startsWith('dense ');
  if (!isLast || unused < 1n || unused > row.next - first) return { answer: false };
  return { answer: true, header, row: { ...row, next: row.next - unused, grant: '' } };
}

/*
 * Creates a counter for an operator.
 *
 * Guarantee: an existing counter is never changed. A new counter grants nothing until it can no
 * longer be lost, because otherwise it could be recreated from the same position.
 */

/** @returns false if the counter already exists */
export function createCounter(
  snapshot: CounterSnapshot,
  { start, stores }: NewCounter,
  reading: StoreReading,
): CounterStep<boolean> {
  if (snapshot.row !== undefined) return { answer: false };
  const header = observeServer(snapshot.header, reading);
  const readyAtMs = nowOf(header) + reading.lossWindowMs;
  const row = { ...blankRow(denseForm(stores), start, header.era), readyAtMs };
  return { answer: true, header, row };
}

/*
 * Refuses invalid requests before they reach a store. Also builds the form of a counter, which
 * exposes a request for another kind of counter or for another of several stores.
 */

/** The largest sequence width next to 41 bits of time. */
const PER_MS_MAX = 4_194_304;
const AHEAD_MS_MAX = 86_400_000;
/** Positions of later times exceed the exact numbers of Lua. */
const RECKONED_MS_MAX = 2 ** 42;
const ABOUT = /^[^\s\p{C}|]{1,256}$/u;

/** The form distinguishes counters: kind, unit, position among the stores, and meaning. */
export function formOf(request: TakeRequest): string {
  const { stores = '1/1' } = request;
  if (request.kind === 'dense') return denseForm(stores);
  const { perMs, about } = request;
  return `clock ${perMs} ${stores}${about === undefined ? '' : ` ${about}`}`;
}

export function denseForm(stores = '1/1'): string {
  return `dense ${stores}`;
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkTake(request: TakeRequest): void {
  const { counter, stores, count, have, era = 0 } = request;
  refuseRequest([
    ...nameFaults('counter', counter),
    ...storesFaults(stores),
    ...bigintFaults('count', count, 1n),
    ...bigintFaults('have', have, 0n),
    ...wholeFaults('era', era, [0, Number.MAX_SAFE_INTEGER]),
    ...kindFaults(request),
  ]);
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkNew({ counter, start, stores }: NewCounter): void {
  refuseRequest([
    ...nameFaults('counter', counter),
    ...storesFaults(stores),
    ...bigintFaults('start', start, 0n),
  ]);
}

function kindFaults(request: TakeRequest): string[] {
  if (request.kind === 'clock') {
    return [
      ...wholeFaults('perMs', request.perMs, [1, PER_MS_MAX]),
      ...wholeFaults('aheadMs', request.aheadMs, [1, AHEAD_MS_MAX]),
      ...aboutFaults(request.about),
      ...wholeFaults('reckonedMs', request.reckonedMs ?? 0, [0, RECKONED_MS_MAX]),
    ];
  }
  if (request.kind !== 'dense') return ['Expected `kind` to be dense or clock.'];
  const { lossGap, startAt } = request;
  const startFaults = startAt === undefined ? [] : bigintFaults('startAt', startAt, 0n);
  return [...bigintFaults('lossGap', lossGap, 2n), ...startFaults];
}

function storesFaults(stores: unknown = '1/1'): string[] {
  const [, k, n] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})$/.exec(String(stores)) ?? [];
  if (k !== undefined && Number(k) <= Number(n) && Number(n) <= STORE_COUNT_MAX) return [];
  return ['Expected `stores` to be k/N, with k from 1 to N and N up to 1024.'];
}

function aboutFaults(about: unknown): string[] {
  if (about === undefined || (typeof about === 'string' && ABOUT.test(about))) return [];
  return ['Expected `about` to be 1 to 256 characters without spaces or |.'];
}

function refuseRequest(faults: readonly string[]): void {
  refuse(faults, 'This request to a counter is invalid. ');
}
