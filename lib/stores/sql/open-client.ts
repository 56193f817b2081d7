/**
 * Opens the one connection of a URL, with the installed driver.
 *
 * Guarantee: only this file loads a driver. A call without a response ends after five seconds and
 * closes the connection, so that no later call waits behind it.
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import { OneAtATime } from '../../time/line.js';
import { systemTimers, withinLimit } from '../../time/timers.js';
import {
  STATEMENT_MS_MAX,
  type ListeningClient,
  type OpenClient,
  type SqlParameter,
  type SqlQuery,
} from './sql-connection.js';
import { absence, load } from '../packages.js';
import type { FileUrl, ServerUrl } from './sql-options.js';
import { checkExists, queryOf, type SqliteHandle } from './dialects/sqlite-file.js';

/** A longer wait would block the event loop; a call that fails as busy is repeated. */
const SQLITE_BUSY_MS = 20;

export function openClient(url: ServerUrl | FileUrl): Promise<OpenClient> {
  if (url.dialect === 'sqlite') return openSqlite(url);
  return url.dialect === 'postgres' ? openPostgres(url) : openMysql(url);
}

/** The internal parts of both drivers, which their types omit. */
interface Inside {
  readonly connection: { readonly stream: { destroy(): void } };
}

export async function openPostgres(url: ServerUrl): Promise<ListeningClient> {
  const { default: pg } = await driver<typeof import('pg')>('pg');
  const client = new pg.Client({
    ...loginOf(url),
    ssl: tlsOf(url) ?? false,
    enableChannelBinding: url.bindsChannel,
    keepAlive: true,
    connectionTimeoutMillis: STATEMENT_MS_MAX,
    query_timeout: STATEMENT_MS_MAX,
    application_name: 'nestjs-snowflake',
  });
  return connectedPostgres(client);
}

/** A client of pg, or any object with its structure. */
export interface PostgresClient {
  connect(): Promise<unknown>;
  query(sql: string | NamedStatement, params?: SqlParameter[]): Promise<unknown>;
  on(event: string, listener: (said: { channel: string; payload?: string }) => void): unknown;
}

/** @param client that is not connected yet */
export async function connectedPostgres(client: PostgresClient): Promise<ListeningClient> {
  let isBroken = false;
  const broken = () => void (isBroken = true);
  // The next call reports an error of the connection between two calls.
  client.on('error', broken);
  client.on('end', broken);
  const destroy = () => {
    broken();
    (client as unknown as Inside).connection.stream.destroy();
  };
  await client.connect().catch((error: unknown) => {
    destroy();
    throw error;
  });
  const query = preparedQuery(client);
  const sent = async (sql: string, params: SqlParameter[]) => {
    if (isBroken) throw new Error('Connection terminated');
    try {
      return await query(sql, params);
    } catch (error) {
      const { code, severity } = error as { code?: unknown; severity?: unknown };
      // An error without a code is not a response of the server; after a fatal one, no other
      // response comes.
      if (code === undefined || severity === 'FATAL') destroy();
      throw error;
    }
  };
  const onMessage: ListeningClient['onMessage'] = (message, ended) => {
    client.on('notification', ({ channel, payload }) => message(channel, payload));
    client.on('end', ended);
  };
  // This driver has its own queue, which is deprecated and logs a warning.
  const turns = new OneAtATime<typeof sent>();
  const inTurn: SqlQuery = (sql, params) => turns.run(sent, () => sent(sql, params));
  return { query: inTurn, isBroken: () => isBroken, destroy, onMessage };
}

/** The server keeps the prepared statement, so it neither parses nor plans the same text again. */
interface NamedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: SqlParameter[];
}

/** Locks, counters and worker IDs have a few texts each. */
const NAMED_COUNT_MAX = 64;
/**
 * The server did not execute the statement. Either its name is unknown or already in use, as behind
 * a pooler that lends another session to each statement, or the table was altered.
 */
const UNKNOWN_NAME: ReadonlySet<unknown> = new Set(['26000', '42P05', '0A000']);

/** Each name is the digest of its text, so it means the same in every session. */
export function preparedQuery(client: Pick<PostgresClient, 'query'>): SqlQuery {
  const names = new Map<string, string>();
  let isNaming = true;
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size === NAMED_COUNT_MAX) return known;
    const name = `snowflake_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
    names.set(text, name);
    return name;
  };
  return async (text, values) => {
    const name = isNaming && values.length > 0 ? nameOf(text) : undefined;
    if (name === undefined) return client.query(text, values);
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      if (!UNKNOWN_NAME.has((error as { code?: unknown }).code)) throw error;
      isNaming = false;
      return client.query(text, values);
    }
  };
}

async function openMysql(url: ServerUrl): Promise<OpenClient> {
  const { createConnection } = await driver<typeof import('mysql2/promise')>('mysql2');
  const ssl = tlsOf(url);
  const client = await createConnection({
    ...loginOf(url),
    // By default, this driver accepts the certificate of any host.
    ...(ssl !== undefined && { ssl: { ...ssl, verifyIdentity: ssl.rejectUnauthorized } }),
    connectTimeout: STATEMENT_MS_MAX,
    enableKeepAlive: true,
    charset: 'utf8mb4',
  });
  let isBroken = false;
  const broken = () => void (isBroken = true);
  client.on('error', broken);
  client.on('end', broken);
  const destroy = () => {
    broken();
    client.destroy();
    // It only says goodbye to the server, so its failure does not matter.
    (client as unknown as Inside).connection.stream.destroy();
  };
  // The driver's own limit leaves the connection in use, and does not apply while it prepares a
  // statement.
  const over = (): never => {
    destroy();
    throw Object.assign(new Error('query read timeout'), { code: 'PROTOCOL_SEQUENCE_TIMEOUT' });
  };
  const limit = { ms: STATEMENT_MS_MAX, timers: systemTimers, over };
  const query = async (sql: string, values: SqlParameter[]) => {
    try {
      return await withinLimit<unknown>(client.execute(sql, values), limit);
    } catch (error) {
      if ((error as { fatal?: unknown }).fatal === true) destroy();
      throw error;
    }
  };
  return { query, isBroken: () => isBroken, destroy };
}

type Sqlite = new (path: string, options: { timeout: number }) => SqliteHandle & { close(): void };

async function openSqlite({ path, creates = false }: FileUrl): Promise<OpenClient> {
  const Database = await sqliteDriver();
  if (!creates) checkExists(path);
  const handle = new Database(path, { timeout: SQLITE_BUSY_MS });
  handle.exec('PRAGMA synchronous = FULL');
  let isBroken = false;
  const destroy = () => {
    if (!isBroken) handle.close();
    isBroken = true;
  };
  return { query: queryOf(handle), isBroken: () => isBroken, destroy };
}

/** The first installed driver; the last is a part of Node itself. */
async function sqliteDriver(): Promise<Sqlite> {
  const names = ['better-sqlite3', 'libsql'] as const;
  for (const name of names) {
    const installed = (await load(name)) as { readonly default: Sqlite } | undefined;
    if (installed !== undefined) return installed.default;
  }
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: Sqlite } | undefined;
  if (builtIn !== undefined) return builtIn.DatabaseSync;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'A URL of SQLite needs better-sqlite3, libsql, or node:sqlite of Node 22.16 or 24. ' +
      absence(names, names[0]),
  );
}

function loginOf({ host, port, user, password, database }: ServerUrl) {
  return { host, port, database, ...(user && { user }), ...(password && { password }) };
}

function tlsOf({ tls, ca }: ServerUrl): { rejectUnauthorized: boolean; ca?: string } | undefined {
  if (tls === 'off') return undefined;
  return { rejectUnauthorized: tls === 'checked', ...(ca !== undefined && { ca }) };
}

async function driver<T>(name: 'pg' | 'mysql2'): Promise<T> {
  const installed = (await load(name)) as T | undefined;
  if (installed !== undefined) return installed;
  const why = `This URL needs the package ${name}. ${absence([name], name)}`;
  throw new SnowflakeError('CONFIG_INVALID', why);
}
