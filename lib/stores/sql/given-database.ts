/**
 * The database object that an application passes, for counters and locks.
 *
 * Guarantee: it is used for single statements and never closed.
 */
import { decodedPart } from '../store-url.js';
import type { DialectName } from './dialects/dialect.js';
import { connectedPostgres, preparedQuery, type PostgresClient } from './open-client.js';
import {
  type ListeningClient,
  type SqlConnection,
  type SqlParameter,
  type SqlQuery,
  type SqlLocation,
} from './sql-connection.js';
import { misconfigured, refuse } from './sql-options.js';
import { sqliteHandle, type SqliteHandle } from './dialects/sqlite-file.js';

/**
 * The ways to pass a database: a DataSource, a function that runs SQL, or a pool with its dialect.
 */
export type GivenDatabase =
  | ByDataSource
  | ByQuery
  /** A pool of pg, PGlite, or any object with the same `query(text, values)`. */
  | { readonly pool: PostgresPool; readonly dialect: 'postgres' }
  /** A pool of mysql2, or any object with the same `execute(text, values)`. */
  | { readonly pool: MysqlPool; readonly dialect: 'mysql' }
  /** A handle of better-sqlite3, libsql or node:sqlite. */
  | { readonly database: SqliteHandle };

/** @throws SnowflakeError CONFIG_INVALID */
export function givenDatabase(given: GivenDatabase): DatabaseAccess {
  const options = Object(given) as GivenDatabase;
  if ('database' in options) {
    refuseWithout(options, 'database', 'prepare');
    return { dialect: 'sqlite', connection: sqliteHandle(options.database) };
  }
  if (!('pool' in options)) return accessBy(options);
  if (options.dialect === 'mysql') {
    refuseWithout(options, 'pool', 'execute');
    return { dialect: 'mysql', connection: mysqlPool(options.pool) };
  }
  refuseWithout(options, 'pool', 'query');
  return { dialect: 'postgres', connection: postgresPool(options.pool) };
}

/*
 * The kinds of database objects that an application can pass, each by its structure.
 *
 * Guarantee: an unusable object is rejected without being shown, because a URL passed instead
 * contains a password.
 */

export interface ByDataSource {
  /** A DataSource of TypeORM, for PostgreSQL, MySQL, MariaDB or better-sqlite3. */
  readonly dataSource: GivenDataSource;
}

export interface ByQuery {
  /**
   * Runs one statement outside any transaction, and returns the rows. In MySQL, a statement that
   * writes returns the driver's result or the number of rows.
   */
  readonly query: SqlQuery;
  readonly dialect: Exclude<DialectName, 'sqlite'>;
}

const TITLES: ReadonlyMap<DialectName, string> = new Map([
  ['postgres', 'PostgreSQL'],
  ['mysql', 'MySQL'],
]);

/** @throws SnowflakeError CONFIG_INVALID */
export function accessBy(given: ByDataSource | ByQuery): DatabaseAccess {
  const options = Object(given) as ByDataSource | ByQuery;
  if ('dataSource' in options) {
    refuseWithout(options, 'dataSource', 'query');
    return dataSourceConnection(options.dataSource);
  }
  const { query, dialect } = options;
  if ('url' in options) refuse(['A URL is given as it is: `support: "postgres://db/shop"`.']);
  refuse([
    ...(typeof query === 'function' ? [] : [`Expected \`query\` or \`dataSource\`, got neither.`]),
    ...(TITLES.has(dialect) ? [] : [`Expected \`dialect\` to be postgres or mysql.`]),
  ]);
  const text = `${TITLES.get(dialect)} by the given function`;
  return { dialect, connection: { where: { text, secrets: [] }, query } };
}

/** @throws SnowflakeError CONFIG_INVALID unless the option of that name has the method */
export function refuseWithout(options: unknown, name: string, method: string): void {
  const given = (Object(options) as Record<string, unknown>)[name];
  const found = (Object(given) as Record<string, unknown>)[method];
  if (typeof found === 'function') return;
  const got = typeof given === 'object' && given !== null ? 'one without it' : typeof given;
  refuse([`Expected \`${name}\` to be an object with ${method}(), got ${got}.`]);
}

/*
 * Recognizes the application's objects by their structure: a pool of pg or mysql2, PGlite, Neon, a
 * DataSource of TypeORM, a handle of better-sqlite3 or node:sqlite.
 *
 * Guarantee: only its function for one statement is used, and nothing of it is changed or closed.
 * Neither its password nor a value that might not be a host is printed.
 */

/** `Pool` or `Client` of pg, PGlite, `Pool` of Neon. */
export interface PostgresPool {
  query(sql: string, params: SqlParameter[]): Promise<unknown>;
}

/** A pool or connection of mysql2, with promises or with callbacks. */
export interface MysqlPool {
  execute(sql: string, params: SqlParameter[]): unknown;
  promise?(): unknown;
}

export function postgresPool(pool: PostgresPool): SqlConnection {
  // An object with only the same `query(text, values)`, or a wrapped one, may not accept statement
  // names.
  const isOfPg = clientMakerOf(pool) !== undefined && !Object.hasOwn(pool, 'query');
  return {
    where: locationOf('PostgreSQL', pool),
    query: isOfPg ? preparedQuery(pool) : (sql, params) => pool.query(sql, params),
    listen: () => listenBeside(pool),
  };
}

/** A pool of pg creates its clients with these. */
interface ClientMaker {
  readonly Client: new (options: unknown) => PostgresClient;
  readonly options: unknown;
}

function clientMakerOf(pool: unknown): ClientMaker | undefined {
  const { Client, options } = Object(pool) as Partial<ClientMaker>;
  if (typeof Client !== 'function' || Object(options) !== options) return undefined;
  return { Client, options };
}

/** A connection with the pool's settings, outside the pool. */
async function listenBeside(pool: unknown): Promise<ListeningClient> {
  const { Client, options } = clientMakerOf(pool) ?? {};
  if (Client === undefined) throw new Error('No connection can be made next to what was given.');
  return connectedPostgres(new Client(options));
}

/** `execute`, not `query`: values that are sent separately need no escaping. */
export function mysqlPool(pool: MysqlPool): SqlConnection {
  const promised = typeof pool.promise === 'function' ? (pool.promise() as MysqlPool) : pool;
  return {
    where: locationOf('MySQL', pool),
    query: (sql, params) => promised.execute(sql, params) as Promise<unknown>,
  };
}

interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly database?: unknown;
  readonly password?: unknown;
  readonly connectionString?: unknown;
  readonly url?: unknown;
  readonly uri?: unknown;
}

/** Drivers keep their configuration in these fields. */
interface Configured extends Login {
  /** pg and TypeORM use these. */
  readonly options?: Login & { readonly replication?: { readonly master?: Login } };
  /** mysql2: a connection, a pool, and a promise pool around a pool. */
  readonly config?: Login & { readonly connectionConfig?: Login };
  readonly pool?: Configured;
}

/** A value that might not be a host or a name is not shown. */
const PLAIN = /^[\p{L}\p{N}._:%-]+$/u;

function locationOf(title: string, client: unknown): SqlLocation {
  const logins = loginsOf(client as Configured);
  const urls = logins.flatMap(({ connectionString, url, uri }) => [connectionString, url, uri]);
  const parsed = textsAmong(urls).flatMap((url) => (URL.canParse(url) ? [new URL(url)] : []));
  const passwords = textsAmong([
    ...logins.map(({ password }) => password),
    ...urls,
    ...parsed.flatMap(({ password }) => [password, decodedPart(password)]),
  ]);
  const named = [...logins, ...parsed.map(loginOf)];
  const found = (name: keyof Login) =>
    named.map((login) => login[name]).find((value) => value !== undefined && value !== '');
  const server = serverText(found('host'), found('port'));
  const database = found('database');
  const isShown = typeof database === 'string' && PLAIN.test(database);
  const text = `${title} at ${server}${isShown ? `, database ${database}` : ''}`;
  return { text, secrets: passwords };
}

function loginsOf({ options, config, pool, ...own }: Configured): Login[] {
  const { replication, ...plain } = options ?? {};
  const { connectionConfig, ...settings } = config ?? {};
  const inner = pool === undefined || pool === null ? [] : loginsOf({ ...pool, pool: undefined });
  const found = [replication?.master, plain, connectionConfig, settings, own, ...inner];
  return found.filter((login): login is Login => login !== undefined && login !== null);
}

const loginOf = ({ hostname, port, pathname }: URL): Login => ({
  host: hostname,
  ...(port !== '' && { port }),
  database: decodedPart(pathname.slice(1)),
});

function serverText(host: unknown, port: unknown): string {
  if (typeof host !== 'string' || !PLAIN.test(host)) return 'the given client';
  const number = Number(port);
  return number > 0 ? `${host}:${number}` : host;
}

function textsAmong(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

/*
 * A DataSource of TypeORM, recognized by its structure.
 *
 * Guarantee: each statement goes to the primary over a separate connection of the pool, so it is
 * part of no transaction of the application.
 */

/**
 * A DataSource of TypeORM, recognized by its structure. It may be passed before it is initialized.
 */
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
const SERVER_TITLES = { postgres: 'PostgreSQL', mysql: 'MySQL' } as const;

interface DatabaseAccess {
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
function dataSourceConnection(dataSource: GivenDataSource): DatabaseAccess {
  const dialect = dialectOfType(dataSource.options.type);
  if (dialect === 'sqlite') return { dialect, connection: handleOf(dataSource) };
  const where = locationOf(SERVER_TITLES[dialect], dataSource);
  // The pool of the writable server; absent before the DataSource is initialized.
  const pool = () => {
    const { master, pool: ofMysql } = driverOf(dataSource);
    return dialect === 'postgres' ? master : ofMysql;
  };
  const once = dialect === 'postgres' ? postgresOnce : mysqlOnce;
  let last: unknown;
  const query: SqlQuery = (sql, params) => {
    // TypeOrmModule destroys it in a Nest hook that precedes the release of the worker ID.
    if (!dataSource.isInitialized && last !== undefined) return once(last, sql, params);
    last = pool();
    return dataSource.query(sql, params);
  };
  if (dialect === 'mysql') return { dialect, connection: { where, query } };
  return { dialect, connection: { where, query, listen: () => listenBeside(pool()) } };
}

interface DriverFace {
  readonly master?: unknown;
  readonly pool?: unknown;
  readonly databaseConnection?: SqliteHandle;
}

const driverOf = (dataSource: GivenDataSource): DriverFace =>
  (dataSource as { driver?: DriverFace }).driver ?? {};

/**
 * Runs one statement over a new connection with the settings of a pool that its owner has closed.
 */
async function postgresOnce(pool: unknown, sql: string, params: SqlParameter[]): Promise<unknown> {
  const client = await listenBeside(pool);
  try {
    return await client.query(sql, params);
  } finally {
    client.destroy();
  }
}

/** A pool of mysql2 and its parts. */
interface MysqlPoolMaker {
  readonly constructor: new (options: { config: unknown }) => MysqlPool & {
    end(done: () => void): void;
  };
  readonly config?: unknown;
}

async function mysqlOnce(pool: unknown, sql: string, params: SqlParameter[]): Promise<unknown> {
  const { constructor: Pool, config } = pool as MysqlPoolMaker;
  const again = new Pool({ config });
  try {
    return await mysqlPool(again).query(sql, params);
  } finally {
    again.end(() => undefined);
  }
}

/** The application shares the one connection, so its open transactions are checked. */
function handleOf(dataSource: GivenDataSource): SqlConnection {
  const handle = () => driverOf(dataSource).databaseConnection;
  let known: { readonly open: SqliteHandle; readonly query: SqlQuery } | undefined;
  const query = async (sql: string, params: SqlParameter[]) => {
    const open = handle();
    if (open === undefined) throw new Error('the DataSource is not initialized');
    if (known?.open !== open) known = { open, query: sqliteHandle(open).query };
    return known.query(sql, params);
  };
  return { where: { text: 'SQLite', secrets: [] }, query };
}
