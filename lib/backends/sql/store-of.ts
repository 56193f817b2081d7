/**
 * From options and a way to the database to the store, and from a URL to all of it.
 *
 * Promise: options are checked before anything is opened.
 */
import { RegistrySupport } from '../../registry/registry-support.js';
import type { RegistryInspector } from '../../registry/registry-view.js';
import { SliceInspector } from '../../registry/slice-inspector.js';
import { openClient, openPostgres } from './connection/open-client.js';
import { OwnConnection, type SqlConnection } from './connection/sql-connection.js';
import { parseSqlUrl, type FileUrl, type ServerUrl } from './connection/sql-url.js';
import type { Dialect, DialectName } from './dialects/dialect.js';
import { MysqlDialect } from './dialects/mysql.js';
import { PostgresDialect } from './dialects/postgres.js';
import { SqliteDialect } from './dialects/sqlite.js';
import { checkedOptions, type SqlRegistryOptions } from './sql-options.js';
import { SqlStore } from './sql-store.js';
import { registryTable } from './table/registry-table.js';

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
): SqlStore {
  const { serverSql, ...checked } = checkedOptions(options, name !== 'sqlite');
  return new SqlStore({ ...checked, connection, dialect: dialectOf(name, serverSql) });
}

export function dialectOf(name: DialectName, serverSql?: string): Dialect {
  return DIALECTS[name](serverSql);
}

/** The support a URL names. @throws SnowflakeError CONFIG_INVALID */
export function supportFromUrl(url: string): RegistrySupport {
  return new RegistrySupport(storeOfUrl(url));
}

/** The registry a URL names, for an operator. @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  const { dialect, options } = parseSqlUrl(url);
  const { table, namespace } = checkedOptions(options);
  const store = storeOfUrl(url);
  const text = registryTable(dialect, table);
  const inspector = new SliceInspector(store, store.where, `${table}, namespace ${namespace}`);
  return Object.assign(inspector, { preparation: { text, run: () => store.run(text) } });
}

function storeOfUrl(url: string): SqlStore {
  const parsed = parseSqlUrl(url);
  return storeOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
}

export function connectionOfUrl(url: ServerUrl | FileUrl): SqlConnection {
  const listen = url.dialect === 'postgres' ? () => openPostgres(url) : undefined;
  return new OwnConnection(placeOfUrl(url), () => openClient(url), listen);
}

function placeOfUrl(url: ServerUrl | FileUrl) {
  if (url.dialect === 'sqlite') return { text: `SQLite in ${url.path}`, secrets: [] };
  const { dialect, host, port, database, password } = url;
  const title = dialect === 'postgres' ? 'PostgreSQL' : 'MySQL';
  const text = `${title} at ${host}:${port}, database ${database}`;
  return { text, secrets: password === undefined ? [] : [password] };
}
