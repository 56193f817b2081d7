/**
 * `snowflake counters list` and `counters inspect`: which counters there are, and where they stand.
 *
 * Promise: nothing is changed, and what others wrote into the store steers no terminal.
 */
import type { CounterRecord } from '../../counters/counter-store.js';
import { shownName } from '../../shown.js';
import { usageFault, type Call, type Command } from '../command.js';
import { withCounters, type NamedCounters } from '../store/counters-option.js';
import { SUPPORT_OPTIONS } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';
import { spanText } from '../time-text.js';

export const countersList: Command = {
  name: 'counters list',
  summary: 'The counters of a store and their positions',
  options: { ...SUPPORT_OPTIONS, json: { says: 'one JSON object per counter' } },
  examples: [`snowflake counters list --support 'redis://localhost:6379?namespace=shop'`],
  run: (call: Call): Promise<ExitCode> =>
    withCounters(call, async (counters) => {
      const records = await recordsOf(counters);
      const { terminal, options } = call;
      if (options.flag('json')) {
        await terminal.printJson(...records.map(jsonOf));
        return 0;
      }
      const head = ['counter', 'form', 'next', 'era', 'grants'];
      const [title = '', ...rows] = tableLines([head, ...records.map(rowOf)], '', [2, 3]);
      if (rows.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows);
      else await terminal.print(`There are no counters in ${counters.place}.`);
      return 0;
    }),
};

export const countersInspect: Command = {
  name: 'counters inspect',
  summary: 'The position of one counter; exit code 1: there is none of that name',
  words: { name: 'counter', min: 1, max: 1 },
  options: SUPPORT_OPTIONS,
  examples: [`snowflake counters inspect order --support postgres://localhost/shop`],
  run: (call: Call): Promise<ExitCode> =>
    withCounters(call, async (counters) => {
      const [counter = ''] = call.options.words;
      const record = (await recordsOf(counters)).find((each) => each.counter === counter);
      const { terminal } = call;
      if (record === undefined) {
        await terminal.say(`There is no counter ${shownName(counter)} in ${counters.place}.`);
        return 1;
      }
      await terminal.print(...counterLines(record, counters.place));
      for (const text of (await counters.limited(adviceOf(counters))) ?? []) {
        await terminal.print(`Note: ${text}`);
      }
      return 0;
    }),
};

export function counterLines(record: CounterRecord, place: string): string[] {
  const [counter = '', form = '', next = '', era = '', grants = ''] = rowOf(record);
  return tableLines([
    ['counter', counter],
    ['store', place],
    ['form', form],
    ['next', next],
    ['era', era],
    ['grants', grants],
  ]);
}

export async function recordsOf({ store, limited, place }: NamedCounters) {
  if (store.counters === undefined) throw usageFault(`${place} cannot list its counters.`);
  const records = await limited(store.counters());
  return records.toSorted((a, b) => (a.counter < b.counter ? -1 : 1));
}

async function adviceOf({ store }: NamedCounters): Promise<readonly string[] | undefined> {
  return store.advice?.();
}

function rowOf({ counter, form, next, era, waitMs }: CounterRecord): string[] {
  const grants = waitMs > 0 ? `in ${spanText(waitMs)}` : 'now';
  return [shownName(counter), shownName(form), String(next), String(era), grants];
}

function jsonOf({ next, ...record }: CounterRecord): object {
  return { ...record, next: String(next) };
}
