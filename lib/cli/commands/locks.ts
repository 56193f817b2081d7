/**
 * `snowflake locks`: the held locks, with their holders, start times and remaining times. The
 * commands that prepare a store for locks, and that show the jobs of `@CronOnce`, follow.
 *
 * Guarantee: it changes nothing, and no string from the store controls the terminal.
 */
import { recordsIn, type CronRunRecord, type NamedRecord } from '../../cron/cron-record.js';
import { LOCK } from '../../lock/lock-options.js';
import type { LockRecord } from '../../lock/lock-store.js';
import { formatName, printable } from '../../messages.js';
import { changeCommand, NO_TABLE } from '../change-command.js';
import { failed, spanText, utcText } from '../command.js';
import { listCommand, nameCell, type Cells } from '../list-command.js';
import {
  SUPPORT_OPTIONS,
  unlessTableIsMissing,
  withLocks,
  type NamedLocks,
} from '../store/stores.js';

export const locks = listCommand<LockRecord>({
  name: 'locks',
  summary: 'List the locks that are held, with their holders',
  says: [
    'A lock that is kept is no longer held: its holder finished before `holdAtLeastMs` was over. ' +
      'The metrics of each process count waiting callers and lost locks. No command releases a ' +
      'lock: stop its holder, or wait until the lock expires.',
  ],
  options: SUPPORT_OPTIONS,
  limit: { says: 'the most locks to show', count: 1000, max: 1_000_000 },
  json: 'one JSON object per lock, then one with the counts',
  examples: [
    `snowflake locks --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake locks --json --support postgres://localhost/shop`,
  ],
  read: (call, limit) =>
    withLocks(call, async (store) => {
      const records = await store.records();
      const kept = records.filter(({ isKept }) => isKept).length;
      const held = records.length - kept;
      const isCut = records.length > limit;
      const cut = isCut ? ` These are the first ${limit}. Raise --limit to see more.` : '';
      const advice = call.options.flag('json') ? [] : await store.advice();
      return {
        rows: records.slice(0, limit),
        totals: { held, kept, ...(isCut && { isCut, limit }) },
        below: [
          `${held} held, ${kept} kept.${cut} In ${store.location}.`,
          ...advice.map((text) => `Note: ${text}`),
        ],
      };
    }),
  cells: ({ lock, label, token, sinceMs, leftMs, isKept }) => ({
    lock: nameCell(lock),
    state: isKept ? 'kept' : 'held',
    by: nameCell(label),
    token,
    since: utcText(sinceMs),
    'free in': spanText(leftMs),
  }),
  record({ lock, label, token, sinceMs, leftMs, isKept }) {
    const state = isKept ? 'kept' : 'held';
    return { lock, state, label, token: String(token), since: utcText(sinceMs), sinceMs, leftMs };
  },
});

/*
 * `snowflake locks create`: creates the table for locks in a database, and starts the waiting time
 * during which a new store grants no lock.
 *
 * Guarantee: it never changes an existing table.
 */

export const locksCreate = changeCommand<number, NamedLocks>({
  name: 'locks create',
  summary: 'Prepare a store for locks: create the table, start the wait of a new store',
  says: [
    'Redis and etcd need no table. Your own migration can create it with the statement that ' +
      '--dry prints. A store without locks looks like one that has lost them, so it grants none ' +
      'for a while. That wait starts here, not with the first lock after a deployment.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'duration', says: 'the longestTtlMs of any process; default 10s' },
  },
  dry: 'print the statement that creates the table, and do nothing',
  examples: [
    `snowflake locks create --dry --support postgres://localhost/shop`,
    `snowflake locks create --yes --support mysql://localhost/shop`,
  ],
  terms: (options) => options.duration('ttl', LOCK.ttlMs[0]) ?? LOCK.ttlMs[1],
  open: withLocks,
  async plan(locks, ttlMs, { terminal, options }) {
    const { preparation, location } = locks;
    if (preparation === undefined) await terminal.say(NO_TABLE);
    const isMissing =
      !options.flag('dry') && (await unlessTableIsMissing(locks.records())) === undefined;
    return {
      sql: preparation?.text,
      question: isMissing ? 'Create this table?' : 'Begin to keep locks?',
      async make() {
        if (isMissing) await preparation?.run();
        const waitMs = await locks.begin(ttlMs);
        const when = waitMs === 0 ? 'now' : `in ${spanText(waitMs)}`;
        await terminal.say(`${location} grants its first lock ${when}.`);
        return 0;
      },
    };
  },
});

/*
 * `snowflake cron`: the jobs of `@CronOnce` in a lock store, and the last runs of one job.
 *
 * Guarantee: it changes nothing, and no string from the store controls the terminal.
 */

export const cron = listCommand<NamedRecord>({
  name: 'cron',
  summary: 'List the jobs of @CronOnce with their last runs, or the runs of one job',
  says: [
    'A run is done, failed, running, too-long (abandoned at holdAtMostMs) or skipped (left out ' +
      'as too late). A run that another process repeated is lost if its process was gone, and ' +
      'interrupted if it shut down. After the last attempt it is given-up. Exit code 1: there is ' +
      'no job of that name.',
  ],
  words: { name: 'job', min: 0, max: 1 },
  options: SUPPORT_OPTIONS,
  json: 'one JSON object per job, with all its runs',
  examples: [
    `snowflake cron --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake cron Reports.nightly --support postgres://localhost/shop`,
  ],
  read: (call) =>
    withLocks(call, async (locks) => {
      const { location } = locks;
      const [job] = call.options.words;
      const all = recordsIn(await locks.notes());
      const rows = job === undefined ? all : all.filter((record) => record.job === job);
      if (job !== undefined && rows.length === 0) {
        return failed(call, `There is no job ${formatName(job)} in ${location}.`);
      }
      return { rows, below: rows.length === 0 ? [`There are no jobs in ${location}.`] : [] };
    }),
  cells: (record, { words }) =>
    words.length === 0
      ? jobCells(record)
      : record.runs.map((run) => ({
          ...runCells(run),
          began: utcText(run.startedAtMs),
          token: String(run.token),
        })),
  record: ({ job, schedule, settledMs, runs }) => ({
    job,
    schedule,
    settled: utcText(settledMs),
    settledMs,
    runs: runs.map((run) => ({ ...run, tick: utcText(run.tickMs), token: String(run.token) })),
  }),
});

function jobCells({ job, schedule, settledMs, runs: [last] }: NamedRecord): Cells {
  const none = { 'run for': `none up to ${utcText(settledMs)}`, ended: '', took: '', by: '' };
  const { 'run for': at, ...run } = last ? runCells(last) : { ...none, 'left out': '' };
  return { job: nameCell(job), schedule: printable(schedule), 'last run for': at, ...run };
}

const runCells = ({ tickMs, outcome, tookMs, by, skippedCount }: CronRunRecord) => ({
  'run for': utcText(tickMs),
  ended: outcome,
  took: outcome === 'running' ? '' : spanText(tookMs),
  by: printable(by),
  'left out': String(skippedCount),
});
