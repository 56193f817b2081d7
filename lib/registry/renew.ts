/**
 * Raises the ceiling of a lease, only for the holder of its token and nonce.
 *
 * Guarantee: no ceiling falls, whatever the clock and the holder report, and no range spans two
 * eras. A holder with newer data than the registry proves a loss of data.
 */
import type { LeaseAnswer, WorkerLease } from '../lease/distributed-support.js';
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
  const { haveMs, mark } = lease;
  // The holder has received a ceiling or an operation that this registry has lost.
  const isProof =
    !isOfAnother(mine, mark) &&
    (mine.operations - 1 < mark.operations || (isHolder && lease.haveMs > lastMs));
  const header = isProof
    ? afterProof(mine, lease, reading)
    : observeMark(mine, { ...mark, haveMs }, { ...lease, reading });
  // A granted ceiling stays valid, even if the registry has lost it.
  const isSane = haveMs < nowOf(header) + SANE_MS;
  const believed = { ...slot, ceilingMs: isSane ? Math.max(lastMs, haveMs) : lastMs };
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
  // The range was granted or extended by a server that had been replaced.
  if (holder.era < (header.leftEra ?? 0) && !isOfAnother(header, lease.mark)) {
    return { answer: { status: 'cloned', isOverlap: true }, header, slots: [slot] };
  }
  const isNewEra = holder.era !== header.era;
  const { keepsAfterMs = 0 } = asked.reading;
  // This server lost the last renewal without another sign.
  const isForgotten = keepsAfterMs > 0 && holder.nonce !== '' && holder.nonce === lease.nonceBefore;
  const knowsNonce = holder.nonce === nonce || holder.nonce === nonceNext || isForgotten;
  // Only the first contact in an era may break the chain, since the registry may have lost a link.
  if (!knowsNonce && !(isNewEra && haveMs >= lastMs)) {
    // No copy has this nonce, so the other copy is also detected at its next renewal.
    const unlinked = { ...slot, holder: { ...holder, nonce: '' } };
    return { answer: { status: 'cloned' }, header, slots: [unlinked] };
  }
  if (isElsewhere(header, lease)) return movedAway(header, slot);
  const next = { ...slot, holder: heldUnder(header, { ...holder, nonce: nonceNext }) };
  return isNewEra || missedMove(header, holder)
    ? secondRange(header, next, asked)
    : longerRange(header, next, asked);
}

/** True for a worker ID that now belongs to another layout, or to the other store of a move. */
function isElsewhere(header: RegistryHeader, lease: WorkerLease): boolean {
  const span = spanFor(header, lease);
  return span !== undefined && !isWithin(lease.workerId, span);
}

/** The range stays valid, and no other range begins before its end. */
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

/** The holder uses its earlier range to the end, then enters this one. */
function secondRange(header: RegistryHeader, slot: HeldSlot, { lease, reading }: Asked): Step {
  const floorMs = Math.max(slot.ceilingMs, lease.haveMs, floorOf(header));
  const ceilingMs = nowOf(header) + lease.ttlMs;
  const waitMs = floorMs + lease.minRangeMs - ceilingMs;
  if (waitMs > 0) return { answer: { status: 'hold', waitMs }, header, slots: [] };
  const holder = { ...slot.holder, floorMs };
  const terms = { refusal: 'hold', terms: lease, reading } as const;
  return grantKept(header, { ...slot, ceilingMs, holder }, terms);
}

/** A proof must not count again for the same holder, or no process could continue. */
function afterProof(
  header: RegistryHeader,
  { mark: seen, reckoned }: WorkerLease,
  reading: StoreReading,
): RegistryHeader {
  const operations = Math.max(header.operations, seen.operations);
  return { ...observeTime(withLoss(header, reading), reading, reckoned), operations };
}

/*
 * Releases a worker ID: the ceiling falls to the first unused time.
 *
 * Guarantee: only for the holder of token and nonce, and never below the floor of its range.
 */

export function release(
  { header: stored, slot }: WorkerSnapshot,
  lease: WorkerLease,
  lastIssuedMs: number | undefined,
  reading: StoreReading,
): Changes {
  // A leaving process generates no more IDs, so it claims no layout and conflicts with none.
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

/** Applies an operator's additional orders. */
function ordered(header: RegistryHeader, lease: WorkerLease, reading: StoreReading) {
  const { settles = false, move, fingerprint } = lease;
  if (settles) return settleClock(header, reading);
  const isInTime = move !== undefined && nowOf(header) <= move.byMs;
  const isMeant = isInTime && header.fingerprint === fingerprint;
  return isMeant ? moved(header, move.text, move.floorMs) : header;
}

/**
 * Changes no ceiling or floor: a range granted at the wrong time stays granted. Its end is
 * recorded, since the clock no longer shows it.
 */
function settleClock(header: RegistryHeader, { timeMs: lastTimeMs }: StoreReading): RegistryHeader {
  const latestMs = Math.max(header.latestMs ?? 0, nowOf(header) + header.quarantineMs);
  return { ...header, lastTimeMs, slewMs: 0, latestMs };
}
