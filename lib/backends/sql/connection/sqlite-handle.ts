/**
 * A handle of better-sqlite3, libsql or node:sqlite, which answers at once.
 *
 * Promise: nothing is written while the application has a transaction open on the same handle: it
 * could roll back what was leased. That is asked in the same turn, and the call comes again. What
 * is answered as written is committed.
 */
import { SnowflakeError } from '../../../errors.js';
import type { SqlParameter } from '../sql-query.js';
import type { SqlConnection } from './sql-connection.js';

/** `Database` of better-sqlite3 or libsql, `DatabaseSync` of node:sqlite. */
export interface SqliteHandle {
  prepare(sql: string): { all(...params: SqlParameter[]): unknown };
  exec(sql: string): unknown;
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
    const run = () => handle.prepare(sql).all(...params);
    return READS.test(sql) ? run() : committed(handle, run);
  };
}

const READS = /^\s*(SELECT|PRAGMA)\b/i;

/**
 * A statement that finds the file locked stays open in libsql until it is collected as garbage, and
 * as long as it does the next one is answered, but not committed. Only exec() leaves none open.
 */
function committed<T>(handle: SqliteHandle, write: () => T): T {
  handle.exec('BEGIN IMMEDIATE');
  try {
    const answer = write();
    handle.exec('COMMIT');
    return answer;
  } catch (error) {
    if (isInTransaction(handle) === true) handle.exec('ROLLBACK');
    throw error;
  }
}

function isInTransaction({ inTransaction, isTransaction }: SqliteHandle): boolean | undefined {
  return inTransaction ?? isTransaction;
}
