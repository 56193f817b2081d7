/**
 * The record of a job that runs once in a fleet, and the decisions of the lock's holder. The record
 * is the lock's note: the last settled tick, and the last runs. A tick is a time when the job is
 * due.
 *
 * Guarantee: everything here is a pure function of the record and the given times. A tick is
 * settled once a run of it has ended, with any outcome, or once the rules skip it. If the holder of
 * a run disappears, the tick stays open for the next holder, until its attempts are used up.
 */
import { fieldsIn, isWhole, numberIn } from '../rows/row-store.js';
import { NOTE_LENGTH_MAX, type LockNote } from '../lock/lock-store.js';
import type { Schedule } from './schedule.js';

/**
 * The outcome of a run. `done`: its method returned. `failed`: it threw. `lost`: its holder
 * disappeared. `given-up`: the holder of the last attempt disappeared. `interrupted`: its process
 * was shut down. `too-long`: it exceeded its limit. `running`: it continues. `skipped`: it was too
 * late.
 */
export type CronOutcome = 'running' | 'skipped' | CountedOutcome;
export type CountedOutcome = (typeof COUNTED)[number];
const COUNTED = ['done', 'failed', 'lost', 'given-up', 'interrupted', 'too-long'] as const;

/** One run of a job. Its times are the store's, if the store returns its time. */
export interface CronRunRecord {
  /** The time when the run was due, in Unix milliseconds. */
  readonly tickMs: number;
  readonly startedAtMs: number;
  /** 0 until its end is known. */
  readonly tookMs: number;
  readonly outcome: CronOutcome;
  /** The fencing token of the run. */
  readonly token: bigint;
  /** The host, the process and the application of the run. */
  readonly by: string;
  /** The number of earlier ticks that were skipped because they were too late, up to 1000. */
  readonly skippedCount: number;
  /** True if its process was shutting down. */
  readonly isClosing?: boolean | undefined;
}

export interface CronRecord {
  /** The text of the schedule that determines the ticks. */
  readonly schedule: string;
  /** The application of the last run; empty if unknown. */
  readonly application: string;
  /** Every tick up to this time is settled. */
  readonly settledMs: number;
  /** The latest run comes first; at most a few dozen are kept. */
  readonly runs: readonly CronRunRecord[];
}

/** The name of a job's lock is this prefix plus the job's name. */
export const CRON_PREFIX = 'cron:';

const VERSION = '2';
const RUN_COUNT_MAX = 24;
/** The label of a process may be long; this length is enough to identify it. */
const BY_LENGTH_MAX = 64;
const OUTCOMES: readonly string[] = ['running', 'skipped', ...COUNTED];

export function recordText({ runs, ...record }: CronRecord): string {
  const kept = runs.slice(0, RUN_COUNT_MAX).map(({ token, by, ...rest }) => {
    return { ...rest, token: String(token), by: by.slice(0, BY_LENGTH_MAX) };
  });
  for (;;) {
    const text = JSON.stringify({ version: VERSION, ...record, runs: kept });
    if (text.length <= NOTE_LENGTH_MAX || kept.length === 0) return text;
    kept.pop();
  }
}

/** Undefined for a string that is not a record, such as another user's note. */
export function recordIn(text: string | undefined): CronRecord | undefined {
  const fields = fieldsIn(text ?? '');
  const { version, runs } = fields;
  const isRecord = isWhole(fields, ['schedule', 'application'], ['settledMs']);
  if (version !== VERSION || !isRecord || !Array.isArray(runs)) return undefined;
  const { schedule, application, settledMs } = fields as unknown as CronRecord;
  return { schedule, application, settledMs, runs: runs.flatMap((run: unknown) => runIn(run)) };
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
  /** The job's name, as in the name of its lock. */
  readonly job: string;
}

/** The records of all jobs among the notes of a store. */
export function recordsIn(notes: readonly LockNote[]): NamedRecord[] {
  return notes.flatMap(({ lock, note }) => {
    const record = lock.startsWith(CRON_PREFIX) ? recordIn(note) : undefined;
    return record === undefined ? [] : [{ ...record, job: lock.slice(CRON_PREFIX.length) }];
  });
}

/** The handling of late ticks. */
export type MissedTicks = 'once' | 'skip';

export interface CronTerms {
  readonly schedule: Schedule;
  readonly application: string;
  /** The time that both the store's clock and the host's clock have reached. */
  readonly nowMs: number;
  readonly startedMs: number;
  /** Every tick up to this time is settled in the last record seen here; undefined without one. */
  readonly knownMs: number | undefined;
  /** Every tick runs with a delay up to this, however many there are. */
  readonly lateMs: number;
  /** Whether the last of the late ticks runs, or none. */
  readonly missed: MissedTicks;
  /** The maximum number of starts of a tick. */
  readonly attempts: number;
  readonly holdAtMostMs: number;
}

/** A tick to run. */
export interface DueTick {
  readonly tickMs: number;
  /** The number of earlier ticks to skip, up to `COUNT_MAX`. */
  readonly skippedCount: number;
  /** The number of starts of this tick, including this one. */
  readonly attempt: number;
}

export interface Decision {
  /** The current record; the given object if it needs no write. */
  readonly record: CronRecord;
  /** A due tick, to run or to skip. */
  readonly due?: DueTick & { readonly isTooLate: boolean };
  /** Without a due tick: when the next may be due; undefined if never. */
  readonly untilMs?: number | undefined;
}

/** More ticks than this are not counted. */
const COUNT_MAX = 1000;
/** The search for the last of many ticks starts with the last minute. */
const SEARCH_MS = 60_000;
const BACK_OFF_MS = 60_000;
const BACK_OFF_MS_MAX = 3_600_000;

/** Decides what the lock's holder does. */
export function decide(stored: CronRecord | undefined, terms: CronTerms): Decision {
  const { schedule, nowMs, startedMs, knownMs = startedMs, missed } = terms;
  const record = stored === undefined ? newRecord(terms) : judged(stored, terms);
  const { settledMs, runs } = record;
  const againMs = againMsOf(runs);
  if (againMs > nowMs) return { record, untilMs: againMs };
  const lateBeforeMs = nowMs - terms.lateMs - 1;
  const next = tickAfter(schedule, Math.max(settledMs, lateBeforeMs));
  const isInTime = next !== undefined && next <= nowMs;
  const tickMs = isInTime ? next : lastIn(schedule, settledMs, lateBeforeMs);
  if (tickMs === undefined) return { record, untilMs: next };
  // A lost record may have settled ticks that this process has not seen.
  const sinceMs = stored === undefined ? Math.min(knownMs, settledMs) : settledMs;
  let skippedCount = 0;
  for (const _ of ticksIn(schedule, sinceMs, tickMs - 1)) if (++skippedCount === COUNT_MAX) break;
  const due = { tickMs, skippedCount, attempt: 1 + lossesOf(runs, tickMs) };
  return { record, due: { ...due, isTooLate: !isInTime && missed === 'skip' } };
}

/** Of the ticks since this process saw the record, or since its start, only the last stays open. */
function newRecord({ schedule, application, nowMs, startedMs, knownMs = startedMs }: CronTerms) {
  const sinceMs = Math.min(knownMs, nowMs);
  const lastMs = lastIn(schedule, sinceMs, nowMs);
  const settledMs = lastMs === undefined ? sinceMs : lastMs - 1;
  return { schedule: schedule.text, application, settledMs, runs: [] };
}

/** Returns the record as the lock's holder must treat it, under its schedule. */
function judged(stored: CronRecord, terms: CronTerms): CronRecord {
  const { nowMs, startedMs, knownMs = 0, attempts, holdAtMostMs } = terms;
  const { text } = terms.schedule;
  const isOther = stored.schedule !== text;
  const changedMs = isOther ? Math.min(startedMs, nowMs) : 0;
  const settledMs = Math.max(stored.settledMs, knownMs, changedMs);
  const isSame = !isOther && settledMs === stored.settledMs;
  const record = isSame ? stored : { ...stored, schedule: text, settledMs };
  const [last] = stored.runs;
  if (last?.outcome !== 'running') return record;
  const tookMs = Math.max(0, nowMs - last.startedAtMs);
  const isLast = lossesOf(stored.runs, last.tickMs) + 1 >= attempts;
  const lost = isLast ? 'given-up' : 'lost';
  const gone = last.isClosing === true ? 'interrupted' : lost;
  // A run at its limit is not repeated: clocks differ a little, and a hanging run would hang again.
  const outcome = tookMs >= holdAtMostMs * 0.9 ? 'too-long' : gone;
  return withEnded(record, { token: last.token, outcome, tookMs });
}

/** After two losses in a row a job waits, longer each time, until a run of it ends. */
function againMsOf(runs: readonly CronRunRecord[]): number {
  const all = runs.filter(({ outcome }) => !['interrupted', 'skipped'].includes(outcome));
  const other = all.findIndex(({ outcome }) => !['lost', 'given-up'].includes(outcome));
  const count = other < 0 ? all.length : other;
  if (count < 2) return 0;
  const { startedAtMs, tookMs } = all[0]!;
  return startedAtMs + tookMs + Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (count - 2));
}

function lossesOf(runs: readonly CronRunRecord[], tickMs: number): number {
  return runs.filter((run) => run.tickMs === tickMs && run.outcome === 'lost').length;
}

export function withBegun(
  record: CronRecord,
  run: Omit<CronRunRecord, 'tookMs' | 'outcome'>,
): CronRecord {
  return { ...record, runs: [{ ...run, tookMs: 0, outcome: 'running' }, ...record.runs] };
}

/** Settles the tick of the run with this token, unless the tick stays open for a repetition. */
export function withEnded(
  record: CronRecord,
  { token, outcome, tookMs }: Pick<CronRunRecord, 'token' | 'outcome' | 'tookMs'>,
): CronRecord {
  const ended = record.runs.find((run) => run.token === token);
  if (ended === undefined) return record;
  const runs = record.runs.map((run) => (run === ended ? { ...run, outcome, tookMs } : run));
  const isOpen = outcome === 'lost' || outcome === 'interrupted';
  const settledMs = isOpen ? record.settledMs : Math.max(record.settledMs, ended.tickMs);
  return { ...record, settledMs, runs };
}

/** A schedule that does not advance counts as ended, so no loop runs forever. */
export function tickAfter(schedule: Schedule, ms: number): number | undefined {
  const tick = schedule.next(ms);
  return tick !== undefined && tick > ms ? tick : undefined;
}

/** Returns the last tick after one time and up to another. */
function lastIn(schedule: Schedule, afterMs: number, upToMs: number): number | undefined {
  for (let spanMs = SEARCH_MS; ; spanMs *= 4) {
    const fromMs = Math.max(afterMs, upToMs - spanMs);
    let last: number | undefined;
    for (const tick of ticksIn(schedule, fromMs, upToMs)) last = tick;
    if (last !== undefined || fromMs === afterMs) return last;
  }
}

function* ticksIn(schedule: Schedule, afterMs: number, upToMs: number): Generator<number> {
  let tick = tickAfter(schedule, afterMs);
  for (; tick !== undefined && tick <= upToMs; tick = tickAfter(schedule, tick)) yield tick;
}
