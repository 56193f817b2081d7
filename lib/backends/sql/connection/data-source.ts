/**
 * A DataSource of TypeORM, known by its shape.
 *
 * Promise: each statement goes to the primary by a connection of its own from the pool, so that it
 * is part of no transaction of the application.
 */
import type { DialectName } from '../dialects/dialect.js';
import { misconfigured } from '../sql-options.js';
import type { SqlParameter } from '../sql-query.js';
import { listenBeside, placeOf } from './given-client.js';
import type { SqlConnection } from './sql-connection.js';
import { sqliteHandle, type SqliteHandle } from './sqlite-handle.js';

/** A DataSource of TypeORM, known by its shape. It may be given before it is initialised. */
export interface GivenDataSource {
  readonly options: { readonly type: string };
  readonly isInitialized: boolean;
  query(sql: string, params?: SqlParameter[]): Promise<unknown>;
}

const DIALECTS: ReadonlyMap<string, DialectName> = new Map([
  ['postgres', 'postgres'],
  ['aurora-postgres', 'postgres'],
  ['cockroachdb', 'postgres'],
  ['mysql', 'mysql'],
  ['mariadb', 'mysql'],
  ['better-sqlite3', 'sqlite'],
]);
const TITLES = { postgres: 'PostgreSQL', mysql: 'MySQL' } as const;

export interface ReachedBy {
  readonly dialect: DialectName;
  readonly connection: SqlConnection;
}

/** @throws SnowflakeError CONFIG_INVALID for a type that has no dialect */
export function dialectOfType(type: string): DialectName {
  const dialect = DIALECTS.get(type);
  if (dialect !== undefined) return dialect;
  const known = [...DIALECTS.keys()].join(', ');
  throw misconfigured([`Expected the DataSource to be of type ${known}, got another one.`]);
}

/** @throws SnowflakeError CONFIG_INVALID for a type that has no dialect */
export function dataSourceConnection(dataSource: GivenDataSource): ReachedBy {
  const dialect = dialectOfType(dataSource.options.type);
  if (dialect === 'sqlite') return { dialect, connection: handleOf(dataSource) };
  const where = placeOf(TITLES[dialect], dataSource);
  const query = (sql: string, params: SqlParameter[]) => dataSource.query(sql, params);
  if (dialect === 'mysql') return { dialect, connection: { where, query } };
  // Of its connections the one that takes writes; there is none before it is initialised.
  const pool = () => (dataSource as { driver?: { master?: unknown } }).driver?.master;
  return { dialect, connection: { where, query, listen: () => listenBeside(pool()) } };
}

/** The one connection is everybody's, so that its open transactions are asked for. */
function handleOf(dataSource: GivenDataSource): SqlConnection {
  const handle = () =>
    (dataSource as unknown as { driver?: { databaseConnection?: SqliteHandle } }).driver
      ?.databaseConnection;
  const query = async (sql: string, params: SqlParameter[]) => {
    const opened = handle();
    if (opened === undefined) throw new Error('the DataSource is not initialized');
    return sqliteHandle(opened).query(sql, params);
  };
  return { where: { text: 'SQLite', secrets: [] }, query };
}
