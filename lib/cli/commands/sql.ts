/**
 * `snowflake sql`: prints what makes ids inside a database, for scripts and triggers of a move.
 *
 * It connects to nothing. The worker id is the operator's to keep: no generator may lease it.
 */
import { isSnowflakeError } from '../../errors.js';
import { quoted, usageFault, type Call, type Command, type Options } from '../command.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
import { suggestion } from '../../nearest.js';
import { idNumbers, type IdNumbers } from '../sql/id-numbers.js';
import { mariadbIds } from '../sql/mariadb-ids.js';
import { postgresIds } from '../sql/postgres-ids.js';
import type { ExitCode } from '../surroundings.js';
import type { BitLayout } from '../../core/index.js';

interface Dialect {
  readonly call: (name: string) => string;
  readonly schema?: string;
  readonly lines: (name: string, numbers: IdNumbers) => string[];
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  postgres: { lines: postgresIds, call: (name) => `SELECT ${name}();`, schema: 'public' },
  mariadb: { lines: mariadbIds, call: (name) => `CALL ${name}(@id); SELECT @id;` },
};

/** What needs no quotes, and leaves room for the name of the sequence. */
const NAME = /^([a-z_][a-z0-9_]{0,50}\.)?[a-z_][a-z0-9_]{0,50}$/;

export const sql: Command = {
  name: 'sql',
  summary: 'Prints a function that makes ids inside PostgreSQL, or a procedure for MariaDB',
  says: [
    'Give it a worker id that no generator leases, one for each function and each database: the ' +
      'database does not ask a registry.',
  ],
  options: {
    worker: { value: 'number', says: 'the worker id of these ids, all worker fields as one' },
    dialect: { value: 'name', says: `${Object.keys(DIALECTS).join(', ')}; default postgres` },
    name: { value: 'name', says: 'its name, with or without a schema; default snowflake_id' },
    ...LAYOUT_OPTIONS,
  },
  examples: [
    'snowflake sql --worker 1023 | psql shop',
    'snowflake sql --worker 1022 --dialect mariadb --name import_id',
  ],
  async run({ options, terminal }: Call): Promise<ExitCode> {
    const layout = layoutFrom(options);
    const workerId = options.whole('worker');
    if (workerId === undefined) throw usageFault('`sql` needs --worker, a worker id of its own.');
    const dialect = dialectFrom(options);
    const name = nameFrom(options, dialect);
    await terminal.print(
      `-- Ids ${layout.fingerprint} of worker ${workerId}, which no generator may lease.`,
      `-- ${dialect.call(name)}`,
      ...dialect.lines(name, numbersOf(layout, workerId)),
    );
    return 0;
  },
};

function dialectFrom(options: Options): Dialect {
  const name = options.text('dialect') ?? 'postgres';
  const dialect = DIALECTS[name.toLowerCase()];
  if (dialect !== undefined && Object.hasOwn(DIALECTS, name.toLowerCase())) return dialect;
  if (name.toLowerCase() === 'mysql') {
    throw usageFault(
      'MySQL has no sequences, and anything else it stores is rolled back with the transaction ' +
        'or locked until it ends: ids made there are not safe. Insert ids from a generator.',
    );
  }
  throw usageFault(
    `There is no dialect ${quoted(name)}. ${suggestion(name, Object.keys(DIALECTS))}`,
  );
}

function nameFrom(options: Options, { schema }: Dialect): string {
  const name = options.text('name') ?? 'snowflake_id';
  if (!NAME.test(name)) {
    throw usageFault(
      `Expected --name to be lower-case letters, digits and _, also with a schema, got ` +
        `${quoted(name)}.`,
    );
  }
  return schema === undefined || name.includes('.') ? name : `${schema}.${name}`;
}

function numbersOf(layout: BitLayout, workerId: number): IdNumbers {
  try {
    return idNumbers(layout, workerId);
  } catch (error) {
    if (isSnowflakeError(error)) throw usageFault(error.message);
    throw error;
  }
}
