/**
 * What applications hand in, known by its shape: a pool of pg or mysql2, PGlite, Neon, a DataSource
 * of TypeORM, a handle of better-sqlite3 or node:sqlite.
 *
 * Promise: only its function for one statement is used; nothing of it is changed or closed, and
 * neither its password nor a host that could be anything else is shown.
 */
import type { SqlPlace } from '../sql-error.js';
import type { SqlParameter } from '../sql-query.js';
import { connectedPostgres, type PostgresClient } from './open-client.js';
import type { ListeningClient, SqlConnection } from './sql-connection.js';

/** `Pool` or `Client` of pg, PGlite, `Pool` of Neon. */
export interface PostgresPool {
  query(sql: string, params: SqlParameter[]): Promise<unknown>;
}

/** A pool or connection of mysql2, of its promises or of its callbacks. */
export interface MysqlPool {
  execute(sql: string, params: SqlParameter[]): unknown;
  promise?(): unknown;
}

export function postgresPool(pool: PostgresPool): SqlConnection {
  return {
    where: placeOf('PostgreSQL', pool),
    query: (sql, params) => pool.query(sql, params),
    listen: () => listenBeside(pool),
  };
}

/** How a pool of pg makes its clients. */
interface ClientMaker {
  readonly Client: new (options: unknown) => PostgresClient;
  readonly options: unknown;
}

/** A connection as those of the pool, which is none of them. */
export async function listenBeside(pool: unknown): Promise<ListeningClient> {
  const { Client, options } = Object(pool) as Partial<ClientMaker>;
  if (typeof Client !== 'function' || Object(options) !== options) {
    throw new Error('No connection can be made beside what was given.');
  }
  return connectedPostgres(new Client(options));
}

/** `execute`, not `query`: what is sent apart from the statement needs no escaping. */
export function mysqlPool(pool: MysqlPool): SqlConnection {
  const promised = typeof pool.promise === 'function' ? (pool.promise() as MysqlPool) : pool;
  return {
    where: placeOf('MySQL', pool),
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

/** Where drivers keep what they were configured with. */
interface Configured extends Login {
  /** pg, TypeORM. */
  readonly options?: Login & { readonly replication?: { readonly master?: Login } };
  /** mysql2: a connection, a pool, and a pool of promises around one. */
  readonly config?: Login & { readonly connectionConfig?: Login };
  readonly pool?: Configured;
}

/** A host or a name that could be anything else is not shown. */
const PLAIN = /^[\p{L}\p{N}._:%-]+$/u;

export function placeOf(title: string, client: unknown): SqlPlace {
  const logins = loginsOf(client as Configured);
  const urls = logins.flatMap(({ connectionString, url, uri }) => [connectionString, url, uri]);
  const parsed = textsAmong(urls).flatMap((url) => (URL.canParse(url) ? [new URL(url)] : []));
  const passwords = textsAmong([
    ...logins.map(({ password }) => password),
    ...urls,
    ...parsed.flatMap(({ password }) => [password, decoded(password)]),
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
  database: decoded(pathname.slice(1)),
});

function serverText(host: unknown, port: unknown): string {
  if (typeof host !== 'string' || !PLAIN.test(host)) return 'the given client';
  const number = Number(port);
  return number > 0 ? `${host}:${number}` : host;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function textsAmong(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}
