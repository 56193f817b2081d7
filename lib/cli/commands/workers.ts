/**
 * `snowflake workers`: the worker IDs with their holders, start times and end times.
 *
 * Guarantee: it reads the registry once, keeps at most --limit records, and changes nothing.
 */
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { failed, spanText, utcText } from '../command.js';
import { listCommand, nameCell } from '../list-command.js';
import { occupancyOf, occupancyText, noRegistryText } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';

export const workers = listCommand<WorkerRecord>({
  name: 'workers',
  summary: 'List the holders of worker IDs, and count the free ones',
  says: ['Exit code 1: there is no registry.'],
  options: {
    ...SUPPORT_OPTIONS,
    all: { says: 'include worker IDs that were used before and are free now' },
  },
  // Most fleets are smaller than the default, and the widest layout has the maximum.
  limit: { says: 'the most worker IDs to read', count: 100_000, max: 4_194_304 },
  json: 'one JSON object per worker ID, then one with the counts',
  examples: [
    `snowflake workers --support 'redis://localhost:6379?namespace=shop'`,
    `SNOWFLAKE_SUPPORT='redis://:password@host' snowflake workers --json`,
  ],
  read: (call, limit) =>
    withStore(call, async (store) => {
      // One extra record shows whether there are more.
      const { workers: found, ...rest } = await store.read(limit + 1);
      if (rest.facts === undefined) return failed(call, noRegistryText(store.key));
      const view = { ...rest, workers: found.slice(0, limit) };
      const isAll = found.length <= limit;
      const occupancy = occupancyOf(view);
      const advice = 'these are some. Raise --limit to see more.';
      const cut = `There are more than ${limit} worker ids; ${advice}`;
      const counts = isAll ? occupancyText(occupancy) : cut;
      return {
        rows: view.workers.filter(({ freeInMs }) => freeInMs > 0 || call.options.flag('all')),
        totals: {
          ...(isAll ? occupancy : { isCut: true, limit }),
          storeTime: utcText(view.storeMs),
        },
        below: [`${counts} Time of the store: ${utcText(view.nowMs)}`],
      };
    }),
  cells({ workerId, ceilingMs, freeInMs, holder }) {
    const { host = '-', pid, application = '-', version = '-', sinceMs } = holder ?? {};
    return {
      worker: workerId,
      host: nameCell(host),
      pid: pid || '-',
      application: nameCell(application),
      version: nameCell(version),
      since: !sinceMs ? '-' : utcText(sinceMs),
      until: utcText(ceilingMs),
      'free in': freeInMs > 0 ? spanText(freeInMs) : 'now',
    };
  },
  record({ workerId, ceilingMs, freeInMs, holder }) {
    const since = holder && { ...holder, since: utcText(holder.sinceMs) };
    return { workerId, ...since, until: utcText(ceilingMs), untilMs: ceilingMs, freeInMs };
  },
});
