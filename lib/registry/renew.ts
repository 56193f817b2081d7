/**
 * Raises the ceiling of a lease, only for the holder of its token and nonce.
 *
 * Guarantee: no ceiling falls, whatever clock and holder say, and no range runs across an era. A
 * holder that knows more than the registry proves that data was lost.
 */
import type { LeaseAnswer, RegistryMark, WorkerLease } from '../lease/distributed-support.js';
import { nowOf } from '../rows/store-clock.js';
import { grantKept } from './acquire.js';
import { isWithin } from './layout-move.js';
import {
  claimed,
  floorOf,
  heldUnder,
  missedMove,
  moved,
  observeMark,
  isLeftOver,
  isOfAnother,
  open,
  SANE_MS,
  observeTime,
  spanFor,
  withFacts,
  withLoss,
} from './prologue.js';
import type {
  Changes,
  HeldSlot,
  RegistryHeader,
  SlotHolder,
  Step,
  StoreReading,
  WorkerSnapshot,
} from './snapshot.js';

export function renew(snapshot: WorkerSnapshot, lease: WorkerLease, reading: StoreReading): Step {
  return withFacts(renewed(snapshot, lease, reading), reading);
}

function renewed(snapshot: WorkerSnapshot, lease: WorkerLease, reading: StoreReading): Step {
  const prologue = open(snapshot.header, lease, reading);
  if (prologue.refused !== undefined) return prologue.refused;
  const { slot } = snapshot;
  const { holder, ceilingMs: lastMs } = slot;
  const isHolder = holder !== undefined && holder.token === lease.token;
  const mine = claimed(prologue.header, lease.fingerprint);
  const isProof = provesLoss(mine, lease.mark, isHolder && lease.haveMs > lastMs);
  const { haveMs, mark } = lease;
  const header = isProof
    ? afterProof(mine, lease, reading)
    : observeMark(mine, { ...mark, haveMs }, { ...lease, reading });
  const believed = { ...slot, ceilingMs: believedMs(lastMs, lease.haveMs, nowOf(header)) };
  const raised = believed.ceilingMs > lastMs ? [believed] : [];
  if (isHolder) {
    const step = prolonged(header, { ...believed, holder }, { lease, reading });
    return step.slots.length > 0 ? step : { ...step, slots: raised };
  }
  if (holder === undefined) {
    const status = isElsewhere(header, lease) ? 'moved' : 'unknown';
    return { answer: { status }, header, slots: raised };
  }
  return { answer: { status: 'fenced', floorMs: holder.floorMs }, header, slots: raised };
}

interface Asked {
  readonly lease: WorkerLease;
  readonly reading: StoreReading;
}

function prolonged(header: RegistryHeader, slot: HeldSlot, asked: Asked): Step {
  const { holder, ceilingMs: lastMs } = slot;
  const { lease } = asked;
  const { haveMs, nonce, nonceNext } = lease;
  if (isLeftOver(header, holder, lease.mark)) {
    return { answer: { status: 'cloned', isOverlap: true }, header, slots: [slot] };
  }
  const isNewEra = holder.era !== header.era;
  const knowsNonce =
    holder.nonce === nonce || holder.nonce === nonceNext || isForgotten(holder, asked);
  // Only the first contact of an era may break the chain: the registry may have forgotten a link.
  if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {
    // No copy knows this nonce, so that the other one is told at its next renewal too.
    const unlinked = { ...slot, holder: { ...holder, nonce: '' } };
    return { answer: { status: 'cloned' }, header, slots: [unlinked] };
  }
  if (isElsewhere(header, lease)) return movedAway(header, slot);
  const next = { ...slot, holder: heldUnder(header, { ...holder, nonce: nonceNext }) };
  return isNewEra || missedMove(header, holder)
    ? secondRange(header, next, asked)
    : longerRange(header, next, asked);
}

/** True if this server forgot the last renewal without a sign of it. */
function isForgotten({ nonce }: SlotHolder, { lease, reading }: Asked): boolean {
  const { keepsAfterMs = 0 } = reading;
  return keepsAfterMs > 0 && nonce !== '' && nonce === lease.nonceBefore;
}

/** True for a worker ID that is for another layout now, or for the other store of a move. */
function isElsewhere(header: RegistryHeader, lease: WorkerLease): boolean {
  const span = spanFor(header, lease);
  return span !== undefined && !isWithin(lease.workerId, span);
}

/** The range lasts, and nothing begins before its end. */
function movedAway(header: RegistryHeader, { workerId, ceilingMs }: HeldSlot): Step {
  const layoutFloorMs = Math.max(header.layoutFloorMs ?? 0, ceilingMs);
  const answer: LeaseAnswer = { status: 'moved' };
  return { answer, header: { ...header, layoutFloorMs }, slots: [{ workerId, ceilingMs }] };
}

function longerRange(header: RegistryHeader, slot: HeldSlot, { lease, reading }: Asked): Step {
  const storedMs = Math.max(slot.ceilingMs, lease.haveMs);
  const ceilingMs = Math.max(storedMs, nowOf(header) + lease.ttlMs);
  const terms = { storedMs, refusal: 'hold', terms: lease, reading } as const;
  return grantKept(header, { ...slot, ceilingMs }, terms);
}

/** The holder ends the range from before, then enters this one. */
function secondRange(header: RegistryHeader, slot: HeldSlot, { lease, reading }: Asked): Step {
  const floorMs = Math.max(slot.ceilingMs, lease.haveMs, floorOf(header));
  const ceilingMs = nowOf(header) + lease.ttlMs;
  const waitMs = floorMs + lease.minRangeMs - ceilingMs;
  if (waitMs > 0) return { answer: { status: 'hold', waitMs }, header, slots: [] };
  const holder = { ...slot.holder, floorMs };
  const terms = { refusal: 'hold', terms: lease, reading } as const;
  return grantKept(header, { ...slot, ceilingMs, holder }, terms);
}

/** A ceiling that was answered stands, also where the registry has forgotten it. */
function believedMs(lastMs: number, haveMs: number, nowMs: number): number {
  return haveMs < nowMs + SANE_MS ? Math.max(lastMs, haveMs) : lastMs;
}

/** The holder was answered something that this registry does not remember. */
function provesLoss(header: RegistryHeader, seen: RegistryMark, hasMore: boolean): boolean {
  if (isOfAnother(header, seen)) return false;
  return header.operations - 1 < seen.operations || hasMore;
}

/** A proof must not count again for the same holder, or no process would get on. */
function afterProof(
  header: RegistryHeader,
  { mark: seen, reckoned }: WorkerLease,
  reading: StoreReading,
): RegistryHeader {
  const operations = Math.max(header.operations, seen.operations);
  return { ...observeTime(withLoss(header, reading), reading, reckoned), operations };
}

/*
 * Gives a worker ID back: the ceiling falls to the first time that was not used.
 *
 * Guarantee: only for the holder of token and nonce, and never below the floor of its range.
 */

export function release(
  { header: stored, slot }: WorkerSnapshot,
  lease: WorkerLease,
  lastIssuedMs: number | undefined,
  reading: StoreReading,
): Changes {
  // A process that leaves makes no more IDs, so it claims and contests nothing.
  const prologue = open(stored, { ...lease, haveMs: 0 }, reading);
  if (prologue.refused !== undefined) return prologue.refused;
  const { header: current } = prologue;
  const header = ordered(current, lease, reading);
  const { workerId, ceilingMs: lastMs, holder } = slot;
  const isHolder = holder !== undefined && holder.token === lease.token;
  const knowsNonce = holder?.nonce === lease.nonce || holder?.nonce === lease.nonceNext;
  if (!isHolder || !knowsNonce) return { header, slots: [] };
  const usedMs = lastIssuedMs === undefined ? 0 : lastIssuedMs + 1;
  const ceilingMs = Math.min(lastMs, Math.max(usedMs, holder.floorMs));
  return { header, slots: [{ workerId, ceilingMs }] };
}

/** What an operator orders besides. */
function ordered(header: RegistryHeader, lease: WorkerLease, reading: StoreReading) {
  const { settles = false, move, fingerprint } = lease;
  if (settles) return settleClock(header, reading);
  const isInTime = move !== undefined && nowOf(header) <= move.byMs;
  const isMeant = isInTime && header.fingerprint === fingerprint;
  return isMeant ? moved(header, move.text, move.floorMs) : header;
}

/**
 * No ceiling and no floor changes: a range granted at the wrong time stays granted. Its end is
 * kept, since the clock no longer shows it.
 */
function settleClock(header: RegistryHeader, { timeMs: lastTimeMs }: StoreReading): RegistryHeader {
  const latestMs = Math.max(header.latestMs ?? 0, nowOf(header) + header.quarantineMs);
  return { ...header, lastTimeMs, slewMs: 0, latestMs };
}
