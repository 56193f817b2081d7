/**
 * `snowflake sql`: prints SQL that generates IDs inside a database, for scripts and triggers during
 * a migration, and SQL that converts the keys of existing tables to bigint.
 *
 * It changes nothing. The operator must reserve the worker ID, so that no generator leases it.
 */
import type { BitLayout } from '../../core/index.js';
import { suggestion, whole } from '../../options.js';
import { quoted, usageFault, type Call, type Command, type Options } from '../command.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
import { storeUrl } from '../store/stores.js';
import { wideningOf } from '../store/widening.js';
import type { ExitCode } from '../terminal.js';

interface Dialect {
  readonly call: (name: string) => string;
  readonly schema?: string;
  readonly lines: (name: string, numbers: IdNumbers) => string[];
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  postgres: { lines: postgresIds, call: (name) => `SELECT ${name}();`, schema: 'public' },
  mariadb: { lines: mariadbIds, call: (name) => `CALL ${name}(@id); SELECT @id;` },
};

/** Such a name needs no quotes, and leaves room for the suffix of the sequence. */
const NAME = /^([a-z_][a-z0-9_]{0,50}\.)?[a-z_][a-z0-9_]{0,50}$/;

export const sql: Command = {
  name: 'sql',
  summary: 'Print a function that generates IDs inside PostgreSQL or MariaDB',
  says: [
    'Use a worker ID that no generator leases, one for each function and each database, because ' +
      'the database does not ask a registry.',
    'With --widen it reads a schema, and prints the statements that turn the keys of tables with ' +
      'rows, and the columns that refer to them, into bigint. --back prints those that undo it.',
  ],
  options: {
    worker: { value: 'number', says: 'the worker ID of these IDs; required without --widen' },
    dialect: { value: 'name', says: `${Object.keys(DIALECTS).join(', ')}; default postgres` },
    name: { value: 'name', says: 'its name, with or without a schema; default snowflake_id' },
    ...LAYOUT_OPTIONS,
    widen: { says: 'print the statements that turn keys into bigint' },
    back: { says: 'with --widen: print the statements that undo it; run this first' },
    table: { value: 'name', says: 'with --widen: a table whose key to widen', multiple: true },
    url: { value: 'url', says: 'with --widen: of PostgreSQL, MariaDB or MySQL; or SNOWFLAKE_URL' },
  },
  examples: [
    'snowflake sql --worker 1023 | psql shop',
    'snowflake sql --worker 1022 --dialect mariadb --name import_id',
    'snowflake sql --widen --table customers --table orders --url postgres://localhost/shop',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    if (options.flag('widen')) {
      const url = storeUrl(call, 'url');
      await terminal.print(
        ...(await wideningOf(url, options.texts('table'), options.flag('back'))),
      );
      return 0;
    }
    const layout = layoutFrom(options);
    const workerId = options.whole('worker', whole(0, layout.workerIdMax));
    if (workerId === undefined) throw usageFault('Missing: --worker <number>, or --widen.');
    const dialect = dialectFrom(options);
    const name = nameFrom(options, dialect);
    await terminal.print(
      `-- Ids ${layout.fingerprint} of worker ${workerId}, which no generator may lease.`,
      `-- ${dialect.call(name)}`,
      ...dialect.lines(name, idNumbers(layout, workerId)),
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

/*
 * A layout as shifts and constants, for functions in SQL. Only one number changes from ID to ID:
 * the tick above the sequence, which a database sequence stores. The rest of an ID is the worker
 * ID, and 0 in call fields.
 */

type IdNumbers = ReturnType<typeof idNumbers>;

/** @throws SnowflakeError ARGUMENT_INVALID for a worker ID outside the layout */
function idNumbers(layout: BitLayout, workerId: number) {
  const { timestamp, sequence, epochMs, unitMs } = layout;
  const worker = layout.compose({ timestampMs: epochMs, workerId });
  return {
    epochMs,
    unitMs,
    /** The sequence has this many of the lowest bits of the number. */
    sequenceBits: sequence.bits,
    /** The largest number. */
    numberMax: 2n ** BigInt(timestamp.bits + sequence.bits) - 1n,
    /** Computes the ID of a number, as SQL. */
    idOf(number: string): string {
      const time = `((${number} >> ${sequence.bits}) << ${timestamp.shift})`;
      const inTick = `((${number} & ${sequence.max}) << ${sequence.shift})`;
      return `${time} | ${worker} | ${inTick}`;
    },
  };
}

/*
 * A procedure for MariaDB that generates IDs with one worker ID. It is a procedure because SETVAL
 * takes no variable and a function may not build a statement. It needs no lock.
 *
 * Guarantee: no two calls return the same ID, even after clock changes, after rollbacks or with
 * other sessions. NEXTVAL returns each number once, and SETVAL only raises the next value.
 */

/** A sequence of MariaDB cannot have a larger value. */
const SEQUENCE_MAX = 2n ** 63n - 2n;

function mariadbIds(name: string, numbers: IdNumbers): string[] {
  const { epochMs, unitMs, sequenceBits, numberMax } = numbers;
  const last = `${name}_last`;
  const max = numberMax < SEQUENCE_MAX ? numberMax : SEQUENCE_MAX;
  return [
    `CREATE SEQUENCE ${last} START WITH 1 MINVALUE 1 MAXVALUE ${max} NOCACHE NOCYCLE;`,
    '',
    'DELIMITER $$',
    `CREATE PROCEDURE ${name}(OUT id BIGINT) MODIFIES SQL DATA SQL SECURITY DEFINER`,
    'BEGIN',
    '  DECLARE reached BIGINT DEFAULT',
    '    GREATEST(0, FLOOR((',
    `      TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 - ${epochMs}`,
    `    ) / ${unitMs})) << ${sequenceBits};`,
    `  DECLARE number BIGINT DEFAULT NEXTVAL(${last});`,
    '  IF number < reached THEN',
    '    -- Does nothing where another session was quicker.',
    `    EXECUTE IMMEDIATE CONCAT('DO SETVAL(${last}, ', reached, ', 0)');`,
    `    SET number = NEXTVAL(${last});`,
    '  END IF;',
    `  SET id = ${numbers.idOf('number')};`,
    'END $$',
    'DELIMITER ;',
  ];
}

/*
 * A function for PostgreSQL that generates IDs with one worker ID.
 *
 * Guarantee: no two calls return the same ID, even after clock changes, after rollbacks or with
 * other sessions. One lock covers reading the last number, the clock, and storing the next number;
 * setval is never rolled back. The lock belongs to a block that always rolls back, so it is
 * released at once and not at the end of the caller's transaction.
 */

/** The first half of the lock's key, shared by all printed functions; "SNOW" in ASCII. */
const LOCK_CLASS = 0x534e4f57;

/** @param name the name with its schema */
function postgresIds(name: string, numbers: IdNumbers): string[] {
  const { epochMs, unitMs, sequenceBits, numberMax } = numbers;
  const last = `${name}_last`;
  return [
    `CREATE SEQUENCE ${last} AS bigint MINVALUE 0 MAXVALUE ${numberMax} START 0 NO CYCLE;`,
    '',
    `CREATE FUNCTION ${name}() RETURNS bigint`,
    'LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER',
    'SET search_path = pg_catalog, pg_temp AS $$',
    'DECLARE',
    '  number bigint;',
    'BEGIN',
    '  BEGIN',
    `    PERFORM pg_advisory_xact_lock(${LOCK_CLASS}, '${last}'::regclass::oid::int);`,
    '    SELECT greatest(last_value + 1, floor((',
    `        extract(epoch FROM clock_timestamp()) * 1000 - ${epochMs}`,
    `      ) / ${unitMs})::bigint << ${sequenceBits})`,
    `      INTO number FROM ${last};`,
    `    PERFORM setval('${last}', number);`,
    '    -- Undoes this block and with it the lock, but not setval.',
    `    RAISE EXCEPTION USING ERRCODE = 'SF001';`,
    `  EXCEPTION WHEN SQLSTATE 'SF001' THEN NULL;`,
    '  END;',
    `  RETURN ${numbers.idOf('number')};`,
    'END $$;',
  ];
}
