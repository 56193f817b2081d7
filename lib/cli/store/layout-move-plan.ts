/**
 * Plans the move of a running fleet to another layout.
 *
 * Guarantee: two layouts with the same clock (epoch, tick and place of the time) share the bits
 * below the time. While both run, the layout with fewer worker IDs keeps the lower half of its
 * worker IDs. The other layout has the upper half of its own. So the two share no bits and no
 * worker ID.
 */
import { BitLayout } from '../../core/layout/bit-layout.js';
import { readFingerprint } from '../../core/layout/layout-fields.js';
import { isContested, moveCountOf, partsOf, type StoreMove } from '../../lease/lease-texts.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { layoutsIn, type AdmittedLayout } from '../../registry/layout-move.js';
import { SANE_MS } from '../../registry/prologue.js';
import type { IdSpan } from '../../registry/snapshot.js';

/** A move would take the number of a region, which gets no other number. */
export const NO_MOVE_OF_REGIONS =
  'This is a registry of regions, which cannot be moved. Let the option `regions` lead to an ' +
  'empty one in all regions: each claims its number there.';

const isActive = ({ span }: AdmittedLayout): boolean => span !== undefined;

/** Every layout that a registry names, even if two contest it. */
function listedIn(text: string): AdmittedLayout[] {
  return partsOf(text).flatMap(layoutsIn);
}

/** The layouts that have worker IDs, or contest them. */
export function activeIn(text: string): AdmittedLayout[] {
  return listedIn(text).filter(isActive);
}

/** The layouts of a registry in words. */
export function layoutsText(text: string): string {
  const names = activeIn(text).map(({ fingerprint, span }) => {
    const isWhole = span!.workerIdMax === Infinity;
    return isWhole ? fingerprint : `${fingerprint} (worker ids ${idsText(span!)})`;
  });
  const list = names.join(' and ') || 'No layout';
  return isContested(text) ? `${list} contest this registry` : list;
}

/** The layouts of a move and the state of its registry. */
export interface MoveTerms {
  readonly from: BitLayout;
  readonly to: BitLayout;
  /** The clock of the registry, Unix ms. */
  readonly nowMs: number;
  /** The text of the registry about its layouts. */
  readonly text: string;
  /** The worker IDs that the fleet uses, in `from`: a block whose size is a power of two. */
  readonly span: IdSpan;
}

export type MovePlan =
  | { readonly layouts: readonly AdmittedLayout[]; readonly untilMs?: number | undefined }
  /** @property possibleFromMs absent if the move is never possible */
  | { readonly refusal: string; readonly possibleFromMs?: number | undefined };

/** A rollout of the new layout takes less time than this. */
export const SIDE_BY_SIDE_MS = 30 * 86_400_000;

export function planMove(terms: MoveTerms): MovePlan {
  const { from, to, text } = terms;
  if (from.fingerprint === to.fingerprint) return { refusal: 'It is the layout that runs.' };
  if (regionCountOf(from.fingerprint) !== undefined) return { refusal: NO_MOVE_OF_REGIONS };
  const listed = layoutsIn(text);
  const own = [from.fingerprint, to.fingerprint];
  const others = listed.filter(({ fingerprint }) => !own.includes(fingerprint));
  if (others.some(isActive)) {
    return { refusal: 'Two other layouts run side by side here: end that move first.' };
  }
  const ownUntilMs = listed.find((each) => each.fingerprint === from.fingerprint)?.untilMs;
  const plan = hasSameClock(from, to)
    ? planHalves(terms, ownUntilMs)
    : planAbove(terms, ownUntilMs, others);
  if ('refusal' in plan) return plan;
  return { ...plan, layouts: [...others, ...plan.layouts] };
}

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

/** True for a layout of time, worker and sequence, from the top down, and nothing else. */
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

/** The layouts share no bits here, but a worker ID must still show its layout by its number. */
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

/** @param move the move of the registry from or to another store: see store-move-plan.ts */
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
 * The text of a registry in which one layout stays and the others end.
 *
 * @param endMs the time by which all granted ranges of the ended layouts end
 */
export function endedText(text: string, kept: BitLayout, endMs: number): string {
  const layouts = listedIn(text).map(({ fingerprint, span, untilMs }): AdmittedLayout => {
    if (fingerprint === kept.fingerprint)
      return { fingerprint, span: spanOf(0, kept.workerIdMax), untilMs };
    if (span === undefined) return { fingerprint, untilMs };
    return { fingerprint, untilMs: Math.min(untilMs ?? Infinity, endMs) };
  });
  // A holder during a contest has missed a change, so its next range begins above.
  return moveText(moveCountOf(text) + (isContested(text) ? 2 : 1), layouts);
}

/** The smallest ID of a time; undefined outside the lifetime of the layout. */
function lowestAt(layout: BitLayout, ms: number): bigint | undefined {
  const tick = layout.tickOf(ms);
  if (tick < 0 || tick > layout.timestamp.max || layout.fields[0] !== layout.timestamp) {
    return undefined;
  }
  return BigInt(tick) << BigInt(layout.timestamp.shift);
}

/** All IDs of the layout from before this time are below the given ID; Unix ms. */
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

/** Both grow linearly with time, so one overtakes the other once, or never. */
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

function spanOf(workerIdMin: number, workerIdMax: number): IdSpan {
  return { workerIdMin, workerIdMax };
}
