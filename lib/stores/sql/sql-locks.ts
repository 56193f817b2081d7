/**
 * Locks in a table of a database: a front door for each way of reaching one.
 *
 * Guarantee: the application's pool is used for single statements, never inside its transactions,
 * and is never closed. A connection that was opened for a URL is closed by `close()`.
 */
import type { LockStore } from '../../lock/lock-store.js';
import { RowLocks } from '../../lock/row-locks.js';
import type { StorePreparation } from '../../registry/registry-view.js';
import type { DialectName } from './dialects/dialect.js';
import { givenDatabase, type GivenDatabase } from './given-database.js';
import { postgresReleases } from './postgres-releases.js';
import type { SqlConnection } from './sql-connection.js';
import { checkedOptions, misconfigured, type SqlRegistryOptions } from './sql-options.js';
import { SqlRows } from './sql-rows.js';
import { SqlSession } from './sql-session.js';
import { parseSqlUrl } from './sql-url.js';
import { connectionOfUrl, dialectOf } from './sql.support.js';
import { LOCK_TABLE, lockTable } from './tables.js';

/** The options of a registry, except for the table: default 'snowflake_locks'. */
export type SqlLockOptions = SqlRegistryOptions;

/** A URL, with all options in it, or what the application has. */
export type LockDatabase = (GivenDatabase & SqlLockOptions) | { readonly url: string };

/**
 * Locks in PostgreSQL, MySQL, MariaDB or SQLite. The table is made by `lockTable` or a migration.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { sqlLocks } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * const store = sqlLocks({ pool, dialect: 'postgres', namespace: 'shop' });
 * ```
 */
export function sqlLocks(options: LockDatabase): LockStore {
  if (!isUrl(options)) {
    const { dialect, connection } = givenDatabase(options);
    return locksOf(dialect, connection, options);
  }
  const { url, ...more } = options;
  if (typeof url !== 'string') throw misconfigured([`Expected \`url\` to be text.`]);
  const [name] = Object.keys(more);
  if (name === undefined) return locksFromUrl(url);
  throw misconfigured([`Expected all options to be in the URL, got \`${name}\` beside it.`]);
}

function isUrl(options: LockDatabase): options is { readonly url: string } {
  return Object.hasOwn(Object(options), 'url');
}

/** The locks of a URL, e.g. postgres://app@db/shop?namespace=shop. */
export function locksFromUrl(url: string): LockStore {
  const parsed = parseSqlUrl(url);
  return locksOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
}

function locksOf(name: DialectName, connection: SqlConnection, options: SqlLockOptions): LockStore {
  const { table = LOCK_TABLE } = options;
  const asked = { ...options, table };
  const { serverSql, ...checked } = checkedOptions(asked, name !== 'sqlite');
  const dialect = dialectOf(name, serverSql);
  const rows = new SqlRows({ ...checked, connection, dialect, holds: 'locks' });
  // A user with `serverSql` may have a pooler, which passes on no messages.
  const hasMessages = name === 'postgres' && serverSql === undefined;
  return new RowLocks(rows, hasMessages ? { releases: postgresReleases(connection, checked) } : {});
}

/*
 * The table of locks that a URL names, for an operator: the statement that creates it, and what
 * runs it.
 */

/** @throws SnowflakeError CONFIG_INVALID */
export function lockPreparationFromUrl(url: string): StorePreparation {
  const parsed = parseSqlUrl(url);
  const { dialect: name, options } = parsed;
  const asked = { ...options, table: options.table ?? LOCK_TABLE };
  const { serverSql, ...checked } = checkedOptions(asked, name !== 'sqlite');
  const text = lockTable(name, checked.table);
  const run = async (): Promise<void> => {
    const reached = { connection: connectionOfUrl(parsed), dialect: dialectOf(name, serverSql) };
    const session = new SqlSession({ ...checked, ...reached, holds: 'locks' });
    try {
      await session.ordered(text);
    } finally {
      await session.close();
    }
  };
  return { text, run };
}
