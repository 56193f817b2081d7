/**
 * A handle of better-sqlite3, libsql or node:sqlite, which answers at once.
 *
 * Promise: nothing is written while the application has a transaction open on the same handle: it
 * could roll back what was leased. That is asked in the same turn, and the call comes again.
 */
import { SnowflakeError } from '../../../errors.js';
import type { SqlParameter } from '../sql-query.js';
import type { SqlConnection } from './sql-connection.js';

/** `Database` of better-sqlite3 or libsql, `DatabaseSync` of node:sqlite. */
export interface SqliteHandle {
  prepare(sql: string): { all(...params: SqlParameter[]): unknown };
  /** better-sqlite3, libsql. */
  readonly inTransaction?: boolean | undefined;
  /** node:sqlite of Node 22.16 and 24. */
  readonly isTransaction?: boolean | undefined;
}

/** @throws SnowflakeError CONFIG_INVALID for one that does not tell of transactions */
export function sqliteHandle(handle: SqliteHandle, path?: string): SqlConnection {
  if (typeof isInTransaction(handle) !== 'boolean') {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      'The given SQLite handle does not tell whether a transaction is open. Give one of ' +
        'better-sqlite3 or libsql, or of node:sqlite from Node 22.16 or 24 on, or a URL.',
    );
  }
  const text = path === undefined ? 'SQLite' : `SQLite in ${path}`;
  return { where: { text, secrets: [] }, query: queryOf(handle) };
}

export function queryOf(handle: SqliteHandle) {
  return async (sql: string, params: SqlParameter[]): Promise<unknown> => {
    if (isInTransaction(handle) === true) {
      throw Object.assign(
        new Error('a transaction of the application stays open on the given SQLite handle'),
        { code: 'SQLITE_BUSY' },
      );
    }
    return handle.prepare(sql).all(...params);
  };
}

function isInTransaction({ inTransaction, isTransaction }: SqliteHandle): boolean | undefined {
  return inTransaction ?? isTransaction;
}
