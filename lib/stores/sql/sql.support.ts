/**
 * Worker IDs leased from a database table: the public functions for each kind of access.
 *
 * Guarantee: the application's pool is used for single statements, never inside its transactions,
 * and is never closed.
 */
import type { SnowflakeError } from '../../errors.js';
import { RegistrySupport } from '../../registry/registry-support.js';
import { RowInspector } from '../../registry/row-inspector.js';
import type { RegistryInspector, StorePreparation } from '../../registry/snapshot.js';
import type { Dialect, DialectName, SqlTable } from './dialects/dialect.js';
import { MysqlDialect } from './dialects/mysql.js';
import { PostgresDialect } from './dialects/postgres.js';
import { SqliteDialect } from './dialects/sqlite.js';
import {
  mysqlPool,
  postgresPool,
  accessBy,
  refuseWithout,
  type ByDataSource,
  type ByQuery,
  type MysqlPool,
  type PostgresPool,
} from './given-database.js';
import { openClient, openPostgres } from './open-client.js';
import {
  OwnConnection,
  rowsIn,
  type OpenClient,
  type SqlConnection,
  type SqlParameter,
  type SqlRow,
} from './sql-connection.js';
import { codesOf, sqlError } from './sql-errors.js';
import {
  checkedOptions,
  type SqlRegistryOptions,
  parseSqlUrl,
  type FileUrl,
  type ServerUrl,
} from './sql-options.js';
import { sqliteHandle, type SqliteHandle } from './dialects/sqlite-file.js';
import { SqlRows } from './sql-rows.js';
import { registryTable } from './tables.js';

/** Options for a registry with a pool of pg. */
export interface PostgresSupportOptions extends SqlRegistryOptions {
  /** A `Pool` of pg, PGlite, or any object with the same `query(text, values)`. */
  readonly pool: PostgresPool;
}

/** Options for a registry with a pool of mysql2. */
export interface MysqlSupportOptions extends SqlRegistryOptions {
  /** A pool of mysql2, or any object with the same `execute(text, values)`. */
  readonly pool: MysqlPool;
}

/** Options for a registry with a handle of SQLite. */
export interface SqliteSupportOptions extends SqlRegistryOptions {
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  readonly database: SqliteHandle;
}

/** Options for a registry with a TypeORM DataSource. */
export interface DataSourceSupportOptions extends SqlRegistryOptions, ByDataSource {}

/** Options for a registry with a function that runs SQL. */
export interface QuerySupportOptions extends SqlRegistryOptions, ByQuery {}

/**
 * Worker IDs leased from PostgreSQL, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { postgresSupport } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * SnowflakeModule.forRoot({ support: postgresSupport({ pool, namespace: 'shop' }) });
 * ```
 */
export function postgresSupport(options: PostgresSupportOptions): RegistrySupport {
  refuseWithout(options, 'pool', 'query');
  return supportOf('postgres', postgresPool(options.pool), options);
}

/**
 * Worker IDs leased from MariaDB or MySQL, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 * @example
 * ```ts
 * import { createPool } from 'mysql2/promise';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { mysqlSupport } from 'nestjs-snowflake/sql';
 *
 * const pool = createPool({ host: 'localhost', user: 'shop', database: 'shop' });
 * SnowflakeModule.forRoot({ support: mysqlSupport({ pool, namespace: 'shop' }) });
 * ```
 */
export function mysqlSupport(options: MysqlSupportOptions): RegistrySupport {
  refuseWithout(options, 'pool', 'execute');
  return supportOf('mysql', mysqlPool(options.pool), options);
}

/**
 * Worker IDs leased from a SQLite file, for the processes of one host.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 */
export function sqliteSupport(options: SqliteSupportOptions): RegistrySupport {
  refuseWithout(options, 'database', 'prepare');
  return supportOf('sqlite', sqliteHandle(options.database), options);
}

/**
 * Worker IDs leased through a DataSource of TypeORM, or through any function that runs a statement.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 */
export function sqlSupport(
  options: DataSourceSupportOptions | QuerySupportOptions,
): RegistrySupport {
  const { dialect, connection } = accessBy(options);
  return supportOf(dialect, connection, options);
}

function supportOf(
  dialect: DialectName,
  connection: SqlConnection,
  options: SqlRegistryOptions,
): RegistrySupport {
  return new RegistrySupport(storeOf(dialect, connection, options));
}

/*
 * Creates the store from options and a connection, or everything from a URL.
 *
 * Guarantee: options are checked before anything is opened.
 */

const DIALECTS: Readonly<Record<DialectName, (serverSql?: string) => Dialect>> = {
  postgres: (serverSql) => new PostgresDialect(serverSql),
  mysql: (serverSql) => new MysqlDialect(serverSql),
  sqlite: (serverSql) => new SqliteDialect(serverSql),
};

/** @throws SnowflakeError CONFIG_INVALID */
export function storeOf(
  name: DialectName,
  connection: SqlConnection,
  options: SqlRegistryOptions,
  kind: SqlTable['kind'] = 'registry',
): SqlRows {
  const { serverSql, ...checked } = checkedOptions(options, name !== 'sqlite');
  return new SqlRows({
    ...checked,
    connection,
    dialect: dialectOf(name, serverSql),
    kind,
  });
}

export function dialectOf(name: DialectName, serverSql?: string): Dialect {
  return DIALECTS[name](serverSql);
}

/** The support of a URL. @throws SnowflakeError CONFIG_INVALID */
export function supportFromUrl(url: string): RegistrySupport {
  return new RegistrySupport(storeOfUrl(url));
}

/** The registry of a URL, for an operator. @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  const { table, namespace } = checkedOptions(parseSqlUrl(url).options);
  const store = storeOfUrl(url);
  const inspector = new RowInspector(store, store.where, `${table}, namespace ${namespace}`);
  return Object.assign(inspector, { preparation: preparationFromUrl(url) });
}

/** The statement that creates the table of a URL, and a function that runs it. */
export function preparationFromUrl(url: string): StorePreparation {
  const parsed = parseSqlUrl(url);
  const { dialect, options } = parsed;
  const text = registryTable(dialect, checkedOptions(options).table);
  const run = async (): Promise<void> => {
    const created = { ...parsed, creates: true };
    const store = storeOf(dialect, connectionOfUrl(created), options);
    try {
      // Readers and writers do not wait for each other.
      if (dialect === 'sqlite') await store.run('PRAGMA journal_mode = WAL');
      await store.run(text);
    } finally {
      await store.close();
    }
  };
  return { text, run };
}

/** A database for an operator's SQL. */
export interface OperatedDatabase {
  readonly dialect: DialectName;
  /** Each call opens a separate connection. */
  open(): Promise<OperatedSession>;
  /** Converts a session's error to one of this library, with the codes of the server. */
  failure(error: unknown, table: string): { error: SnowflakeError; codes: readonly string[] };
}

interface OperatedSession extends Pick<OpenClient, 'isBroken' | 'destroy'> {
  ask(sql: string, params?: SqlParameter[]): Promise<readonly SqlRow[]>;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function databaseFromUrl(url: string): OperatedDatabase {
  const parsed = parseSqlUrl(url);
  const { dialect } = parsed;
  return {
    dialect,
    async open() {
      const client = await openClient(parsed);
      return {
        ask: async (sql, params = []) => rowsIn(await client.query(sql, params)) ?? [],
        isBroken: () => client.isBroken(),
        destroy: () => client.destroy(),
      };
    },
    failure(error, table) {
      const where = locationOfUrl(parsed);
      const place = { dialect: dialectOf(dialect), where, table, kind: 'rows' } as const;
      return { error: sqlError(error, place), codes: codesOf(error) };
    },
  };
}

export function storeOfUrl(url: string, kind?: SqlTable['kind']): SqlRows {
  const parsed = parseSqlUrl(url);
  return storeOf(parsed.dialect, connectionOfUrl(parsed), parsed.options, kind);
}

export function connectionOfUrl(url: ServerUrl | FileUrl): SqlConnection {
  const listen = url.dialect === 'postgres' ? () => openPostgres(url) : undefined;
  return new OwnConnection(locationOfUrl(url), () => openClient(url), listen);
}

function locationOfUrl(url: ServerUrl | FileUrl) {
  if (url.dialect === 'sqlite') return { text: `SQLite in ${url.path}`, secrets: [] };
  const { dialect, host, port, database, password } = url;
  const title = dialect === 'postgres' ? 'PostgreSQL' : 'MySQL';
  const text = `${title} at ${host}:${port}, database ${database}`;
  return { text, secrets: password === undefined ? [] : [password] };
}
