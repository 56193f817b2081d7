/**
 * A command that prints a list: a table for people and, with --json, one object per row.
 *
 * Guarantee: it checks its arguments before it reads the store, and changes nothing.
 */
import { cutName, printable } from '../messages.js';
import { whole } from '../options.js';
import type { Call, Command, Options } from './command.js';
import { tableLines, type ExitCode } from './terminal.js';

/** The cells of a row, by column heading. */
export type Cells = Readonly<Record<string, string | number | bigint>>;

interface ListCommand<Row> extends Omit<Command, 'run'> {
  /** The maximum number of rows, and their name in the help; absent if all rows appear. */
  readonly limit?: { readonly says: string; readonly count: number; readonly max: number };
  /** The content of --json, for the help. */
  readonly json: string;
  readonly cells: (row: Row, options: Options) => Cells | readonly Cells[];
  readonly record: (row: Row) => object;
  /**
   * The rows, the text after the table (counts and advice, or that there are no rows), and the
   * record after the rows in JSON.
   * @param limit Infinity without `limit`
   * @returns an exit code if there is no list
   */
  readonly read: (
    call: Call,
    limit: number,
  ) => Promise<{ rows: readonly Row[]; below?: readonly string[]; totals?: object } | ExitCode>;
}

export function listCommand<Row>(list: ListCommand<Row>): Command {
  const { limit, json, cells, record, read, ...command } = list;
  const limitSays = limit && { value: 'count', says: `${limit.says}; default ${limit.count}` };
  return {
    ...command,
    options: {
      ...command.options,
      ...(limitSays && { limit: limitSays }),
      json: { says: json },
    },
    async run(call: Call): Promise<ExitCode> {
      const { terminal, options } = call;
      const most = limit ? (options.whole('limit', whole(1, limit.max)) ?? limit.count) : Infinity;
      const listing = await read(call, most);
      if (typeof listing === 'number') return listing;
      const { rows, below = [], totals } = listing;
      if (options.flag('json')) {
        await terminal.printJson(...rows.map(record), ...(totals ? [totals] : []));
        return 0;
      }
      const all = rows.flatMap((row) => cells(row, options));
      const heads = Object.keys(all[0] ?? {});
      const isNumber = (head: string) => all.some((row) => typeof row[head] !== 'string');
      const right = heads.flatMap((head, at) => (isNumber(head) ? [at] : []));
      const texts = all.map((row) => heads.map((head) => String(row[head])));
      const [title, ...lines] = tableLines(all.length === 0 ? [] : [heads, ...texts], '', right);
      if (title !== undefined) await terminal.print({ colour: 'bold', text: title }, ...lines);
      if (title !== undefined && below.length > 0) await terminal.print('');
      await terminal.print(...below);
      return 0;
    },
  };
}

/** The length of a DNS label. One long name must not widen its whole column. */
const NAME_LENGTH_MAX = 63;

export const nameCell = (name: string): string => printable(cutName(name, NAME_LENGTH_MAX));
