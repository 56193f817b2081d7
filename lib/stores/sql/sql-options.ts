/**
 * The options that every SQL support has, checked all at once, and the URL that may give them.
 *
 * Guarantee: an absent option never costs uniqueness. A server cannot be asked whether another one
 * may replace it, since a replica that is cut off is not seen; so it is assumed unless the
 * application says that there is none.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { SnowflakeError } from '../../errors.js';
import {
  invalidUrl,
  nameFaults,
  refused,
  typeFaults,
  unknownNames,
  windowFaults,
  parameterFault,
} from '../../options.js';
import { highest, type ClockPolicy } from '../../rows/store-clock.js';
import { decodedPart, digitsOf, kindOf, loginIn } from '../../url-schemes.js';

/** The options of every support in a database. */
export interface SqlRegistryOptions {
  /** One id space: processes with the same namespace never make the same id. Default 'default'. */
  readonly namespace?: string | undefined;
  /** The table, with its schema if need be. Default 'snowflake_registry'. */
  readonly table?: string | undefined;
  /**
   * False where no other server can ever take the place of this one: no standby, no failover of a
   * provider. Sets the next two to 0. Default true, and for SQLite false.
   */
  readonly replicated?: boolean | undefined;
  /** How long an old primary may go on answering after a failover. Default 15,000. */
  readonly failoverWindowMs?: number | undefined;
  /** How far the clocks of two servers may differ. Default 1,000. */
  readonly clockDifferenceMs?: number | undefined;
  /**
   * For clusters of several servers that all take writes (Galera, CockroachDB, YugabyteDB, TiDB):
   * an SQL expression that is the same text on every one of them, and another one once the cluster
   * may have lost data. It stands in the statements as it is.
   */
  readonly serverSql?: string | undefined;
}

interface CheckedOptions {
  readonly namespace: string;
  readonly table: string;
  readonly lossWindowMs: number;
  readonly serverSql?: string;
  readonly clock?: ClockPolicy;
}

export const TABLE = 'snowflake_registry';
const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;
const NAMES =
  'namespace, table, replicated, failoverWindowMs, clockDifferenceMs, serverSql, pool, database, ' +
  'dataSource, query, dialect';
const NAMESPACE = { of: 'characters without braces or spaces', without: '{}\\s\\p{C}' };
const TABLE_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkedOptions(
  options: SqlRegistryOptions,
  isReplicatedByDefault = true,
): CheckedOptions {
  const strangers = unknownNames(options, NAMES, 'A store in SQL');
  const { namespace = 'default', table = TABLE, serverSql } = options;
  const { replicated: isReplicated = isReplicatedByDefault } = options;
  const { failoverWindowMs = isReplicated ? FAILOVER_WINDOW_MS : 0 } = options;
  const { clockDifferenceMs = isReplicated ? CLOCK_DIFFERENCE_MS : 0 } = options;
  refuse([
    ...strangers,
    ...nameFaults('namespace', namespace, NAMESPACE),
    ...textFaults('table', table, TABLE_NAME, 'a name like snowflake_registry or schema.name'),
    ...typeFaults('replicated', isReplicated, 'boolean'),
    ...windowFaults('failoverWindowMs', failoverWindowMs),
    ...windowFaults('clockDifferenceMs', clockDifferenceMs),
    ...(serverSql === undefined ? [] : textFaults('serverSql', serverSql, /\S/, 'an expression')),
  ]);
  return {
    namespace,
    table,
    lossWindowMs: failoverWindowMs + clockDifferenceMs,
    // Their clocks differ, and every change between them would drive a slew up.
    ...(serverSql !== undefined && { serverSql, clock: highest }),
  };
}

/** @throws SnowflakeError CONFIG_INVALID unless there are none */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw misconfigured(faults);
}

export function misconfigured(faults: readonly string[]): SnowflakeError {
  return refused(faults, 'The SQL support is misconfigured. ');
}

function textFaults(name: string, value: unknown, form: RegExp, expected: string): string[] {
  if (typeof value === 'string' && form.test(value)) return [];
  // The text is not printed: it may go on with a password that was meant for another field.
  const got = typeof value === 'string' ? `a text of ${value.length}` : typeof value;
  return [`Expected \`${name}\` to be ${expected}, got ${got}.`];
}

/*
 * The database a URL names.
 *
 *     postgres://user:password@host:5432/shop?namespace=shop&sslmode=verify-full
 *     postgres://host/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem
 *     mysql://user:password@host:3306/shop        mariadb:// is the same
 *     sqlite:./var/shop.db?namespace=shop
 *
 * Guarantee: a URL that cannot be meant so is refused with its fault. Nothing of it is repeated.
 */

export interface ServerUrl {
  readonly dialect: 'postgres' | 'mysql';
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  readonly database: string;
  /** Checked means that the certificate is valid for the host. */
  readonly tls: 'off' | 'checked' | 'unchecked';
  /** The authorities that count instead of those of Node, as PEM. */
  readonly ca?: string;
  readonly options: SqlRegistryOptions;
}

export interface FileUrl {
  readonly dialect: 'sqlite';
  readonly path: string;
  readonly options: SqlRegistryOptions;
}

const PORTS = { postgres: 5432, mysql: 3306 } as const;
const SERVER = /^\w+:\/\/(?:([^@/]*)@)?([^@/?]*)\/([^?/]*)(?:\?(.*))?$/;
const FILE = /^\w+:(?:\/\/(?=\/))?([^?]+)(?:\?(.*))?$/;
/** A name, an address, or an IPv6 address in brackets. */
const HOST = /^([\p{L}\p{N}._-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/iu;
const TLS = {
  disable: 'off',
  'no-verify': 'unchecked',
  require: 'checked',
  'verify-full': 'checked',
} as const;
const OWN = ['namespace', 'table', 'replicated', 'failoverWindowMs', 'clockDifferenceMs'];
/** Asked for by mistake, and no secret themselves: only these are named in a message. */
const STRANGERS =
  'ssl ssl-mode ssl-ca sslcert sslkey channel_binding schema connection_limit pool_timeout ' +
  'pgbouncer application_name options charset timezone host user password db database ttl timeout';

/** @throws SnowflakeError CONFIG_INVALID */
export function parseSqlUrl(url: string): ServerUrl | FileUrl {
  const dialect = kindOf(url);
  if (/[\s\p{C}]/u.test(url)) {
    throw invalidUrl(url, 'it contains a space or an invisible character: take it out');
  }
  return dialect === 'sqlite'
    ? fileUrl(url)
    : serverUrl(url, dialect === 'mysql' ? dialect : 'postgres');
}

function fileUrl(url: string): FileUrl {
  const [, path = '', text = ''] = FILE.exec(url) ?? [];
  if (path === '' || /^\/\/|^:memory:$/.test(path)) {
    throw invalidUrl(url, 'it does not name a file that several processes can open');
  }
  return { dialect: 'sqlite', path, options: optionsIn(url, queryIn(url, text, OWN)) };
}

function serverUrl(url: string, dialect: ServerUrl['dialect']): ServerUrl {
  if (/\/\/[^?]*[/@][^?]*@/.test(url)) {
    throw invalidUrl(url, 'a / or @ in its user or password must be written %2F or %40');
  }
  const parts = SERVER.exec(url);
  if (parts === null) {
    throw invalidUrl(
      url,
      `it does not have the form ${dialect}://user@host/database?namespace=name`,
    );
  }
  const [, login = '', hostText = '', name = '', text = ''] = parts;
  const [, host, digits] = HOST.exec(hostText) ?? [];
  if (host === undefined) throw invalidUrl(url, 'its host is not written as one host or host:port');
  const port = Number(digits ?? PORTS[dialect]);
  if (port < 1 || port > 65_535) throw invalidUrl(url, `${port} is not a port from 1 to 65535`);
  const database = decodedPart(name);
  if (database === '') throw invalidUrl(url, 'it names no database after its host');
  const query = queryIn(url, text, [...OWN, 'sslmode', 'sslrootcert']);
  const mode = query.get('sslmode') ?? 'disable';
  if (!Object.hasOwn(TLS, mode)) {
    throw invalidUrl(url, `its sslmode is none of ${Object.keys(TLS).join(', ')}`);
  }
  const { username: user, password } = loginIn(login);
  const address = host.replace(/^\[|\]$/g, '');
  const tls = TLS[mode as keyof typeof TLS];
  if (dialect === 'mysql' && tls === 'checked' && isIP(address) > 0) {
    throw invalidUrl(url, 'its host is an address, and mysql2 checks a certificate by name alone');
  }
  return {
    dialect,
    host: address,
    port,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    database,
    ...tlsIn(url, tls, query.get('sslrootcert')),
    options: optionsIn(url, query),
  };
}

function tlsIn(
  url: string,
  tls: ServerUrl['tls'],
  path: string | undefined,
): Pick<ServerUrl, 'tls' | 'ca'> {
  if (path === undefined) return { tls };
  if (tls !== 'checked') {
    throw invalidUrl(url, 'its sslrootcert is for an sslmode of require or verify-full');
  }
  try {
    return { tls, ca: readFileSync(path, 'utf8') };
  } catch (error) {
    const { code = 'no reason given' } = error as NodeJS.ErrnoException;
    throw invalidUrl(url, `the file that its sslrootcert names cannot be read (${code})`);
  }
}

/** Unknown parameters, and values that are part of a connection string, are refused. */
function queryIn(url: string, text: string, known: readonly string[]): Map<string, string> {
  const pairs = [...new URLSearchParams(text)];
  const query = new Map(pairs);
  if (query.size < pairs.length) throw invalidUrl(url, 'it gives one of its parameters twice');
  for (const pair of pairs.entries()) {
    const fault = parameterFault(pair, known, STRANGERS);
    if (fault !== undefined) throw invalidUrl(url, fault);
  }
  return query;
}

function optionsIn(url: string, query: ReadonlyMap<string, string>): SqlRegistryOptions {
  const number = (name: string) => (query.has(name) ? digitsOf(query.get(name)!) : undefined);
  const replicated = query.get('replicated');
  if (replicated !== undefined && replicated !== 'true' && replicated !== 'false') {
    throw invalidUrl(url, 'its replicated is none of true, false');
  }
  return {
    namespace: query.get('namespace'),
    table: query.get('table'),
    replicated: replicated === undefined ? undefined : replicated === 'true',
    failoverWindowMs: number('failoverWindowMs'),
    clockDifferenceMs: number('clockDifferenceMs'),
  };
}
