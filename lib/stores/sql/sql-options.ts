/**
 * The options that every SQL support has, checked all at once, and the URL that may give them.
 *
 * Guarantee: an absent option never costs uniqueness. A server cannot be asked whether another one
 * may replace it, since a replica that is cut off is not seen; so it is assumed unless the
 * application says that there is none.
 */
import { isIP } from 'node:net';
import type { SnowflakeError } from '../../errors.js';
import {
  invalidUrl,
  nameFaults,
  refused,
  typeFaults,
  unknownNames,
  windowFaults,
} from '../../options.js';
import { highest } from '../../rows/store-clock.js';
import { kindOf } from '../../url-schemes.js';
import { decodedPart, refuseInvisible, StoreUrl, UrlQuery, type Address } from '../store-url.js';

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

export const TABLE = 'snowflake_registry';
const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;
const NAMES =
  'namespace, table, replicated, failoverWindowMs, clockDifferenceMs, serverSql, pool, database, ' +
  'dataSource, query, dialect';
const NAMESPACE = { of: 'characters without braces or spaces', without: /[{}\s\p{C}]/u };
const TABLE_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkedOptions(options: SqlRegistryOptions, isReplicatedByDefault = true) {
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
  /** A missing file is created when it is opened. */
  readonly creates?: boolean;
  readonly options: SqlRegistryOptions;
}

const PORTS = { postgres: 5432, mysql: 3306 } as const;
const FILE = /^\w+:(?:\/\/(?=\/))?([^?]+)(?:\?(.*))?$/;
const TLS = {
  disable: 'off',
  'no-verify': 'unchecked',
  require: 'checked',
  'verify-full': 'checked',
} as const;
const OPTIONS = {
  namespace: 'text',
  table: 'text',
  replicated: 'flag',
  failoverWindowMs: 'number',
  clockDifferenceMs: 'number',
} as const;
/** Asked for by mistake, and no secret themselves: only these are named in a message. */
const STRANGERS =
  'ssl ssl-mode ssl-ca sslcert sslkey channel_binding schema connection_limit pool_timeout ' +
  'pgbouncer application_name options charset timezone host user password db database ttl timeout';

/** @throws SnowflakeError CONFIG_INVALID */
export function parseSqlUrl(url: string): ServerUrl | FileUrl {
  const kind = kindOf(url);
  return kind === 'sqlite' ? fileUrl(url) : serverUrl(url, kind === 'mysql' ? kind : 'postgres');
}

function fileUrl(url: string): FileUrl {
  refuseInvisible(url);
  const [, path = '', text = ''] = FILE.exec(url) ?? [];
  if (path === '' || /^\/\/|^:memory:$/.test(path)) {
    throw invalidUrl(url, 'it does not name a file that several processes can open');
  }
  const query = new UrlQuery(url, text);
  const options = query.options(OPTIONS, STRANGERS);
  query.refuse();
  return { dialect: 'sqlite', path, options };
}

function serverUrl(text: string, dialect: ServerUrl['dialect']): ServerUrl {
  const example = `${dialect}://user@host/database?namespace=name`;
  const url = new StoreUrl(text, { kind: dialect, example, port: PORTS[dialect] });
  const { hosts, path } = url;
  const { username: user, password } = url.login;
  if (hosts.length > 1) url.fault('it names several hosts, and only one is asked');
  if (path === '') url.fault('it names no database after its host');
  if (path.includes('/')) url.fault(`it does not have the form ${example}`);
  const options = url.options(OPTIONS, STRANGERS, ['sslmode', 'sslrootcert']);
  const tls = tlsIn(url);
  const [{ host, port }] = hosts as [Address];
  if (dialect === 'mysql' && tls.tls === 'checked' && isIP(host) > 0) {
    url.fault('its host is an address, and mysql2 checks a certificate by name alone');
  }
  url.refuse();
  const login = {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  };
  return { dialect, host, port, ...login, database: decodedPart(path), ...tls, options };
}

function tlsIn(url: UrlQuery): Pick<ServerUrl, 'tls' | 'ca'> {
  const mode = url.text('sslmode') ?? 'disable';
  if (!Object.hasOwn(TLS, mode)) url.fault(`its sslmode is none of ${Object.keys(TLS).join(', ')}`);
  const tls = TLS[mode as keyof typeof TLS];
  if (url.text('sslrootcert') === undefined) return { tls };
  if (tls === 'checked') return { tls, ca: url.file('sslrootcert')! };
  url.fault('its sslrootcert is for an sslmode of require or verify-full');
  return { tls };
}
