/**
 * `snowflake counters list` and `counters inspect`: the counters and their next numbers.
 *
 * Guarantee: they change nothing, and no string from the store controls the terminal.
 */
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { checkNew } from '../../counters/counter-rules.js';
import type { CounterRecord, NewCounter } from '../../counters/counter-store.js';
import { formatName } from '../../messages.js';
import { changeCommand, UNCHANGED } from '../change-command.js';
import { failed, quoted, show, spanText, usageFault, type Call, type Command } from '../command.js';
import { listCommand } from '../list-command.js';
import { SUPPORT_OPTIONS, withCounters, type NamedCounters } from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';

export const countersList = listCommand<CounterRecord>({
  name: 'counters list',
  summary: 'List the counters of a store and their positions',
  options: SUPPORT_OPTIONS,
  json: 'one JSON object per counter',
  examples: [`snowflake counters list --support 'redis://localhost:6379?namespace=shop'`],
  read: (call) =>
    withCounters(call, async (counters) => {
      const rows = await recordsOf(counters);
      return {
        rows,
        below: rows.length > 0 ? [] : [`There are no counters in ${counters.location}.`],
      };
    }),
  cells: cellsOf,
  record: jsonOf,
});

function jsonOf({ next, ...record }: CounterRecord): object {
  return { ...record, next: String(next) };
}

export const countersInspect: Command = {
  name: 'counters inspect',
  summary: 'Show the position of one counter',
  says: ['Exit code 1: there is no counter of that name.'],
  words: { name: 'counter', min: 1, max: 1 },
  options: { ...SUPPORT_OPTIONS, json: { says: 'a JSON object' } },
  examples: [`snowflake counters inspect order --support postgres://localhost/shop`],
  run: (call: Call): Promise<ExitCode> =>
    withCounters(call, async (counters) => {
      const [counter = ''] = call.options.words;
      const { store, location, limited } = counters;
      const record = (await recordsOf(counters)).find((each) => each.counter === counter);
      if (record === undefined) {
        return failed(call, `There is no counter ${formatName(counter)} in ${location}.`);
      }
      const advice = (await limited(store.advice?.() ?? Promise.resolve([]))) ?? [];
      const notes = advice.map((text) => `Note: ${text}`);
      return show(call, jsonOf(record), ...counterLines(record, location), ...notes);
    }),
};

function counterLines(record: CounterRecord, store: string): string[] {
  const { counter, ...cells } = cellsOf(record);
  const rows = Object.entries({ counter, store, ...cells });
  return tableLines(rows.map(([label, text]) => [label, String(text)]));
}

async function recordsOf({ store, limited, location }: NamedCounters) {
  if (store.counters === undefined) throw usageFault(`${location} cannot list its counters.`);
  const records = await limited(store.counters());
  return records.toSorted((a, b) => (a.counter < b.counter ? -1 : 1));
}

function cellsOf({ counter, form, next, era, waitMs }: CounterRecord) {
  const grants = waitMs > 0 ? `in ${spanText(waitMs)}` : 'now';
  return { counter: formatName(counter), form: formatName(form), next, era, grants };
}

/*
 * `snowflake counters create`: creates a counter. No process creates a counter by itself.
 *
 * Guarantee: the command never changes an existing counter.
 */

export const countersCreate = changeCommand<NewCounter, NamedCounters>({
  name: 'counters create',
  summary: 'Create a counter for segments or a series',
  words: { name: 'counter', min: 1, max: 1 },
  says: [
    '--start must be above every number ever used. If a store has lost the counter, that ' +
      'includes every ID in the tables and every number that running processes have buffered. ' +
      'Exit code 1: the counter already exists.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    start: { value: 'number', says: 'the first number or position', isRequired: true },
    stores: { value: 'k/N', says: 'which of how many stores this is; default 1/1' },
  },
  examples: [
    `snowflake counters create order --start 1 --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake counters create order --start 500000 --yes --support postgres://localhost/shop`,
  ],
  terms(options) {
    const [counter = ''] = options.words;
    const start = startOf(options.text('start')!);
    const terms = { counter, start, stores: options.text('stores') ?? '1/1' };
    checkNew(terms);
    return terms;
  },
  open: withCounters,
  async plan(counters, terms, call) {
    const { counter, start } = terms;
    const { store, location, limited } = counters;
    if (store.create === undefined) throw usageFault(`${location} cannot create counters.`);
    const recordOf = async () =>
      (await recordsOf(counters)).find((each) => each.counter === counter);
    if ((await recordOf()) !== undefined) return 'the counter already exists.';
    return {
      question: `Create the counter ${formatName(counter)} at ${start} in ${location}?`,
      async make() {
        const isNew = await limited(store.create!(terms));
        const record = await recordOf();
        if (record !== undefined) await call.terminal.print(...counterLines(record, location));
        return isNew ? 0 : failed(call, `the counter already exists. ${UNCHANGED}`);
      },
    };
  },
});

function startOf(text: string): bigint {
  if (isDecimalId(text)) return BigInt(text);
  throw usageFault(`Expected --start to be a whole number up to ${ID_MAX}, got ${quoted(text)}.`);
}
