/**
 * A SQLite file through a handle of better-sqlite3, libsql or node:sqlite, which run synchronously.
 *
 * Guarantee: nothing is written while the application has an open transaction on the same handle,
 * because it could roll back a lease. The check happens in the same turn, and the call is repeated.
 * An acknowledged write is committed, and no lock outlives a call.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SnowflakeError } from '../../../errors.js';
import { rowsOf, type SqlConnection, type SqlParameter } from '../sql-connection.js';
import { type Ask, Mark, type Place, refused } from './sqlite-mark.js';

/** `Database` of better-sqlite3 or libsql, `DatabaseSync` of node:sqlite. */
export interface SqliteHandle {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  /** better-sqlite3 and libsql have this. */
  readonly inTransaction?: boolean | undefined;
  /** node:sqlite of Node 22.16 and 24 has this. */
  readonly isTransaction?: boolean | undefined;
}

/** A prepared statement of such a handle. */
export interface SqliteStatement {
  all(...params: SqlParameter[]): unknown;
  run?(...params: SqlParameter[]): unknown;
  /** False in better-sqlite3 for a statement without rows, whose `all` throws. */
  readonly reader?: boolean | undefined;
}

/** @throws SnowflakeError CONFIG_INVALID for a handle that does not report open transactions */
export function sqliteHandle(handle: SqliteHandle, path?: string): SqlConnection {
  const text = path === undefined ? 'SQLite' : `SQLite in ${path}`;
  return { where: { text, secrets: [] }, query: queryOf(handle) };
}

/** @throws SnowflakeError CONFIG_INVALID for a handle that does not report open transactions */
export function queryOf(handle: SqliteHandle) {
  if (typeof isInTransaction(handle) !== 'boolean') {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      'The given SQLite handle does not tell whether a transaction is open. Give one of ' +
        'better-sqlite3 or libsql, or of node:sqlite from Node 22.16 or 24 on, or a URL.',
    );
  }
  const file = new SqliteFile(handle);
  return async (sql: string, params: SqlParameter[]): Promise<unknown> => {
    if (isInTransaction(handle) === true) {
      throw Object.assign(
        new Error('a transaction of the application stays open on the given SQLite handle'),
        { code: 'SQLITE_BUSY' },
      );
    }
    return file.query(sql, params);
  };
}

function isInTransaction({ inTransaction, isTransaction }: SqliteHandle): boolean | undefined {
  return inTransaction ?? isTransaction;
}

/** The placeholder in a statement for the identity of the file, as an SQL string. */
export const identityFor = (table: string): string => `'{file of ${table}}'`;
const IDENTITY = /'\{file of (\w+)\}'/g;

const READS = /^\s*SELECT\b/i;
/** These affect the connection, and some of them fail inside a transaction. */
const SETS = /^\s*PRAGMA\b/i;
/**
 * If a prepared SELECT finds the file locked, it stays open in libsql until it is
 * garbage-collected. Then the lock of the next one outlives its call, or the next write is
 * acknowledged but not committed. exec() leaves no statement open, so it takes the lock.
 */
const BEGIN_READ = 'BEGIN; SELECT 1 FROM sqlite_master LIMIT 1';
const BEGIN_WRITE = 'BEGIN IMMEDIATE';

class SqliteFile {
  readonly #marks = new Map<string, Mark>();
  #place: Place | undefined;

  constructor(private readonly handle: SqliteHandle) {}

  query(sql: string, params: readonly SqlParameter[]): unknown {
    const [named] = sql.matchAll(IDENTITY);
    if (SETS.test(sql)) return this.#ask(sql, params);
    const isRead = READS.test(sql);
    if (named === undefined) {
      return this.#within(isRead ? BEGIN_READ : BEGIN_WRITE, () => this.#ask(sql, params));
    }
    return this.#identified(named[1]!, isRead, (identity) =>
      this.#ask(sql.replaceAll(IDENTITY, `'${identity}'`), params),
    );
  }

  #identified(table: string, isRead: boolean, work: (identity: string) => unknown): unknown {
    const place = (this.#place ??= placeOf(this.#ask));
    if (place === undefined) {
      return this.#within(isRead ? BEGIN_READ : BEGIN_WRITE, () => work('memory'));
    }
    const mark = this.#marks.get(table) ?? new Mark(place, table);
    this.#marks.set(table, mark);
    if (isRead) {
      const found = this.#within(BEGIN_READ, () => {
        const identity = mark.identity(this.#ask);
        return identity === undefined ? undefined : { answer: work(identity) };
      });
      if (found !== undefined) return found.answer;
      // A writer may be about to advance the mark, so check again with a write lock.
    }
    let count: bigint | undefined;
    const answer = this.#within(BEGIN_WRITE, () => {
      const own = work(mark.identity(this.#ask) ?? mark.repaired(this.#ask));
      if (!isRead && rowsOf(own).length > 0) count = mark.count(this.#ask);
      return own;
    });
    if (count !== undefined) mark.follow(count);
    return answer;
  }

  #within<T>(begin: string, work: () => T): T {
    const { handle } = this;
    try {
      handle.exec(begin);
      const answer = work();
      handle.exec('COMMIT');
      return answer;
    } catch (error) {
      if (isInTransaction(handle) === true) handle.exec('ROLLBACK');
      throw error;
    }
  }

  readonly #ask: Ask = (sql, params = []) => {
    const statement = this.handle.prepare(sql);
    return statement.reader === false ? statement.run!(...params) : statement.all(...params);
  };
}

/*
 * The location of the file.
 *
 * Guarantee: SQLite keeps the newest rows in files next to the database, which it finds by name. A
 * file with two names, or in a folder without those files, is therefore rejected. A file that was
 * replaced while open is no longer written.
 */

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const MOUNTS = '/proc/self/mountinfo';

/**
 * Rejects a missing file, which a driver would create even for a reader; without its folder, no
 * driver creates it.
 */
export function checkExists(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined || !existsSync(dirname(path))) return;
  throw new Error(`there is no file ${resolve(path)}`);
}

/** Undefined for a database in memory. */
function placeOf(ask: Ask): Place | undefined {
  const list = rowsOf(ask('PRAGMA database_list'));
  const named = list.find(({ name }) => name === 'main')?.['file'];
  if (typeof named !== 'string' || named === '') return undefined;
  const path = realpathSync(named);
  const open = statSync(path, { bigint: true });
  if (isMounted(path) || open.dev !== statSync(dirname(path), { bigint: true }).dev) {
    throw refused(
      'The file of the SQLite database is mounted alone. The newest rows are in files next to ' +
        'it, which are not in the mount. Mount its folder.',
    );
  }
  // On other systems than Linux, the memory of the processes reveals a crash of the host.
  const boot = readIf(BOOT_ID)?.trim() ?? 'unknown';
  return {
    path,
    identity() {
      const now = statSync(path, { bigint: true, throwIfNoEntry: false });
      if (now?.dev !== open.dev || now.ino !== open.ino) {
        throw refused(
          'The file of the SQLite database was replaced or deleted while it was open, so that ' +
            'nobody else would see what is written. Start this process again.',
        );
      }
      if (now.nlink > 1n) {
        throw refused(
          'The file of the SQLite database has a second name, a hard link, and whoever opens it ' +
            'by that has other newest rows. Delete one of its names.',
        );
      }
      return `${boot}/${open.dev}:${open.ino}`;
    },
  };
}

function isMounted(path: string): boolean {
  const escaped = path.replaceAll(/[\\ \t\n]/g, (letter) => {
    return `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  const mounts = readIf(MOUNTS)?.split('\n') ?? [];
  return mounts.some((line) => line.split(' ')[4] === escaped);
}

function readIf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
