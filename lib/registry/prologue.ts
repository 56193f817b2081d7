/**
 * Every operation begins here: the registry is created or reopened, its clock moves on, a loss of
 * data is noticed, and a request with another layout or protocol is refused.
 *
 * Guarantee: the registry's clock never goes back, and no range granted after a loss of data starts
 * below one that could have been forgotten.
 */
import type {
  LeaseAnswer,
  LeaseTerms,
  ReckonedTime,
  RegistryMark,
  SeenRange,
} from '../lease/distributed-support.js';
import { contestedBy, isContested, isMove, moveCountOf } from '../lease/lease-texts.js';
import { clockAt, nowOf, witnessedTime } from '../rows/store-clock.js';
import { admittedSpan, isListed, latestOf } from './layout-move.js';
import type { IdSpan, RegistryHeader, SlotHolder, Step, StoreReading } from './snapshot.js';

/** The version of the protocol. A registry of another version is left alone. */
export const VERSION = '2';

interface PrologueTerms extends LeaseTerms {
  /** The end of the range that the caller may still use, or 0. */
  readonly haveMs: number;
}

type Prologue =
  { readonly refused: Step } | { readonly refused?: undefined; readonly header: RegistryHeader };

export function open(
  stored: RegistryHeader | undefined,
  terms: PrologueTerms,
  reading: StoreReading,
): Prologue {
  if (stored !== undefined && stored.version !== VERSION) {
    const answer = { status: 'other-version', version: stored.version } as const;
    return { refused: { answer, slots: [] } };
  }
  const opened =
    stored === undefined
      ? observeTime(created(terms, reading), reading, terms.reckoned)
      : reopened(stored, terms, reading);
  const current = observeLatest(opened, terms.latestMs);
  const text = latestOf(current.fingerprint, terms.layouts);
  const nowMs = nowOf(current);
  const isOther = admittedSpan(text, terms.fingerprint, nowMs + terms.ttlMs) === undefined;
  if (isOther && !contests(text, terms, nowMs)) {
    const refused = { answer: otherLayout(current), slots: [] };
    const { reckoned } = terms;
    // Nothing is written, so the facts must not replace a clock that the caller brought.
    const isKept = reckoned === undefined || !isOfAnother(current, reckoned);
    return {
      refused:
        stored && isKept
          ? { ...refused, answer: answerOf(current, refused.answer, reading.timeMs) }
          : refused,
    };
  }
  const header = text === current.fingerprint ? current : moved(current, text);
  if (!isOther) return { header };
  const disputed = contested(header, terms.fingerprint);
  return { refused: { answer: otherLayout(disputed), header: disputed, slots: [] } };
}

/** The header of a registry that begins with its store: no earlier data can be lost. */
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
function afterLoss(header: RegistryHeader, { random }: StoreReading): RegistryHeader {
  const lineage = random.slice(-LINEAGE_LENGTH);
  return raised({ ...header, lineage, toldMs: undefined }, nowOf(header) + header.quarantineMs);
}

const LINEAGE_LENGTH = 8;

/**
 * The caller has found that a part of the registry is missing. The forgotten part was granted by
 * the clock of the store, so a witness against that clock does not count.
 */
export function withLoss(stored: RegistryHeader, reading: StoreReading): RegistryHeader {
  return afterLoss({ ...stored, ...clockAt(stored, reading) }, reading);
}

/**
 * The registry before the last loss may have been ahead of this one: its store's clock was set
 * back, and the time that it had added was forgotten with the rest. A process that was given its
 * time brings it, and the end of all that was forgotten moves as far. The time is taken as it was
 * given: a floor that is moved further would hide that another server granted more. A later server
 * expects no more of this one than its own clock bounds, so by a time that was brought nothing is
 * granted until the failover window is over.
 */
export function observeTime(
  header: RegistryHeader,
  { lossWindowMs }: StoreReading,
  reckoned?: ReckonedTime,
): RegistryHeader {
  if (reckoned === undefined) return header;
  const { toldMs = 0 } = header;
  const behindMs = Math.ceil(reckoned.nowMs - nowOf(header));
  if (behindMs <= toldMs || behindMs >= SANE_MS) return header;
  const safeFloorMs = header.safeFloorMs + behindMs - toldMs;
  // This clock has passed all that was forgotten, however far the old one was.
  if (safeFloorMs <= nowOf(header)) return { ...header, safeFloorMs, toldMs: behindMs };
  const moved = { ...header, toldMs: undefined, slewMs: header.slewMs + behindMs };
  const windowEndMs = lossWindowMs > 0 ? nowOf(moved) + header.quarantineMs : 0;
  return raised(moved, Math.max(safeFloorMs, windowEndMs));
}

/** Ranges that began lower end, and go on above the floor. */
function raised(header: RegistryHeader, floorMs: number): RegistryHeader {
  const safeFloorMs = Math.max(header.safeFloorMs, floorMs);
  return { ...header, safeFloorMs, era: header.era + 1 };
}

/**
 * The registry before this one granted up to a time that its clock no longer showed. Ranges that
 * began lower since then end, and go on above it.
 */
function observeLatest(header: RegistryHeader, latestMs = 0): RegistryHeader {
  const nowMs = nowOf(header);
  const knownMs = Math.max(header.safeFloorMs, header.latestMs ?? 0);
  if (latestMs <= knownMs || latestMs >= nowMs + SANE_MS) return header;
  if (latestMs <= nowMs) return { ...header, safeFloorMs: latestMs };
  return nearer(raised({ ...header, toldMs: undefined }, latestMs), latestMs);
}

/** Moves the clock on so far that nobody waits for a floor longer than for a quarantine. */
function nearer(header: RegistryHeader, floorMs: number): RegistryHeader {
  const behindMs = floorMs - header.quarantineMs - nowOf(header);
  if (behindMs <= 0 || behindMs >= SANE_MS) return header;
  return { ...header, slewMs: header.slewMs + behindMs };
}

/** An absent registry looks like a lost one, so none counts as new. */
function created(terms: PrologueTerms, reading: StoreReading): RegistryHeader {
  const quarantineMs = quarantineOf(terms, reading);
  const safeFloorMs = reading.timeMs + quarantineMs;
  return { ...newHeader(reading), quarantineMs, safeFloorMs, operations: 1 };
}

/** Moves the clock on and notices a longer quarantine and a change of servers. */
function reopened(
  stored: RegistryHeader,
  terms: PrologueTerms,
  reading: StoreReading,
): RegistryHeader {
  const { server } = reading;
  const operations = stored.operations + 1;
  const isSame = stored.server === server && !reading.isPutBack && !reading.isLeft;
  const { reckoned } = terms;
  const isReckonedHere = reckoned?.incarnation === stored.incarnation && reckoned.server === server;
  const { quarantineMs } = stored;
  const witness = { ...terms, quarantineMs, reckoned: isReckonedHere ? reckoned : undefined };
  const { timeMs, isUnconfirmed } = witnessedTime(stored, reading.timeMs, witness);
  const read = isSame ? { ...reading, timeMs } : reading;
  const moved = { ...stored, ...clockAt(stored, read), operations };
  // This server may have been left for another one, which expects its clock to go on and not to
  // step forward: by a time that no other clock shows nothing is granted within the window.
  const isHeld = isSame && isUnconfirmed && reading.lossWindowMs > 0;
  const held = isHeld ? raised(moved, nowOf(moved) + quarantineMs) : moved;
  const header = withQuarantine(held, quarantineOf(terms, reading));
  if (isSame) return isReckonedHere ? header : observeTime(header, reading, reckoned);
  const lost = observeTime({ ...afterLoss(header, reading), server }, reading, reckoned);
  return reading.isLeft ? { ...lost, leftEra: lost.era } : lost;
}

/** Ranges that the last loss forgot may end later than was known then: the floor moves as far. */
function withQuarantine(header: RegistryHeader, quarantineMs: number): RegistryHeader {
  const longerMs = quarantineMs - header.quarantineMs;
  if (longerMs <= 0) return header;
  const safeFloorMs = header.safeFloorMs + longerMs;
  const era = safeFloorMs > nowOf(header) ? header.era + 1 : header.era;
  return { ...header, quarantineMs, safeFloorMs, era };
}

function quarantineOf(terms: PrologueTerms, reading: StoreReading): number {
  // The keeper of an older copy of this package asks without it.
  return Math.max(terms.ttlMs + reading.lossWindowMs, terms.quarantineMs ?? 0);
}

/** Every answer has the facts of the registry as they are written with it. */
export function withFacts(step: Step, { timeMs }: StoreReading): Step {
  const { header, answer } = step;
  return header === undefined ? step : { ...step, answer: answerOf(header, answer, timeMs) };
}

function answerOf(header: RegistryHeader, answer: LeaseAnswer, timeMs: number): LeaseAnswer {
  const { incarnation, lineage, server, operations, era } = header;
  const { quarantineMs, latestMs, fingerprint } = header;
  return {
    ...answer,
    nowMs: nowOf(header),
    timeMs,
    mark: { incarnation, ...(lineage !== undefined && { lineage }), server, operations, era },
    quarantineMs,
    ...(isMove(fingerprint) && { layouts: fingerprint }),
    ...(latestMs !== undefined && { latestMs }),
  };
}

export function otherLayout({ fingerprint }: RegistryHeader): LeaseAnswer {
  return { status: 'layout-mismatch', fingerprint };
}

/*
 * The layout that a registry is for: none at first, then one, or two that contest it.
 *
 * Guarantee: a layout gets ranges only if no other layout is known to have some that still last.
 */

/** A ceiling claimed by a holder is believed up to here; a wilder one is a fault of its clock. */
export const SANE_MS = 86_400_000;

/** True for a holder whose range may still give IDs. */
export function isLive(haveMs: number, nowMs: number): boolean {
  return nowMs < haveMs && haveMs < nowMs + SANE_MS;
}

/**
 * True if two layouts have ranges at once, which no process knew until now. A layout that ended
 * here has ranges below all that others were granted since.
 */
function contests(text: string, { fingerprint, haveMs }: PrologueTerms, nowMs: number): boolean {
  return !isContested(text) && !isListed(text, fingerprint) && isLive(haveMs, nowMs);
}

function contested(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return { ...header, fingerprint: contestedBy(header.fingerprint, fingerprint) };
}

/** Written with the range that makes the claim, never before it. */
export function claimed(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return header.fingerprint === '' ? { ...header, fingerprint } : header;
}

/**
 * Other layouts are admitted: what was granted until now, here or below a floor that another
 * registry has, ends before what begins from now on.
 */
export function moved(header: RegistryHeader, text: string, floorMs = 0): RegistryHeader {
  const { quarantineMs, layoutFloorMs: lastMs = 0 } = header;
  const next = nearer({ ...header, fingerprint: text }, floorMs);
  return { ...next, layoutFloorMs: Math.max(lastMs, nowOf(next) + quarantineMs, floorMs) };
}

/** No range that begins now starts below it. */
export function floorOf({ safeFloorMs, layoutFloorMs = 0 }: RegistryHeader): number {
  return Math.max(safeFloorMs, layoutFloorMs);
}

/** A holder as it is written under a header. */
export function heldUnder({ era, fingerprint }: RegistryHeader, holder: SlotHolder): SlotHolder {
  const moveCount = moveCountOf(fingerprint);
  return { ...holder, era, ...(moveCount > 0 && { moveCount }) };
}

/**
 * True for a holder that has missed a whole state of the layouts: in between, its worker ID may
 * have been for another one, so that its range must not go on. Whoever missed the last change alone
 * was admitted before it and is admitted now.
 */
export function missedMove({ fingerprint }: RegistryHeader, { moveCount = 0 }: SlotHolder) {
  return moveCount < moveCountOf(fingerprint) - 1;
}

/** The worker IDs that a layout may have; undefined if it is not admitted. */
export function spanFor(header: RegistryHeader, terms: LeaseTerms): IdSpan | undefined {
  return admittedSpan(header.fingerprint, terms.fingerprint, nowOf(header) + terms.ttlMs);
}

/*
 * A server that was left for another one may be asked again although it was never restarted. It
 * shows no sign of the ranges that the other one granted meanwhile, but their holders know.
 *
 * Guarantee: once one of them asks, no range that is granted starts below the one it was granted.
 */

/** True for what was answered by another server, or from another registry. */
export function isOfAnother(
  header: RegistryHeader,
  { incarnation, server }: Pick<RegistryMark, 'incarnation' | 'server'>,
): boolean {
  return incarnation !== header.incarnation || server !== header.server;
}

/**
 * Ranges that servers before this one granted end below the safe floor. If a range of another
 * server lasts and ends above it, it was granted after this server began, which is a loss; the
 * floor then rises above it, so that the same proof does not count twice. This server had been left
 * for the other one then, so ranges that it granted before this era may belong to other holders.
 * Eras do not tell which server replaced which: those of two incarnations, or of replicas that
 * lagged, are counted from different beginnings.
 */
export function observeMark(
  header: RegistryHeader,
  seen: SeenRange | undefined,
  { reckoned, reading }: { reckoned?: ReckonedTime | undefined; reading: StoreReading },
): RegistryHeader {
  if (seen === undefined || !isOfAnother(header, seen)) return header;
  const { haveMs, era: seenEra = 0 } = seen;
  if (haveMs <= header.safeFloorMs || haveMs >= nowOf(header) + SANE_MS) return header;
  const begun = afterLoss({ ...header, era: Math.max(header.era, seenEra) }, reading);
  // If the clock stays behind, a floor ahead of it would stop all until the clock gets there. What
  // the caller read last may be the clock of another server than the one that granted its range.
  const lost = nearer(observeTime(begun, reading, reckoned), haveMs);
  const safeFloorMs = Math.max(lost.safeFloorMs, haveMs);
  return { ...lost, safeFloorMs, leftEra: lost.era };
}

/** True for a holder whose range a server granted, or extended, that had been left. */
export function isLeftOver(header: RegistryHeader, { era }: SlotHolder, seen: RegistryMark) {
  return era < (header.leftEra ?? 0) && !isOfAnother(header, seen);
}
