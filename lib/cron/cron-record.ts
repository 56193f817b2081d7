/**
 * The record of a job that runs once in a fleet: up to which of its ticks all is settled, and its
 * last runs. It is the note of the lock of the job. A tick is a time at which the job is due.
 *
 * Guarantee: everything here is a pure function of the record and the times given. A tick is
 * settled once a run of it has ended, whatever came of it, or once it was left out by the rules; a
 * run whose holder is gone leaves its tick open, so that the next holder does it.
 */
import { fieldsIn, isWhole, numberIn } from '../rows/row-store.js';
import { NOTE_LENGTH_MAX, type LockNote } from '../lock/lock-store.js';

/** When a job is due. */
export interface Schedule {
  /** The expression, for people. */
  readonly text: string;
  /** The first tick after a time, in Unix milliseconds. */
  next(afterMs: number): number;
}

/**
 * What became of a run: its method returned, or threw; it runs; its holder was gone before its end;
 * it ran for longer than it may; it was left out, since it was too late.
 */
export type CronOutcome = 'done' | 'failed' | 'running' | 'lost' | 'too-long' | 'skipped';

/** One run of a job. Its times are those of the store, if that tells them. */
export interface CronRunRecord {
  /** The time at which it was due, in Unix milliseconds. */
  readonly tickMs: number;
  readonly startedAtMs: number;
  /** It is 0 until its end is known. */
  readonly tookMs: number;
  readonly outcome: CronOutcome;
  /** The fencing token of the run. */
  readonly token: bigint;
  /** The host, the process and the application that ran it. */
  readonly by: string;
  /** How many ticks before it were left out because they were too late, up to 1000. */
  readonly skippedCount: number;
}

export interface CronRecord {
  /** The expression of the schedule. */
  readonly schedule: string;
  /** Every tick up to this is settled. */
  readonly settledMs: number;
  /** The latest run is the first, and a few dozen are kept at most. */
  readonly runs: readonly CronRunRecord[];
}

/** The lock of a job is called by this and the name of the job. */
export const CRON_PREFIX = 'cron:';

const VERSION = '1';
const RUN_COUNT_MAX = 24;
/** The label of a process may be long; this is enough to find it. */
const BY_LENGTH_MAX = 64;
const OUTCOMES: readonly string[] = ['done', 'failed', 'running', 'lost', 'too-long', 'skipped'];

export function recordText({ schedule, settledMs, runs }: CronRecord): string {
  const kept = runs.slice(0, RUN_COUNT_MAX).map(({ token, by, ...rest }) => {
    return { ...rest, token: String(token), by: by.slice(0, BY_LENGTH_MAX) };
  });
  for (;;) {
    const fields = { version: VERSION, schedule: schedule.slice(0, 200), settledMs, runs: kept };
    const text = JSON.stringify(fields);
    if (text.length <= NOTE_LENGTH_MAX || kept.length === 0) return text;
    kept.pop();
  }
}

/** Undefined for a text that is no record, such as a note of somebody else. */
export function recordIn(text: string | undefined): CronRecord | undefined {
  const fields = fieldsIn(text ?? '');
  const { version, schedule, settledMs, runs } = fields;
  if (version !== VERSION || !isWhole(fields, ['schedule'], ['settledMs'])) return undefined;
  if (!Array.isArray(runs)) return undefined;
  const read = runs.flatMap((run: unknown) => runIn(run));
  return { schedule: schedule as string, settledMs: settledMs as number, runs: read };
}

function runIn(run: unknown): CronRunRecord[] {
  const fields = Object(run) as Readonly<Record<string, unknown>>;
  const numbers = ['tickMs', 'startedAtMs', 'tookMs', 'skippedCount'];
  const token = numberIn(fields['token']);
  const isRun = isWhole(fields, ['outcome', 'by'], numbers) && token !== undefined;
  if (!isRun || !OUTCOMES.includes(fields['outcome'] as string)) return [];
  return [{ ...(fields as unknown as CronRunRecord), token }];
}

export interface NamedRecord extends CronRecord {
  /** The name of the job, as its lock has it. */
  readonly job: string;
}

/** The records of all jobs among the notes of a store. */
export function recordsIn(notes: readonly LockNote[]): NamedRecord[] {
  return notes.flatMap(({ lock, note }) => {
    const record = lock.startsWith(CRON_PREFIX) ? recordIn(note) : undefined;
    return record === undefined ? [] : [{ ...record, job: lock.slice(CRON_PREFIX.length) }];
  });
}

/** The record of a job of which none is stored. */
export function newRecord(schedule: string, settledMs: number): CronRecord {
  return { schedule, settledMs, runs: [] };
}

/**
 * Judges a run that its holder did not end: the caller holds the lock now. One that had as long as
 * it may is settled, since it would only hang again.
 */
export function withoutHolder(
  record: CronRecord,
  { nowMs, limitMs }: { readonly nowMs: number; readonly limitMs: number },
): CronRecord {
  const [last, ...rest] = record.runs;
  if (last?.outcome !== 'running') return record;
  const tookMs = Math.max(0, nowMs - last.startedAtMs);
  // The clocks of two processes differ a little.
  const isTooLong = tookMs >= limitMs * 0.9;
  const outcome = isTooLong ? 'too-long' : 'lost';
  const settledMs = isTooLong ? Math.max(record.settledMs, last.tickMs) : record.settledMs;
  return { ...record, settledMs, runs: [{ ...last, tookMs, outcome }, ...rest] };
}

export function withBegun(
  record: CronRecord,
  run: Omit<CronRunRecord, 'tookMs' | 'outcome'>,
): CronRecord {
  return { ...record, runs: [{ ...run, tookMs: 0, outcome: 'running' }, ...record.runs] };
}

/** Settles a tick that is left out, with those before it. */
export function withSkipped(
  record: CronRecord,
  run: Omit<CronRunRecord, 'tookMs' | 'outcome'>,
): CronRecord {
  const skipped: CronRunRecord = { ...run, tookMs: 0, outcome: 'skipped' };
  return { ...record, settledMs: run.tickMs, runs: [skipped, ...record.runs] };
}

/** Settles the tick of the run with this token. */
export function withEnded(
  record: CronRecord,
  { token, outcome, tookMs }: Pick<CronRunRecord, 'token' | 'outcome' | 'tookMs'>,
): CronRecord {
  const ended = record.runs.find((run) => run.token === token);
  if (ended === undefined) return record;
  const runs = record.runs.map((run) => (run === ended ? { ...run, outcome, tookMs } : run));
  return { ...record, settledMs: Math.max(record.settledMs, ended.tickMs), runs };
}

/* Which tick comes next. */

/** What becomes of ticks that are too late. */
export type MissedTicks = 'once' | 'skip';

export interface DueTerms {
  /** Every tick up to this is settled. */
  readonly settledMs: number;
  readonly nowMs: number;
  /** A tick is still done, however many there are, if it is no later than this. */
  readonly lateMs: number;
  /** Says whether the last of the ticks that are too late is done, or none. */
  readonly missed: MissedTicks;
}

export interface DueTick {
  readonly tickMs: number;
  /** How many before it are left out, up to `COUNT_MAX`. */
  readonly skippedCount: number;
  /** True if it is too late itself, and is left out. */
  readonly isTooLate: boolean;
}

/** More ticks than this are not counted. */
const COUNT_MAX = 1000;
/** The search for the last of many ticks begins with the last minute. */
const SEARCH_MS = 60_000;

/** The next tick to be done, or to be left out; undefined if none is due. */
export function dueTick(schedule: Schedule, terms: DueTerms): DueTick | undefined {
  const { settledMs, nowMs, lateMs, missed } = terms;
  const lateBeforeMs = nowMs - lateMs;
  const first = schedule.next(Math.max(settledMs, lateBeforeMs));
  const late = ticksIn(schedule, settledMs, lateBeforeMs);
  if (first > settledMs && first <= nowMs) {
    return { tickMs: first, skippedCount: late.length, isTooLate: false };
  }
  return late.length === 0
    ? undefined
    : { ...lastOf(schedule, late, lateBeforeMs), isTooLate: missed === 'skip' };
}

/**
 * After a loss of data only the last tick is known to be open: those before it are left out, since
 * others may have done them.
 *
 * @param terms `sinceMs`: up to here this process knew them to be settled
 */
export function settledAfterLoss(
  schedule: Schedule,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): { readonly settledMs: number; readonly skippedCount: number } {
  const ticks = ticksIn(schedule, sinceMs, nowMs);
  if (ticks.length === 0) return { settledMs: Math.max(sinceMs, nowMs), skippedCount: 0 };
  const { tickMs, skippedCount } = lastOf(schedule, ticks, nowMs);
  return { settledMs: tickMs - 1, skippedCount };
}

/** The first ticks after one time and up to another one. */
function ticksIn(schedule: Schedule, afterMs: number, upToMs: number): number[] {
  const ticks: number[] = [];
  for (let atMs = afterMs; ticks.length < COUNT_MAX;) {
    const next = schedule.next(atMs);
    // A schedule that does not go on would never end.
    if (!(next > atMs) || next > upToMs) return ticks;
    ticks.push(next);
    atMs = next;
  }
  return ticks;
}

/** The last tick up to a time, if these are the first ones, and how many are before it. */
function lastOf(
  schedule: Schedule,
  first: readonly number[],
  upToMs: number,
): Pick<DueTick, 'tickMs' | 'skippedCount'> {
  const { length } = first;
  if (length < COUNT_MAX) return { tickMs: first.at(-1)!, skippedCount: length - 1 };
  for (let spanMs = SEARCH_MS; ; spanMs *= 8) {
    let last: number | undefined;
    for (let ticks = ticksIn(schedule, upToMs - spanMs, upToMs); ticks.length > 0;) {
      last = ticks.at(-1)!;
      ticks = ticksIn(schedule, last, upToMs);
    }
    if (last !== undefined) return { tickMs: last, skippedCount: COUNT_MAX };
  }
}
