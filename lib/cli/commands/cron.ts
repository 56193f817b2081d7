/**
 * `snowflake cron`: the jobs of `@CronOnce` in a store, and the last runs of one of them.
 *
 * Guarantee: nothing is changed, and no text from the store steers the terminal.
 */
import {
  CRON_PREFIX,
  recordIn,
  type CronRecord,
  type CronRunRecord,
} from '../../lock/cron-record.js';
import { cutName, formatName, printable } from '../../messages.js';
import { spanText, utcText, type Call, type Command } from '../command.js';
import { SUPPORT_OPTIONS, withLocks, type NamedLocks } from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';

/** One long name must not widen the column of all others. */
const NAME_LENGTH_MAX = 63;

interface NamedRecord extends CronRecord {
  readonly job: string;
}

export const cron: Command = {
  name: 'cron',
  summary: 'The jobs of @CronOnce and their last runs; with a job: all its runs that are known',
  says: [
    'A run is done, failed, running, lost (its process was gone, and another one did it again) ' +
      'or too-long (it was given up). The record of a job stands beside its lock and has its ' +
      'last runs. Exit code 1: there is no job of that name.',
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
      const all = await recordsOf(locks);
      const records = job === undefined ? all : all.filter((record) => record.job === job);
      if (job !== undefined && records.length === 0) {
        await terminal.say(`There is no job ${formatName(job)} in ${locks.location}.`);
        return 1;
      }
      if (options.flag('json')) {
        await terminal.printJson(...records.map(jsonOf));
        return 0;
      }
      const [head = [], ...table] = job === undefined ? jobTable(records) : runTable(records);
      const [title = '', ...rows] = tableLines([head, ...table], '', []);
      if (rows.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows);
      else await terminal.print(`There are no jobs in ${locks.location}.`);
      return 0;
    }),
};

async function recordsOf(locks: NamedLocks): Promise<NamedRecord[]> {
  return (await locks.notes()).flatMap(({ lock, note }) => {
    const record = lock.startsWith(CRON_PREFIX) ? recordIn(note) : undefined;
    return record === undefined ? [] : [{ ...record, job: lock.slice(CRON_PREFIX.length) }];
  });
}

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

function jsonOf({ job, schedule, settledMs, runs }: NamedRecord): object {
  return {
    job,
    schedule,
    settled: utcText(settledMs),
    settledMs,
    runs: runs.map((run) => ({ ...run, tick: utcText(run.tickMs), token: String(run.token) })),
  };
}
