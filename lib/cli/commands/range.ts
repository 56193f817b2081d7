/**
 * `snowflake range`: the ids of a span of time, for queries on a table without a time column.
 *
 * Promise: both ends are inclusive, and every id with a time in the span is between them.
 */
import { quoted, usageFault, type Call, type Command } from '../command.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';
import { readTime, utcText } from '../time-text.js';

/** What is safe in a query: a name, quoted or not, with or without its table. */
const COLUMN = /^[\w."`[\]]+$/;

export const range: Command = {
  name: 'range',
  summary: 'The smallest and the largest id of a span of time, and the SQL for it',
  says: [
    'Both ends are inclusive. A date means the whole day in UTC, a time without seconds the ' +
      'whole minute.',
  ],
  options: {
    from: { value: 'time', says: 'ISO text with its zone, a date, or Unix milliseconds' },
    to: { value: 'time', says: 'the same, inclusive' },
    column: { value: 'name', says: 'the column in the SQL; default id' },
    ...LAYOUT_OPTIONS,
    json: { says: 'a JSON object, ids as text' },
  },
  examples: [
    'snowflake range --from 2026-11-01 --to 2026-11-30',
    'snowflake range --from 2026-11-21T08:00Z --to now --column orders.id',
  ],
  async run({ options, terminal }: Call): Promise<ExitCode> {
    const layout = layoutFrom(options);
    const fromMs = readTime('--from', options.required('from')).firstMs;
    const toMs = readTime('--to', options.required('to')).lastMs;
    const column = options.text('column') ?? 'id';
    if (!COLUMN.test(column)) {
      throw usageFault(`Expected --column to be the name of a column, got ${quoted(column)}.`);
    }
    if (fromMs > toMs) throw usageFault('--from is later than --to.');
    const { first, last } = layout.idRange(new Date(fromMs), new Date(toMs));
    if (first > last) {
      const lifetime = `${utcText(layout.epochMs)} to ${layout.lastDate.toISOString()}`;
      await terminal.say(
        `snowflake: there are no ids in that span; this layout has ids from ${lifetime}.`,
      );
      return 1;
    }
    const [from, to] = [utcText(fromMs), utcText(toMs)];
    const where = `${column} BETWEEN ${first} AND ${last}`;
    if (options.flag('json')) {
      await terminal.printJson({ from, to, first: String(first), last: String(last), where });
      return 0;
    }
    await terminal.print(
      ...tableLines([
        ['from', from, String(first)],
        ['to', to, String(last)],
      ]),
      '',
      `WHERE ${where}`,
    );
    return 0;
  },
};
