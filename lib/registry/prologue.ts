/**
 * Begins every operation: creates or reopens the registry, advances its clock, detects a loss of
 * data, and refuses a request with another layout or protocol.
 *
 * Guarantee: the registry's clock never moves back, and no range granted after a loss of data
 * starts below a possibly lost range.
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

/** The version of the protocol. A registry of another version stays unchanged. */
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
    // Nothing is written, so these facts must not replace a clock from the caller.
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
  const { fingerprint } = terms;
  const disputed = { ...header, fingerprint: contestedBy(header.fingerprint, fingerprint) };
  return { refused: { answer: otherLayout(disputed), header: disputed, slots: [] } };
}

/** The header of a registry that starts with its store, so it has no earlier data to lose. */
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

/** Acknowledged writes may be lost: no later range starts before the end of theirs. */
function afterLoss(header: RegistryHeader, { random }: StoreReading): RegistryHeader {
  const lineage = random.slice(-LINEAGE_LENGTH);
  return raised({ ...header, lineage, toldMs: undefined }, nowOf(header) + header.quarantineMs);
}

const LINEAGE_LENGTH = 8;

/**
 * The caller has found a missing part of the registry. The lost part was granted by the store's
 * clock, so a witness against that clock does not count.
 */
export function withLoss(stored: RegistryHeader, reading: StoreReading): RegistryHeader {
  return afterLoss({ ...stored, ...clockAt(stored, reading) }, reading);
}

/**
 * The registry before the last loss may have been ahead of this one: its store's clock was set
 * back, and its correction was lost too. A process with that registry's time reports it, and the
 * end of all lost ranges moves by the difference. The time is used exactly as reported, because a
 * higher floor would hide a larger grant by another server. Other servers expect this one to stay
 * within its own clock. So after such a report, nothing is granted until the failover window is
 * over.
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
  // This clock has passed all lost ranges, however far ahead the old clock was.
  if (safeFloorMs <= nowOf(header)) return { ...header, safeFloorMs, toldMs: behindMs };
  const moved = { ...header, toldMs: undefined, slewMs: header.slewMs + behindMs };
  const windowEndMs = lossWindowMs > 0 ? nowOf(moved) + header.quarantineMs : 0;
  return raised(moved, Math.max(safeFloorMs, windowEndMs));
}

/** Ranges that began lower end, and continue above the floor. */
function raised(header: RegistryHeader, floorMs: number): RegistryHeader {
  const safeFloorMs = Math.max(header.safeFloorMs, floorMs);
  return { ...header, safeFloorMs, era: header.era + 1 };
}

/**
 * The previous registry granted ranges up to a time that its clock no longer showed. Ranges that
 * have begun lower since then end, and continue above it.
 */
function observeLatest(header: RegistryHeader, latestMs = 0): RegistryHeader {
  const nowMs = nowOf(header);
  const knownMs = Math.max(header.safeFloorMs, header.latestMs ?? 0);
  if (latestMs <= knownMs || latestMs >= nowMs + SANE_MS) return header;
  if (latestMs <= nowMs) return { ...header, safeFloorMs: latestMs };
  return nearer(raised({ ...header, toldMs: undefined }, latestMs), latestMs);
}

/** Advances the clock so far that no process waits for a floor longer than for a quarantine. */
function nearer(header: RegistryHeader, floorMs: number): RegistryHeader {
  const behindMs = floorMs - header.quarantineMs - nowOf(header);
  if (behindMs <= 0 || behindMs >= SANE_MS) return header;
  return { ...header, slewMs: header.slewMs + behindMs };
}

/** An absent registry is indistinguishable from a lost one, so it never counts as new. */
function created(terms: PrologueTerms, reading: StoreReading): RegistryHeader {
  const quarantineMs = quarantineOf(terms, reading);
  const safeFloorMs = reading.timeMs + quarantineMs;
  return { ...newHeader(reading), quarantineMs, safeFloorMs, operations: 1 };
}

/** Advances the clock, and detects a longer quarantine or a change of servers. */
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
  // Another server may have replaced this one, and it expects this clock to make no step forward.
  // So within the window, nothing is granted by a time that no other clock confirms.
  const isHeld = isSame && isUnconfirmed && reading.lossWindowMs > 0;
  const held = isHeld ? raised(moved, nowOf(moved) + quarantineMs) : moved;
  const header = withQuarantine(held, quarantineOf(terms, reading));
  if (isSame) return isReckonedHere ? header : observeTime(header, reading, reckoned);
  const lost = observeTime({ ...afterLoss(header, reading), server }, reading, reckoned);
  return reading.isLeft ? { ...lost, leftEra: lost.era } : lost;
}

/** Ranges from before the last loss may end later than was known then: the floor moves as far. */
function withQuarantine(header: RegistryHeader, quarantineMs: number): RegistryHeader {
  const longerMs = quarantineMs - header.quarantineMs;
  if (longerMs <= 0) return header;
  const safeFloorMs = header.safeFloorMs + longerMs;
  const era = safeFloorMs > nowOf(header) ? header.era + 1 : header.era;
  return { ...header, quarantineMs, safeFloorMs, era };
}

function quarantineOf(terms: PrologueTerms, reading: StoreReading): number {
  // Older copies of this package omit this field.
  return Math.max(terms.ttlMs + reading.lossWindowMs, terms.quarantineMs ?? 0);
}

/** Every response contains the registry's facts as written in the same step. */
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
 * The layout of a registry: none at first, then one, or two that compete for it.
 *
 * Guarantee: a layout gets ranges only if no other layout is known to have valid ranges.
 */

/** The maximum plausible ceiling in a holder's claim; a higher one comes from a wrong clock. */
export const SANE_MS = 86_400_000;

/** True for a holder whose range may still issue IDs. */
export function isLive(haveMs: number, nowMs: number): boolean {
  return nowMs < haveMs && haveMs < nowMs + SANE_MS;
}

/**
 * True if two layouts have ranges at the same time, which no process has detected before. If a
 * layout ended here, its ranges are below all later grants of others.
 */
function contests(text: string, { fingerprint, haveMs }: PrologueTerms, nowMs: number): boolean {
  return !isContested(text) && !isListed(text, fingerprint) && isLive(haveMs, nowMs);
}

/** Written with the range that makes the claim, never before it. */
export function claimed(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return header.fingerprint === '' ? { ...header, fingerprint } : header;
}

/**
 * Admits other layouts: all earlier grants, here or below another registry's floor, end before
 * later ranges begin.
 */
export function moved(header: RegistryHeader, text: string, floorMs = 0): RegistryHeader {
  const { quarantineMs, layoutFloorMs: lastMs = 0 } = header;
  const next = nearer({ ...header, fingerprint: text }, floorMs);
  return { ...next, layoutFloorMs: Math.max(lastMs, nowOf(next) + quarantineMs, floorMs) };
}

/** No range that begins from now on starts below this. */
export function floorOf({ safeFloorMs, layoutFloorMs = 0 }: RegistryHeader): number {
  return Math.max(safeFloorMs, layoutFloorMs);
}

/** A holder, as written under a header. */
export function heldUnder({ era, fingerprint }: RegistryHeader, holder: SlotHolder): SlotHolder {
  const moveCount = moveCountOf(fingerprint);
  return { ...holder, era, ...(moveCount > 0 && { moveCount }) };
}

/**
 * True for a holder that has missed a whole state of the layouts. In that state, its worker ID may
 * have belonged to another layout, so its range must not continue. A holder that missed only the
 * last change was admitted before it and is still admitted.
 */
export function missedMove({ fingerprint }: RegistryHeader, { moveCount = 0 }: SlotHolder) {
  return moveCount < moveCountOf(fingerprint) - 1;
}

/** The worker IDs that a layout may use; undefined if it is not admitted. */
export function spanFor(header: RegistryHeader, terms: LeaseTerms): IdSpan | undefined {
  return admittedSpan(header.fingerprint, terms.fingerprint, nowOf(header) + terms.ttlMs);
}

/*
 * A replaced server may receive requests again without a restart. It shows no sign of the ranges
 * that its replacement granted, but their holders have proof.
 *
 * Guarantee: after a request from such a holder, no new range starts below that holder's range.
 */

/** True for a response of another server or another registry. */
export function isOfAnother(
  header: RegistryHeader,
  { incarnation, server }: Pick<RegistryMark, 'incarnation' | 'server'>,
): boolean {
  return incarnation !== header.incarnation || server !== header.server;
}

/**
 * Ranges of earlier servers end below the safe floor. If a valid range of another server ends above
 * it, that range was granted after this server began, which is a loss. The floor then rises above
 * the range, so the same proof counts only once. The other server had replaced this one, so ranges
 * granted here before this era may belong to other holders. Eras do not show which server replaced
 * which: two incarnations, or lagging replicas, count from different starts.
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
  // If the clock stays behind, a floor ahead of it would stop all grants until the clock reaches
  // it. The caller's last reading may come from a different server than its range.
  const lost = nearer(observeTime(begun, reading, reckoned), haveMs);
  const safeFloorMs = Math.max(lost.safeFloorMs, haveMs);
  return { ...lost, safeFloorMs, leftEra: lost.era };
}
