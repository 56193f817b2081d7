/**
 * A registry whose fleet moves from one layout to another lists the layouts that it admits, in
 * place of one fingerprint: `#1 t41-w10-s12/1ms@0[0-511] t41-w12-s10/1ms@0[2048-4095]`. The number
 * counts the moves, so that a process which has heard of the latest one can tell a registry that
 * forgot it.
 *
 * Guarantee: two layouts that are admitted at once never make the same ID. Either they have the
 * same clock, and each has worker IDs of which the other one has not the bits; or every ID of the
 * newer one is above all that the older one makes until the time after which it gets no range. No
 * number is a worker ID of both, so that a registry shows which layout a holder has.
 */
import {
  isClosed,
  isContested,
  isMove,
  moveCountOf,
  partsOf,
  storeMoveIn,
} from '../lease/lease-texts.js';
import type { IdSpan } from './snapshot.js';

/** One layout of a registry, and the worker IDs that its processes may have. */
export interface AdmittedLayout {
  readonly fingerprint: string;
  /** Undefined for a layout that gets no range any more. */
  readonly span?: IdSpan | undefined;
  /** No ID of it has this time, or a later one. Unix ms; absent for one without such an end. */
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
    const span =
      min === undefined ? {} : { span: { workerIdMin: Number(min), workerIdMax: Number(max) } };
    return [{ fingerprint, ...span, ...(until !== undefined && { untilMs: Number(until) }) }];
  });
}

/**
 * The worker IDs that a layout may have in a registry; undefined if it is not admitted.
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

/** Returns undefined if no worker ID is in both. */
export function commonSpan(one: IdSpan, other: IdSpan | undefined): IdSpan | undefined {
  if (other === undefined) return undefined;
  const workerIdMin = Math.max(one.workerIdMin, other.workerIdMin);
  const workerIdMax = Math.min(one.workerIdMax, other.workerIdMax);
  return workerIdMin > workerIdMax ? undefined : { workerIdMin, workerIdMax };
}
