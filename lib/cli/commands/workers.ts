/**
 * `snowflake workers`: the worker ids and their holders, since when and until when.
 *
 * Guarantee: it reads the registry once, keeps no more than --limit says, and changes nothing.
 */
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { cutName } from '../../messages.js';
import { usageFault, type Call, type Command, spanText, utcText } from '../command.js';
import { occupancyOf, occupancyText, noRegistryText } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { type ExitCode, tableLines } from '../terminal.js';

/** A fleet has fewer, and so many are little to keep. */
const LIMIT = 100_000;
/** The widest layout has this many. */
const LIMIT_MAX = 4_194_304;

export const workers: Command = {
  name: 'workers',
  summary: 'Who holds which worker id, and how many are free',
  options: {
    ...SUPPORT_OPTIONS,
    limit: { value: 'count', says: `the most worker ids to read; default ${LIMIT}` },
    all: { says: 'also worker ids that were used before and are free now' },
    json: { says: 'one JSON object per worker id, then one with the counts' },
  },
  examples: [
    `snowflake workers --support 'redis://localhost:6379?namespace=shop'`,
    `SNOWFLAKE_SUPPORT='redis://:password@host' snowflake workers --json`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore<ExitCode>(call, async (store) => {
      const { terminal, options } = call;
      const limit = limitOf(call);
      // One record more shows whether there are more.
      const { workers: found, ...rest } = await store.read(limit + 1);
      const isAll = found.length <= limit;
      const view = { ...rest, workers: found.slice(0, limit) };
      const records = view.workers.filter(({ freeInMs }) => freeInMs > 0 || options.flag('all'));
      const occupancy = isAll ? occupancyOf(view) : { isCut: true, limit };
      if (options.flag('json')) {
        const lines = [
          ...records.map(recordOf),
          { ...occupancy, storeTime: utcText(view.storeMs) },
        ];
        await terminal.printJson(...lines);
        return 0;
      }
      if (view.facts === undefined) {
        await terminal.print(noRegistryText(store.key));
        return 0;
      }
      const head = ['worker', 'host', 'pid', 'application', 'version', 'since', 'until', 'free in'];
      const table = tableLines([head, ...records.map(rowOf)], '', [0, 2]);
      const [title = '', ...rows] = table;
      if (records.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows, '');
      const counts = 'held' in occupancy ? occupancyText(occupancy) : cutText(limit);
      await terminal.print(`${counts} Time of the store: ${utcText(view.nowMs)}`);
      return 0;
    }),
};

/** @throws SnowflakeError CONFIG_INVALID */
function limitOf({ options }: Call): number {
  const limit = options.whole('limit') ?? LIMIT;
  if (limit < 1 || limit > LIMIT_MAX) {
    throw usageFault(`Expected --limit to be from 1 to ${LIMIT_MAX}, got ${limit}.`);
  }
  return limit;
}

function cutText(limit: number): string {
  return `There are more than ${limit} worker ids; these are some. Raise --limit to see more.`;
}

/** A DNS label is as long. One long name must not widen the column of all others. */
const NAME_LENGTH_MAX = 63;

function rowOf({ workerId, ceilingMs, freeInMs, holder }: WorkerRecord): string[] {
  const { host = '-', pid = '-', application = '-', version = '-', sinceMs } = holder ?? {};
  return [
    String(workerId),
    cutName(host, NAME_LENGTH_MAX),
    String(pid || '-'),
    cutName(application, NAME_LENGTH_MAX),
    cutName(version, NAME_LENGTH_MAX),
    !sinceMs ? '-' : utcText(sinceMs),
    utcText(ceilingMs),
    freeInMs > 0 ? spanText(freeInMs) : 'now',
  ];
}

function recordOf({ workerId, ceilingMs, freeInMs, holder }: WorkerRecord): object {
  const since = holder && { ...holder, since: utcText(holder.sinceMs) };
  return { workerId, ...since, until: utcText(ceilingMs), untilMs: ceilingMs, freeInMs };
}
