/**
 * `snowflake counters list` and `counters inspect`: the counters, and where they stand.
 *
 * Guarantee: nothing is changed, and no text from the store steers the terminal.
 */
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import type { CounterRecord } from '../../counters/counter-store.js';
import { formatName } from '../../messages.js';
import { quoted, usageFault, type Call, type Command, confirm, spanText } from '../command.js';
import { SUPPORT_OPTIONS, withCounters, type NamedCounters } from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';

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
      else await terminal.print(`There are no counters in ${counters.location}.`);
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
        await terminal.say(`There is no counter ${formatName(counter)} in ${counters.location}.`);
        return 1;
      }
      await terminal.print(...counterLines(record, counters.location));
      for (const text of (await counters.limited(adviceOf(counters))) ?? []) {
        await terminal.print(`Note: ${text}`);
      }
      return 0;
    }),
};

function counterLines(record: CounterRecord, location: string): string[] {
  const [counter = '', form = '', next = '', era = '', grants = ''] = rowOf(record);
  return tableLines([
    ['counter', counter],
    ['store', location],
    ['form', form],
    ['next', next],
    ['era', era],
    ['grants', grants],
  ]);
}

async function recordsOf({ store, limited, location }: NamedCounters) {
  if (store.counters === undefined) throw usageFault(`${location} cannot list its counters.`);
  const records = await limited(store.counters());
  return records.toSorted((a, b) => (a.counter < b.counter ? -1 : 1));
}

async function adviceOf({ store }: NamedCounters): Promise<readonly string[] | undefined> {
  return store.advice?.();
}

function rowOf({ counter, form, next, era, waitMs }: CounterRecord): string[] {
  const grants = waitMs > 0 ? `in ${spanText(waitMs)}` : 'now';
  return [formatName(counter), formatName(form), String(next), String(era), grants];
}

function jsonOf({ next, ...record }: CounterRecord): object {
  return { ...record, next: String(next) };
}

/*
 * `snowflake counters create`: creates a counter, which no process does by itself.
 *
 * Guarantee: a counter that exists is never changed.
 */

export const countersCreate: Command = {
  name: 'counters create',
  summary: 'Creates a counter for segments or a series',
  words: { name: 'counter', min: 1, max: 1 },
  says: [
    '--start must be above every number ever used: after a store has lost a counter, above every ' +
      'id in the tables and all that running processes have buffered. Exit code 1: the counter ' +
      'already exists.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    start: { value: 'number', says: 'the first number; of several stores the first position' },
    stores: { value: 'k/N', says: 'which of how many stores this is; default 1/1' },
    yes: { says: 'do not ask, for scripts' },
  },
  examples: [
    `snowflake counters create order --start 1 --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake counters create order --start 500000 --yes --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withCounters(call, async (counters) => {
      const { store, location, limited } = counters;
      const { terminal, options } = call;
      const [counter = ''] = options.words;
      const start = startOf(options.required('start'));
      const stores = options.text('stores') ?? '1/1';
      if (store.create === undefined) throw usageFault(`${location} cannot create counters.`);
      const question = `Create the counter ${formatName(counter)} at ${start} in ${location}?`;
      if (!options.flag('yes') && !(await confirm(terminal, question))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      const isNew = await limited(store.create({ counter, start, stores }));
      const record = (await recordsOf(counters)).find((each) => each.counter === counter);
      if (record !== undefined) await terminal.print(...counterLines(record, location));
      if (!isNew) await terminal.say('snowflake: the counter already exists. Nothing was changed.');
      return isNew ? 0 : 1;
    }),
};

function startOf(text: string): bigint {
  if (isDecimalId(text)) return BigInt(text);
  throw usageFault(`Expected --start to be a whole number up to ${ID_MAX}, got ${quoted(text)}.`);
}
