/**
 * A server that was left for another one and is asked again, although it was never restarted: it
 * shows no sign of what the other one granted meanwhile, but those who were answered there know.
 *
 * Promise: once one of them asks, no range that is granted starts below what it was granted. The
 * Lua of backends/redis/worker-ids/scripts/branch.lua says the same.
 */
import type { ReckonedTime, RegistryMark, SeenRange } from '../lease/distributed-support.js';
import { SANE_MS } from './layout-claim.js';
import { afterLoss, withHeard } from './opening.js';
import { nowOf } from './registry-clock.js';
import type { RegistryHeader, SlotHolder } from './slice.js';

/** True for what was answered by another server, or from another registry. */
export function isOfAnother(
  header: RegistryHeader,
  { incarnation, server }: Pick<RegistryMark, 'incarnation' | 'server'>,
): boolean {
  return incarnation !== header.incarnation || server !== header.server;
}

/**
 * What servers before this one granted ends below the safe floor. A range of another one that lasts
 * and does not was granted since this one began, which is a loss; and the floor is above it then,
 * so that nobody proves the same again. This one had been left for the other then: what it granted
 * before this era may be somebody else's. Eras tell nothing of who took over from whom: those of
 * two incarnations, or of replicas that lagged, are counted from different beginnings.
 */
export function heardOf(
  header: RegistryHeader,
  seen: SeenRange | undefined,
  reckoned?: ReckonedTime,
): RegistryHeader {
  if (seen === undefined || !isOfAnother(header, seen)) return header;
  const { haveMs, era: seenEra = 0 } = seen;
  if (haveMs <= header.safeFloorMs || haveMs >= nowOf(header) + SANE_MS) return header;
  const begun = afterLoss({ ...header, era: Math.max(header.era, seenEra) });
  // A floor that is ahead of a clock that stays behind would stop everybody until that is there.
  const lost = withHeard(begun, reckoned);
  const safeFloorMs = Math.max(lost.safeFloorMs, haveMs);
  return { ...lost, safeFloorMs, leftEra: lost.era };
}

/** True for a holder whose range a server granted, or extended, that had been left. */
export function isLeftOver(header: RegistryHeader, { era }: SlotHolder, seen: RegistryMark) {
  return era < (header.leftEra ?? 0) && !isOfAnother(header, seen);
}
