/**
 * Whether statements run in a transaction that the caller has open, as each database tells it: a
 * pool runs each by itself, and what is taken there cannot be rolled back.
 *
 * Promise: nothing is taken before it is known, also where it is the first of a transaction.
 */
import { SnowflakeError } from '../../../errors.js';
import type { DialectName } from '../dialects/dialect.js';
import { isSaid } from '../sql-error.js';
import { rowsOf, type SqlQuery } from '../sql-query.js';

/** Visible to later statements of the same transaction alone. */
const MARK = 'snowflake.series';

/** True in a transaction; to MySQL, which does not know, what MariaDB reads is a comment. */
export const IS_OPEN = {
  postgres: `current_setting('${MARK}', true) = 'open'`,
  mysql: '1 = 1 /*M! AND (@@session.in_transaction = 1 OR @@session.autocommit = 0) */',
} as const;

const SQLITE_REFUSES = /may not be changed inside a transaction/i;

/** What is asked before a number is taken. */
export const beginsIn: Readonly<Record<DialectName, (query: SqlQuery) => Promise<unknown>>> = {
  postgres: (query) => query(`SELECT set_config('${MARK}', 'open', true) AS mark`, []),
  mysql: async () => undefined,
  // A setting that is set to what it is already is refused inside of a transaction alone.
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

export function outsideOfTransaction(): SnowflakeError {
  return new SnowflakeError(
    'ARGUMENT_INVALID',
    'nextIn() was called outside of a transaction, so no number was taken: it could not be ' +
      'rolled back. Give it the EntityManager of dataSource.transaction(), or as `query` a ' +
      'function of the client that has the transaction open, not of the pool. A row that a ' +
      'trigger or row-level security keeps from being written looks the same.',
  );
}
