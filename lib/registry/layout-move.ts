/**
 * While a fleet moves from one layout to another, its registry lists the admitted layouts instead
 * of one fingerprint: `#1 t41-w10-s12/1ms@0[0-511] t41-w12-s10/1ms@0[2048-4095]`. The number counts
 * the moves, so a process that has seen the latest move can detect a registry that lost it.
 *
 * Guarantee: two layouts that are admitted at the same time never generate equal IDs. Either they
 * have the same clock, and their worker IDs have different bits in the ID. Or every ID of the newer
 * layout is above all IDs of the older one, up to the time after which the older one gets no range.
 * No number is a worker ID of both layouts, so a registry shows the layout of each holder.
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

/** One layout of a registry, and the worker IDs that its processes may lease. */
export interface AdmittedLayout {
  readonly fingerprint: string;
  /** Undefined for a layout that gets no more ranges. */
  readonly span?: IdSpan | undefined;
  /** The end of the layout's IDs, exclusive. Unix ms; absent for a layout without an end. */
  readonly untilMs?: number | undefined;
}

/** A registry without a move admits one layout with all its worker IDs. */
const ALL: IdSpan = { workerIdMin: 0, workerIdMax: Infinity };
const ENTRY = /^(\S+)\[(?:(\d+)-(\d+))?(?:<(\d+))?\]$/;

/** Returns every layout that a registry admits or has admitted, in the order of the moves. */
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
 * Returns the worker IDs that a layout may use in a registry; undefined if it is not admitted.
 *
 * @param endMs the end of a range granted now
 */
export function admittedSpan(text: string, fingerprint: string, endMs: number): IdSpan | undefined {
  // Operators pass the whole text.
  if (text === '' || text === fingerprint) return ALL;
  if (isContested(text)) return undefined;
  const found = layoutsIn(text).find((layout) => layout.fingerprint === fingerprint);
  return endMs > (found?.untilMs ?? Infinity) ? undefined : found?.span;
}

export function isListed(text: string, fingerprint: string): boolean {
  return layoutsIn(text).some((layout) => layout.fingerprint === fingerprint);
}

/**
 * Returns the later of two texts: the registry's own, or one that a process received before the
 * registry lost it. This also settles a conflict between layouts that the move admitted. Only an
 * operator closes a registry, since a closing text may come from the other store of a move.
 */
export function latestOf(stored: string, reported = ''): string {
  const isLater = moveCountOf(reported) > moveCountOf(stored) || isOpening(stored, reported);
  if (!isLater || isClosed(reported)) return stored;
  const names = partsOf(stored).flatMap((part) => layoutsIn(part).map((each) => each.fingerprint));
  return names.every((name) => isListed(reported, name)) ? reported : stored;
}

/** The target registry of a move is closed at first, and opens under the same number. */
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
