/**
 * A series without gaps: its number is taken in the caller's transaction, and returned if that is
 * rolled back.
 *
 * Guarantee: if a period has a committed number n, each number from 1 to n was committed exactly
 * once. The row of the period is locked until the transaction ends, so callers wait for each other.
 * A caller without an open transaction gets no number, except in MySQL, which does not report open
 * transactions.
 */
import {
  SERIES_FORM,
  SeriesForm,
  type SeriesFormOptions,
  type SeriesParts,
} from '../../counters/series/series.js';
import { SnowflakeError } from '../../errors.js';
import { checkedOptions, type OptionTable } from '../../options.js';
import { processWide } from '../../process-wide.js';
import { OneAtATime } from '../../time/line.js';
import { answered, type DialectName } from './dialects/dialect.js';
import { dialectOfType } from './given-database.js';
import { isSaid } from './sql-errors.js';
import { SQL } from './sql-options.js';
import { rowsIn, rowsOf, type SqlParameter, type SqlQuery, type SqlRow } from './sql-connection.js';
import { SERIES_TABLE } from './tables.js';

/** An EntityManager of TypeORM within a transaction, recognized by its structure. */
export interface TransactionManager {
  readonly connection: { readonly options: { readonly type: string } };
  readonly queryRunner?: { readonly isTransactionActive: boolean } | undefined;
  query(sql: string, params: SqlParameter[]): Promise<unknown>;
}

/** Runs statements in one open transaction, with any client. */
export interface TransactionQuery {
  readonly query: SqlQuery;
  readonly dialect: DialectName;
}

/** Options of gaplessSeries(). */
export interface GaplessSeriesOptions extends SeriesFormOptions {
  /** Default 'snowflake_series'; seriesTable() creates it. */
  readonly table?: string | undefined;
}

export const GAPLESS = {
  ...SERIES_FORM,
  table: [SQL.table[0], SERIES_TABLE],
} satisfies OptionTable<GaplessSeriesOptions>;

/**
 * A series without gaps: each number is taken in the transaction that uses it, and rolls back with
 * it.
 */
export interface GaplessSeries {
  /**
   * The next formatted number, in the caller's transaction.
   * @throws SnowflakeError ARGUMENT_INVALID outside a transaction, COUNTER_FULL, or the client's
   * error
   */
  nextIn(transaction: TransactionManager | TransactionQuery): Promise<string>;
  /** Parses a formatted number. @throws SnowflakeError ID_INVALID */
  parse(text: string): SeriesParts;
}

/**
 * Invoice numbers without a gap. A number exists if and only if its transaction is committed. Only
 * one transaction at a time takes a number of a period, and the others wait for its end.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error, such as an unknown time zone
 * @example
 * ```ts
 * import { gaplessSeries } from 'nestjs-snowflake/sql';
 * import type { DataSource } from 'typeorm';
 *
 * const invoices = gaplessSeries({
 *   name: 'invoice',
 *   period: 'year',
 *   timeZone: 'Europe/Berlin',
 *   form: 'R-{date}-{00000}',
 * });
 *
 * export const numbered = (database: DataSource): Promise<string> =>
 *   database.transaction((manager) => invoices.nextIn(manager));
 * ```
 */
export function gaplessSeries(options: GaplessSeriesOptions): GaplessSeries {
  const terms = checkedOptions(options, GAPLESS, 'gaplessSeries()');
  const { table, name } = terms;
  const form = new SeriesForm(terms);
  return {
    nextIn: async (transaction) => {
      const { period } = form;
      const { query, dialect } = queryIn(transaction);
      const connection = dialect === 'mysql' ? await connectionOf(query) : transaction;
      const number = await turns.run(connection, () => taken(table, [name, period], transaction));
      return form.text({ period, number });
    },
    parse: (text) => form.parse(text),
  };
}

async function taken(
  table: string,
  key: readonly [series: string, period: string],
  transaction: TransactionManager | TransactionQuery,
): Promise<number> {
  const { query, dialect } = queryIn(transaction);
  // An EntityManager has already checked its transaction.
  if (dialect !== 'sqlite' || 'dialect' in transaction) await beginsIn[dialect](query);
  let answer: unknown;
  let row: SqlRow | undefined;
  for (const sql of STATEMENTS[dialect](table)) {
    answer = await query(sql, [...key]);
    row = rowsIn(answer)?.[0];
    if (row?.['next'] !== undefined) break;
  }
  if (rowsOf(answer).length === 0 || row === undefined) throw outsideOfTransaction();
  const number = Number(row['next']) - 1;
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The table ${table} gave no number for the series ${key[0]}. Roll the transaction back.`,
  );
}

/**
 * One call at a time per connection, because in MySQL the statements of several calls would mix.
 */
const turns = new OneAtATime<unknown>(
  undefined,
  processWide('series-calls', () => new Map<unknown, Promise<unknown>>()),
);

/**
 * Only the server can tell which calls share a transaction, because each may pass its own object.
 * Connections of two servers with the same number only wait for each other.
 */
async function connectionOf(query: SqlQuery): Promise<number> {
  const [row] = rowsOf(await query('SELECT CONNECTION_ID() AS connection_id', []));
  return answered(row, 'connection_id');
}

/** The last statement returns the current row, or none outside a transaction. */
const STATEMENTS: { readonly [dialect in DialectName]: (table: string) => readonly string[] } = {
  postgres: (table) => [
    `INSERT INTO ${table} (series, period, next) ` +
      `SELECT $1::text, $2::text, 2 WHERE ${IS_OPEN.postgres} ` +
      `ON CONFLICT (series, period) DO UPDATE SET next = ${table}.next + 1 RETURNING next`,
  ],
  sqlite: (table) => [
    `INSERT INTO ${table} (series, period, next) VALUES (?, ?, 2) ` +
      `ON CONFLICT (series, period) DO UPDATE SET next = next + 1 RETURNING next`,
  ],
  mysql: (table) => [
    `INSERT INTO ${table} (series, period, next) SELECT ?, ?, 2 FROM DUAL WHERE ${IS_OPEN.mysql} ` +
      // MariaDB returns the row; to MySQL this part is a comment.
      `ON DUPLICATE KEY UPDATE next = ${table}.next + 1 /*M!100500 RETURNING next */`,
    // The row as the lock's holder sees it, whatever the transaction has read before.
    `SELECT next FROM ${table} WHERE series = ? AND period = ? AND ${IS_OPEN.mysql} FOR UPDATE`,
  ],
};

function queryIn(transaction: TransactionManager | TransactionQuery): TransactionQuery {
  if ('dialect' in transaction) return transaction;
  if (transaction.queryRunner?.isTransactionActive !== true) throw outsideOfTransaction();
  const dialect = dialectOfType(transaction.connection.options.type);
  return { dialect, query: (sql, params) => transaction.query(sql, params) };
}

/*
 * Checks whether statements run in the caller's open transaction, by the means of each database. A
 * pool runs each statement separately, and its number could not be rolled back.
 *
 * Guarantee: the check comes before the number, even in the first statement of a transaction.
 */

/** Visible only to later statements of the same transaction. */
const MARK = 'snowflake.series';

/** True in a transaction. MySQL, which cannot report it, ignores MariaDB's part as a comment. */
const IS_OPEN = {
  postgres: `current_setting('${MARK}', true) = 'open'`,
  mysql: '1 = 1 /*M! AND (@@session.in_transaction = 1 OR @@session.autocommit = 0) */',
} as const;

const SQLITE_REFUSES = /may not be changed inside a transaction/i;

/** The check that precedes each number. */
const beginsIn: Readonly<Record<DialectName, (query: SqlQuery) => Promise<unknown>>> = {
  postgres: (query) => query(`SELECT set_config('${MARK}', 'open', true) AS mark`, []),
  mysql: async () => undefined,
  // Setting a value to itself fails only inside a transaction.
  sqlite: async (query) => {
    const [row] = rowsOf(await query('PRAGMA synchronous', []));
    try {
      await query(`PRAGMA synchronous = ${Number(row?.['synchronous'])}`, []);
    } catch (error) {
      if (isSaid(error, SQLITE_REFUSES)) return;
      throw error;
    }
    throw outsideOfTransaction();
  },
};

function outsideOfTransaction(): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    'nextIn() was called outside a transaction, so it took no number, which a rollback could not ' +
      'undo. Pass the EntityManager of dataSource.transaction(), or as `query` a function of the ' +
      'client with the open transaction, not of the pool. A trigger or row-level security that ' +
      'prevents the write has the same effect.',
  );
}
