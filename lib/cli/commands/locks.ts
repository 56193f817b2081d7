/**
 * `snowflake locks`: the locks that are held, by whom, since when and for how long. The commands
 * that prepare a store for locks, and that show the jobs of `@CronOnce`, follow.
 *
 * Guarantee: nothing is changed, and no text from the store steers the terminal.
 */
import { isSnowflakeError } from '../../errors.js';
import { recordsIn, type CronRunRecord, type NamedRecord } from '../../cron/cron-record.js';
import type { LockRecord } from '../../lock/lock-store.js';
import { cutName, formatName, printable } from '../../messages.js';
import { usageFault, type Call, type Command, confirm, spanText, utcText } from '../command.js';
import { SUPPORT_OPTIONS, withLocks, type NamedLocks } from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';

const LIMIT = 1000;
const LIMIT_MAX = 1_000_000;
/** One long name must not widen the column of all others. */
const NAME_LENGTH_MAX = 63;

export const locks: Command = {
  name: 'locks',
  summary: 'Which locks are held, by whom and since when',
  says: [
    'A lock that is kept is no longer held: its holder finished before `holdAtLeastMs` was over. ' +
      'Each process reports in its metrics who waits for a lock and who has lost one. You cannot ' +
      "free somebody else's lock: it is free when its time is over.",
  ],
  options: {
    ...SUPPORT_OPTIONS,
    limit: { value: 'count', says: `the most locks to show; default ${LIMIT}` },
    json: { says: 'one JSON object per lock, then one with the counts' },
  },
  examples: [
    `snowflake locks --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake locks --json --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withLocks(call, async (store) => {
      const limit = limitOf(call);
      const records = await store.records();
      const format = records.slice(0, limit);
      const keptCount = records.filter(({ isKept }) => isKept).length;
      const counts = { held: records.length - keptCount, kept: keptCount };
      const { terminal, options } = call;
      if (options.flag('json')) {
        const cut = format.length < records.length && { isCut: true, limit };
        await terminal.printJson(...format.map(jsonOf), { ...counts, ...cut });
        return 0;
      }
      const head = ['lock', 'state', 'by', 'token', 'since', 'free in'];
      const [title = '', ...rows] = tableLines([head, ...format.map(rowOf)], '', [3]);
      if (rows.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows, '');
      await terminal.print(`${countsText(counts, limit)} In ${store.location}.`);
      await printAdvice(store, call);
      return 0;
    }),
};

/** @throws SnowflakeError CONFIG_INVALID */
function limitOf({ options }: Call): number {
  const limit = options.whole('limit') ?? LIMIT;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw usageFault(`Expected --limit to be from 1 to ${LIMIT_MAX}, got ${limit}.`);
}

function countsText({ held, kept }: { held: number; kept: number }, limit: number): string {
  const counts = `${held} held, ${kept} kept.`;
  if (held + kept <= limit) return counts;
  return `${counts} These are the first ${limit}. Raise --limit to see more.`;
}

async function printAdvice(store: NamedLocks, { terminal }: Call): Promise<void> {
  for (const text of await store.advice()) await terminal.print(`Note: ${text}`);
}

function rowOf({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): string[] {
  return [
    printable(cutName(lock, NAME_LENGTH_MAX)),
    isKept ? 'kept' : 'held',
    printable(cutName(label, NAME_LENGTH_MAX)),
    String(token),
    utcText(sinceMs),
    spanText(leftMs),
  ];
}

function jsonOf({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): object {
  const state = isKept ? 'kept' : 'held';
  return { lock, state, label, token: String(token), since: utcText(sinceMs), sinceMs, leftMs };
}

/*
 * `snowflake locks create`: makes the table that locks need in a database, and starts the time
 * during which a new store grants none.
 *
 * Guarantee: a table that exists is never changed.
 */

const TTL_MS = 10_000;

export const locksCreate: Command = {
  name: 'locks create',
  summary:
    'Prepares a store for locks: makes the table in a database if it is missing, and asks for a ' +
    'first one',
  says: [
    'Redis and etcd need no table. A migration of yours can make it too, with the statement that ' +
      '--dry prints. A store without locks looks like one that has lost them, so it grants none ' +
      'for a while: that begins here, and not with the first lock after a deployment.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'ms', says: 'the longestTtlMs of any process; default 10000' },
    yes: { says: 'do not ask, for scripts' },
    dry: { says: 'print the statement that creates the table, and do nothing' },
  },
  examples: [
    `snowflake locks create --dry --support postgres://localhost/shop`,
    `snowflake locks create --yes --support mysql://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withLocks(call, async (locks) => {
      const { terminal, options } = call;
      const { preparation, location } = locks;
      const ttlMs = options.whole('ttl') ?? TTL_MS;
      if (preparation !== undefined) await terminal.printSql(preparation.text);
      else await terminal.say(`${location} needs no table.`);
      if (options.flag('dry')) return 0;
      const isMissing = preparation !== undefined && !(await isThere(locks));
      const question = isMissing ? 'Create this table?' : 'Begin to keep locks?';
      if (!options.flag('yes') && !(await confirm(terminal, question))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      if (isMissing) await preparation.run();
      const waitMs = await locks.begin(ttlMs);
      const when = waitMs === 0 ? 'now' : `in ${spanText(waitMs)}`;
      await terminal.say(`${location} grants its first lock ${when}.`);
      return 0;
    }),
};

async function isThere(locks: NamedLocks): Promise<boolean> {
  try {
    await locks.records();
    return true;
  } catch (error) {
    if (isSnowflakeError(error) && error.details['refusal'] === 'no-table') return false;
    throw error;
  }
}

/*
 * `snowflake cron`: the jobs of `@CronOnce` in a store of locks, and the last runs of one of them.
 *
 * Guarantee: nothing is changed, and no text from the store steers the terminal.
 */

export const cron: Command = {
  name: 'cron',
  summary: 'The jobs of @CronOnce and their last runs; with a job: all its runs that are known',
  says: [
    'A run is done, failed, running, lost (its process was gone, and another one did it again), ' +
      'given-up (that was so as often as a tick is tried), interrupted (its process was shut ' +
      'down, and another one did it again), too-long (it was given up at holdAtMostMs) or ' +
      'skipped (it was left out as too late). The record of a job stands beside its lock and ' +
      'has its last runs. Exit code 1: there is no job of that name.',
  ],
  words: { name: 'job', min: 0, max: 1 },
  options: { ...SUPPORT_OPTIONS, json: { says: 'one JSON object per job, with all its runs' } },
  examples: [
    `snowflake cron --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake cron Reports.nightly --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withLocks(call, async (locks) => {
      const { terminal, options } = call;
      const [job] = options.words;
      const all = recordsIn(await locks.notes());
      const records = job === undefined ? all : all.filter((record) => record.job === job);
      if (job !== undefined && records.length === 0) {
        await terminal.say(`There is no job ${formatName(job)} in ${locks.location}.`);
        return 1;
      }
      if (options.flag('json')) {
        await terminal.printJson(...records.map(jobJsonOf));
        return 0;
      }
      const [head = [], ...table] = job === undefined ? jobTable(records) : runTable(records);
      const [title = '', ...rows] = tableLines([head, ...table], '', []);
      if (rows.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows);
      else await terminal.print(`There are no jobs in ${locks.location}.`);
      return 0;
    }),
};

function jobTable(records: readonly NamedRecord[]): string[][] {
  const head = ['job', 'schedule', 'last run for', 'ended', 'took', 'by', 'left out'];
  return [head, ...records.map(jobRow)];
}

function jobRow({ job, schedule, settledMs, runs: [last] }: NamedRecord): string[] {
  const name = printable(cutName(job, NAME_LENGTH_MAX));
  if (last === undefined) return [name, printable(schedule), `none up to ${utcText(settledMs)}`];
  return [name, printable(schedule), ...runRow(last)];
}

function runTable([record]: readonly NamedRecord[]): string[][] {
  const head = ['run for', 'ended', 'took', 'by', 'left out', 'began', 'token'];
  const rows = record!.runs.map((run) => {
    return [...runRow(run), utcText(run.startedAtMs), String(run.token)];
  });
  return [head, ...rows];
}

function runRow({ tickMs, outcome, tookMs, by, skippedCount }: CronRunRecord): string[] {
  const took = outcome === 'running' ? '' : spanText(tookMs);
  return [utcText(tickMs), outcome, took, printable(by), String(skippedCount)];
}

function jobJsonOf({ job, schedule, settledMs, runs }: NamedRecord): object {
  return {
    job,
    schedule,
    settled: utcText(settledMs),
    settledMs,
    runs: runs.map((run) => ({ ...run, tick: utcText(run.tickMs), token: String(run.token) })),
  };
}
