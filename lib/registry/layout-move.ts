/**
 * A registry whose fleet moves from one layout to another lists the layouts that it admits, in
 * place of one fingerprint: `#1 t41-w10-s12/1ms@0[0-511] t41-w12-s10/1ms@0[2048-4095]`. The number
 * counts the moves, so that a process which has heard of the latest one can tell a registry that
 * forgot it. stores/redis/scripts/worker-ids/move.lua reads the same text.
 *
 * Guarantee: two layouts that are admitted at once never make the same id. Either they have the
 * same clock, and each has worker ids of which the other one has not the bits; or every id of the
 * newer one is above all that the older one makes until the time after which it gets no range. No
 * number is a worker id of both, so that a registry shows which layout a holder has.
 */
import { BitLayout } from '../core/layout/bit-layout.js';
import { readFingerprint } from '../core/layout/layout-fields.js';
import {
  isClosed,
  isContested,
  isMove,
  moveCountOf,
  partsOf,
  storeMoveIn,
  type StoreMove,
} from '../lease/lease-texts.js';
import type { IdSpan } from './snapshot.js';

/** One layout of a registry, and the worker ids that its processes may have. */
export interface AdmittedLayout {
  readonly fingerprint: string;
  /** Undefined for a layout that gets no range any more. */
  readonly span?: IdSpan | undefined;
  /** No id of it has this time, or a later one. Unix ms; absent for one without such an end. */
  readonly untilMs?: number | undefined;
}

/** A registry that was never moved admits one layout as a whole. */
const ALL: IdSpan = { workerIdMin: 0, workerIdMax: Infinity };
const ENTRY = /^(\S+)\[(?:(\d+)-(\d+))?(?:<(\d+))?\]$/;

/** Every layout that a registry admits or has admitted, in the order of the moves. */
export function layoutsIn(text: string): AdmittedLayout[] {
  if (text === '') return [];
  if (!isMove(text)) return [{ fingerprint: text, span: ALL }];
  const entries = text.split(' ').slice(1);
  return entries.flatMap((entry) => {
    const [, fingerprint, min, max, until] = ENTRY.exec(entry) ?? [];
    if (fingerprint === undefined) return [];
    const span = min === undefined ? {} : { span: spanOf(Number(min), Number(max)) };
    return [{ fingerprint, ...span, ...(until !== undefined && { untilMs: Number(until) }) }];
  });
}

/** @param move of the registry to another store, or from one: see store-move.ts */
export function moveText(
  count: number,
  layouts: readonly AdmittedLayout[],
  move?: StoreMove,
): string {
  const entries = layouts.map(({ fingerprint, span, untilMs }) => {
    const ids = span === undefined ? '' : `${span.workerIdMin}-${span.workerIdMax}`;
    return `${fingerprint}[${ids}${untilMs === undefined ? '' : `<${untilMs}`}]`;
  });
  const words = move === undefined ? [] : [`#${move.side}:${move.key}`];
  return [`#${count}`, ...words, ...entries].join(' ');
}

/**
 * The worker ids that a layout may have in a registry; undefined if it is not admitted.
 *
 * @param endMs where a range that is granted now would end
 */
export function admittedSpan(text: string, fingerprint: string, endMs: number): IdSpan | undefined {
  // An operator names the whole text.
  if (text === '' || text === fingerprint) return ALL;
  if (isContested(text)) return undefined;
  const found = layoutsIn(text).find((layout) => layout.fingerprint === fingerprint);
  return endMs > (found?.untilMs ?? Infinity) ? undefined : found?.span;
}

export function isListed(text: string, fingerprint: string): boolean {
  return layoutsIn(text).some((layout) => layout.fingerprint === fingerprint);
}

/**
 * The later of two texts: what a registry stores, or what a process was told before it forgot. That
 * also settles a contest between layouts which the move had admitted. A registry is closed by an
 * operator alone: what says so may be of the other store of a move.
 */
export function latestOf(stored: string, reported = ''): string {
  const isLater = moveCountOf(reported) > moveCountOf(stored) || isOpening(stored, reported);
  if (!isLater || isClosed(reported)) return stored;
  const names = partsOf(stored).flatMap((part) => layoutsIn(part).map((each) => each.fingerprint));
  return names.every((name) => isListed(reported, name)) ? reported : stored;
}

/** A registry that a move leads to is closed at first, and opens under the same number. */
function isOpening(stored: string, reported: string): boolean {
  const isAwaited = isClosed(stored) && storeMoveIn(stored)!.side === 'in';
  return isAwaited && reported.startsWith(stored.slice(0, stored.lastIndexOf('[') + 1));
}

export function isWithin(workerId: number, { workerIdMin, workerIdMax }: IdSpan): boolean {
  return workerId >= workerIdMin && workerId <= workerIdMax;
}

/** Returns undefined if no worker id is in both. */
export function commonSpan(one: IdSpan, other: IdSpan | undefined): IdSpan | undefined {
  if (other === undefined) return undefined;
  const workerIdMin = Math.max(one.workerIdMin, other.workerIdMin);
  const workerIdMax = Math.min(one.workerIdMax, other.workerIdMax);
  return workerIdMin > workerIdMax ? undefined : { workerIdMin, workerIdMax };
}

function spanOf(workerIdMin: number, workerIdMax: number): IdSpan {
  return { workerIdMin, workerIdMax };
}

/*
 * Plans a move. Two layouts with the same clock (epoch, tick and place of the time) share the bits
 * below the time: while both run, the one with fewer worker ids keeps the lower half of them, and
 * the other one has the upper half of its own. So neither has bits of the other, and no worker id
 * has the same number in both.
 */

/** What a layout and its registry know of a move. */
export interface MoveTerms {
  readonly from: BitLayout;
  readonly to: BitLayout;
  /** The clock of the registry, Unix ms. */
  readonly nowMs: number;
  /** What the registry stores of layouts. */
  readonly text: string;
  /** The worker ids that the fleet uses, in `from`: a block whose size is a power of two. */
  readonly span: IdSpan;
}

export type MovePlan =
  | { readonly layouts: readonly AdmittedLayout[]; readonly untilMs?: number | undefined }
  /** @property possibleFromMs absent if it never is */
  | { readonly refusal: string; readonly possibleFromMs?: number | undefined };

/** The clock of a registry that lost its data may be behind what it was by less than this. */
const SANE_MS = 86_400_000;
/** A rollout of the new layout takes less. */
export const SIDE_BY_SIDE_MS = 30 * 86_400_000;

export function planMove(terms: MoveTerms): MovePlan {
  const { from, to, text } = terms;
  if (from.fingerprint === to.fingerprint) return { refusal: 'It is the layout that runs.' };
  const listed = layoutsIn(text);
  const others = listed.filter(({ fingerprint: name }) => ![from, to].some(isNamed(name)));
  if (others.some(({ span }) => span !== undefined)) {
    return { refusal: 'Two other layouts run side by side here: end that move first.' };
  }
  const ownUntilMs = listed.find((each) => each.fingerprint === from.fingerprint)?.untilMs;
  const plan = hasSameClock(from, to)
    ? planHalves(terms, ownUntilMs)
    : planAbove(terms, ownUntilMs, others);
  if ('refusal' in plan) return plan;
  return { ...plan, layouts: [...others, ...plan.layouts] };
}

const isNamed =
  (name: string) =>
  ({ fingerprint }: BitLayout): boolean =>
    fingerprint === name;

function hasSameClock(one: BitLayout, other: BitLayout): boolean {
  return (
    one.epochMs === other.epochMs &&
    one.unitMs === other.unitMs &&
    one.timestamp.shift === other.timestamp.shift
  );
}

function planHalves({ from, to, span }: MoveTerms, untilMs: number | undefined): MovePlan {
  if (![from, to].every(isPlain)) {
    return {
      refusal:
        'Both layouts have the same clock, so their ids are kept apart by the worker ids. That ' +
        'needs the worker bits right below the time, and the sequence right below them.',
    };
  }
  const [few, many] = from.workerIdMax < to.workerIdMax ? [from, to] : [to, from];
  const factor = (many.workerIdMax + 1) / (few.workerIdMax + 1);
  const scale = few === from ? 1 : factor;
  const [first, end] = [span.workerIdMin / scale, (span.workerIdMax + 1) / scale];
  const half = (end - first) / 2;
  if (!Number.isInteger(first) || !Number.isInteger(half)) {
    return { refusal: `Worker ids ${idsText(span)} cannot be halved between the two layouts.` };
  }
  const lower = spanOf(first, first + half - 1);
  const upper = spanOf((first + half) * factor, end * factor - 1);
  const [old, next] = few === from ? [lower, upper] : [upper, lower];
  return {
    layouts: [
      { fingerprint: from.fingerprint, span: old, untilMs },
      { fingerprint: to.fingerprint, span: next, untilMs },
    ],
  };
}

/** Time, worker and sequence, from the top down, and nothing else. */
function isPlain({ fields }: BitLayout): boolean {
  const roles = fields.map(({ role }) => role);
  const isInOrder = roles.every((role, at) => at === 0 || rankOf(role) >= rankOf(roles[at - 1]!));
  return roles[0] === 'timestamp' && isInOrder && !roles.includes('call');
}

const rankOf = (role: string): number => ['timestamp', 'worker', 'sequence'].indexOf(role);

function planAbove(
  terms: MoveTerms,
  ownUntilMs = Infinity,
  ended: readonly AdmittedLayout[],
): MovePlan {
  const { from, to, nowMs } = terms;
  const lowest = lowestAt(to, nowMs - SANE_MS);
  const belowMs = lowest === undefined ? -Infinity : msBelow(from, lowest);
  const untilMs = Math.min(belowMs, ownUntilMs);
  if (lowest === undefined || untilMs < nowMs + SIDE_BY_SIDE_MS) return tooLow({ from, to, nowMs });
  const isClear = ({ fingerprint, untilMs: endMs = Infinity }: AdmittedLayout): boolean => {
    const layout = new BitLayout(readFingerprint(fingerprint)!);
    return msBelow(layout, lowest) >= endMs || (hasSameClock(layout, to) && endMs <= nowMs);
  };
  if (!ended.every(isClear)) {
    return { refusal: 'New ids would lie among those of a layout that was tried here before.' };
  }
  const spans = splitAt(terms);
  if (spans === undefined) {
    return {
      refusal: `Worker ids ${idsText(terms.span)} cannot be halved between the two layouts.`,
    };
  }
  return {
    layouts: [
      { fingerprint: from.fingerprint, span: spans[0], untilMs },
      { fingerprint: to.fingerprint, span: spans[1] },
    ],
    untilMs,
  };
}

/** No bits have to be kept apart here; but it is seen by its number whose a worker id is. */
function splitAt({ from, to, span }: MoveTerms): readonly [IdSpan, IdSpan] | undefined {
  const { workerIdMin, workerIdMax } = span;
  const isWhole = workerIdMin === 0 && workerIdMax === from.workerIdMax;
  if (!isWhole && from.workerIdMax !== to.workerIdMax) return undefined;
  const lastMax = isWhole ? to.workerIdMax : workerIdMax;
  const half = Math.floor((Math.min(workerIdMax, lastMax) - workerIdMin + 1) / 2);
  if (half === 0) return undefined;
  const at = workerIdMin + half;
  return [spanOf(workerIdMin, at - 1), spanOf(at, lastMax)];
}

/**
 * The text of a registry in which one layout stays and the others end.
 *
 * @param endMs no range that was granted to one of those lasts longer
 */
export function endedText(text: string, kept: BitLayout, endMs: number): string {
  const layouts = layoutsIn(text).map(({ fingerprint, span, untilMs }): AdmittedLayout => {
    if (fingerprint === kept.fingerprint)
      return { fingerprint, span: spanOf(0, kept.workerIdMax), untilMs };
    if (span === undefined) return { fingerprint, untilMs };
    return { fingerprint, untilMs: Math.min(untilMs ?? Infinity, endMs) };
  });
  return moveText(moveCountOf(text) + 1, layouts);
}

/** The smallest id of a time; undefined beyond the life of the layout. */
function lowestAt(layout: BitLayout, ms: number): bigint | undefined {
  const tick = layout.tickOf(ms);
  if (tick < 0 || tick > layout.timestamp.max || layout.fields[0] !== layout.timestamp) {
    return undefined;
  }
  return BigInt(tick) << BigInt(layout.timestamp.shift);
}

/** The time up to which all ids of a layout are below an id. */
function msBelow(layout: BitLayout, id: bigint): number {
  if (layout.fields[0] !== layout.timestamp) return -Infinity;
  return layout.msOf(Number(id >> BigInt(layout.timestamp.shift)));
}

function tooLow({ from, to, nowMs }: Pick<MoveTerms, 'from' | 'to' | 'nowMs'>): MovePlan {
  const fromMs = firstAbove(from, to, nowMs);
  const refusal =
    'New ids would not lie above those of the layout that runs, so one could equal an old one.';
  return { refusal, ...(fromMs !== undefined && { possibleFromMs: fromMs }) };
}

/** Both grow with time on a straight line: one catches up with the other once, or never. */
function firstAbove(from: BitLayout, to: BitLayout, nowMs: number): number | undefined {
  const endMs = Math.min(from.lastDate.getTime(), to.lastDate.getTime());
  const isPossible = (ms: number) => {
    const lowest = lowestAt(to, ms - SANE_MS);
    return lowest !== undefined && msBelow(from, lowest) >= ms + SIDE_BY_SIDE_MS;
  };
  if (!isPossible(endMs)) return undefined;
  let [low, high] = [nowMs, endMs];
  while (high - low > 1000) {
    const middle = Math.floor((low + high) / 2);
    if (isPossible(middle)) high = middle;
    else low = middle;
  }
  return high;
}

export function idsText({ workerIdMin, workerIdMax }: IdSpan): string {
  return `${workerIdMin} to ${workerIdMax}`;
}
