/**
 * The beginning of every operation: the registry is created or reopened, its clock moves on, a loss
 * of data is noticed, and whoever has no business here is refused.
 *
 * Guarantee: the registry's clock never goes back, and no range granted after a loss of data starts
 * below one that could have been forgotten. The Lua of stores/redis says the same: prologue.lua
 * for every script, registry.lua for those on a registry.
 */
import type {
  LeaseAnswer,
  LeaseTerms,
  ReckonedTime,
  RegistryMark,
  SeenRange,
} from '../lease/distributed-support.js';
import { contestedBy, isContested } from '../lease/lease-texts.js';
import { clockAt, nowAt, nowOf, witnessedTime } from '../rows/store-clock.js';
import type { RegistryHeader, SlotHolder, Step, StoreReading } from './snapshot.js';

/** Of the protocol. A registry that is kept by another one is left alone. */
export const VERSION = '1';

interface OpeningTerms extends LeaseTerms {
  /** Where the range ends that whoever asks may still use, or 0. */
  readonly haveMs: number;
}

type Opening =
  { readonly refused: Step } | { readonly refused?: undefined; readonly header: RegistryHeader };

export function open(
  stored: RegistryHeader | undefined,
  terms: OpeningTerms,
  reading: StoreReading,
): Opening {
  if (stored === undefined) return { header: observeTime(created(terms, reading), terms.reckoned) };
  if (stored.version !== VERSION) {
    const answer = { status: 'other-version', version: stored.version } as const;
    return { refused: { answer, slots: [] } };
  }
  const isOther = isForAnother(stored, terms.fingerprint);
  if (isOther && !contests(stored, terms.haveMs, nowAt(stored, reading))) {
    return { refused: { answer: otherLayout(stored), slots: [] } };
  }
  const header = reopened(stored, terms, reading);
  if (!isOther) return { header };
  const disputed = contested(header, terms.fingerprint);
  return { refused: { answer: otherLayout(disputed), header: disputed, slots: [] } };
}

/** A registry that begins with the store it lies in: there was nothing before it to be lost. */
export function newHeader(reading: StoreReading): RegistryHeader {
  return {
    version: VERSION,
    fingerprint: '',
    incarnation: reading.random,
    server: reading.server,
    lastTimeMs: reading.timeMs,
    slewMs: 0,
    quarantineMs: 0,
    safeFloorMs: 0,
    era: 1,
    operations: 0,
  };
}

/** Acknowledged writes may be gone: no range granted from here on starts before they would end. */
function afterLoss(header: RegistryHeader): RegistryHeader {
  const safeFloorMs = Math.max(header.safeFloorMs, nowOf(header) + header.quarantineMs);
  return { ...header, era: header.era + 1, safeFloorMs };
}

/**
 * A registry of which a part is found to be missing, whoever asks. What it forgot was granted by
 * the clock of the store, so that no witness against that counts.
 */
export function withLoss(stored: RegistryHeader, reading: StoreReading): RegistryHeader {
  return afterLoss({ ...stored, ...clockAt(stored, reading) });
}

/**
 * The registry before the last loss may have been ahead of this one: its store's clock was set
 * back, and what it had added was forgotten with the rest. Whoever was told its time brings it, and
 * what was forgotten then ends as much later. It is taken as it was told: a floor that is moved
 * further would hide that another server granted more.
 */
export function observeTime(header: RegistryHeader, reckoned?: ReckonedTime): RegistryHeader {
  if (reckoned === undefined) return header;
  const behindMs = Math.ceil(reckoned.nowMs - nowOf(header));
  const safeFloorMs = header.safeFloorMs + behindMs;
  const slewMs = header.slewMs + behindMs;
  const isSane = behindMs > 0 && behindMs < SANE_MS;
  // This clock has passed all that was forgotten, however far the old one was.
  if (!isSane || safeFloorMs <= nowOf(header)) return header;
  // What was granted since began at the old floor, and goes on above the new one.
  return { ...header, slewMs, safeFloorMs, era: header.era + 1 };
}

/** An absent registry cannot be told from a lost one, so that none is believed to be new. */
function created(terms: OpeningTerms, reading: StoreReading): RegistryHeader {
  const quarantineMs = quarantineOf(terms, reading);
  const safeFloorMs = reading.timeMs + quarantineMs;
  return { ...newHeader(reading), quarantineMs, safeFloorMs, operations: 1 };
}

/** Moves the clock on and notices a longer quarantine and a change of servers. */
function reopened(
  stored: RegistryHeader,
  terms: OpeningTerms,
  reading: StoreReading,
): RegistryHeader {
  const { server } = reading;
  const operations = stored.operations + 1;
  const isSame = stored.server === server && !reading.isPutBack && !reading.isLeft;
  const { reckoned } = terms;
  const isReckonedHere = reckoned?.incarnation === stored.incarnation && reckoned.server === server;
  const witness = { ...terms, reckoned: isReckonedHere ? reckoned : undefined };
  const timeMs = isSame ? witnessedTime(stored, reading.timeMs, witness) : reading.timeMs;
  const moved = { ...stored, ...clockAt(stored, { ...reading, timeMs }), operations };
  const header = withQuarantine(moved, quarantineOf(terms, reading));
  if (isSame) return isReckonedHere ? header : observeTime(header, reckoned);
  const lost = observeTime({ ...afterLoss(header), server: reading.server }, reckoned);
  return reading.isLeft ? { ...lost, leftEra: lost.era } : lost;
}

/** What the last loss forgot may end later than was known then: its floor moves as far. */
function withQuarantine(header: RegistryHeader, quarantineMs: number): RegistryHeader {
  const longerMs = quarantineMs - header.quarantineMs;
  if (longerMs <= 0) return header;
  const safeFloorMs = header.safeFloorMs + longerMs;
  const era = safeFloorMs > nowOf(header) ? header.era + 1 : header.era;
  return { ...header, quarantineMs, safeFloorMs, era };
}

function quarantineOf(terms: OpeningTerms, reading: StoreReading): number {
  // A keeper of an older copy of this package asks without it.
  return Math.max(terms.ttlMs + reading.lossWindowMs, terms.quarantineMs ?? 0);
}

function otherLayout({ fingerprint }: RegistryHeader): LeaseAnswer {
  return { status: 'layout-mismatch', fingerprint };
}

/*
 * Which layout a registry is for: nobody's at first, one's, or contested by two.
 *
 * Guarantee: a layout gets ranges only where no other layout is known to have some that still last.
 * stores/redis/scripts/worker-ids/registry.lua says the same.
 */

/** A ceiling claimed by a holder is believed up to here; a wilder one is a fault of its clock. */
export const SANE_MS = 86_400_000;

/** True where a holder has a range in which it may still make ids. */
export function isLive(haveMs: number, nowMs: number): boolean {
  return nowMs < haveMs && haveMs < nowMs + SANE_MS;
}

function isForAnother(header: RegistryHeader, fingerprint: string): boolean {
  return header.fingerprint !== '' && header.fingerprint !== fingerprint;
}

/** True where two layouts have ranges at once, which nobody knew until now. */
function contests(header: RegistryHeader, haveMs: number, nowMs: number): boolean {
  return !isContested(header.fingerprint) && isLive(haveMs, nowMs);
}

function contested(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return { ...header, fingerprint: contestedBy(header.fingerprint, fingerprint) };
}

/** Written with the range that makes the claim, never before it. */
export function claimed(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return { ...header, fingerprint };
}

/*
 * A server that was left for another one and is asked again, although it was never restarted: it
 * shows no sign of what the other one granted meanwhile, but those who were answered there know.
 *
 * Guarantee: once one of them asks, no range that is granted starts below what it was granted. The
 * Lua of stores/redis/scripts/worker-ids/branch.lua says the same.
 */

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
export function observeMark(
  header: RegistryHeader,
  seen: SeenRange | undefined,
  reckoned?: ReckonedTime,
): RegistryHeader {
  if (seen === undefined || !isOfAnother(header, seen)) return header;
  const { haveMs, era: seenEra = 0 } = seen;
  if (haveMs <= header.safeFloorMs || haveMs >= nowOf(header) + SANE_MS) return header;
  const begun = afterLoss({ ...header, era: Math.max(header.era, seenEra) });
  // A floor that is ahead of a clock that stays behind would stop everybody until that is there.
  const lost = observeTime(begun, reckoned);
  const safeFloorMs = Math.max(lost.safeFloorMs, haveMs);
  return { ...lost, safeFloorMs, leftEra: lost.era };
}

/** True for a holder whose range a server granted, or extended, that had been left. */
export function isLeftOver(header: RegistryHeader, { era }: SlotHolder, seen: RegistryMark) {
  return era < (header.leftEra ?? 0) && !isOfAnother(header, seen);
}
