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
  later,
  named,
  readOptions,
  refused,
  typed,
  windowFaults,
  type Check,
  type OptionTable,
} from '../../options.js';
import { highest } from '../../rows/store-clock.js';
import { kindOf } from '../../url-schemes.js';
import { decodedPart, refuseInvisible, StoreUrl, UrlQuery, type Address } from '../store-url.js';

/** The options of every support in a database. */
export interface SqlRegistryOptions {
  /** One ID space: processes with the same namespace never make the same ID. Default 'default'. */
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
const NAMESPACE = { of: 'characters without braces or spaces', without: /[{}\s\p{C}]/u };
const TABLE_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** What an application gives of its database is checked where it is used. */
const given = [later, undefined] as const;
export const DATABASE = {
  pool: given,
  database: given,
  dataSource: given,
  query: given,
  dialect: given,
};

export const SQL = {
  namespace: [named(NAMESPACE), 'default', 'text'],
  table: [textual(TABLE_NAME, 'a name like snowflake_registry or schema.name'), TABLE, 'text'],
  replicated: [typed('boolean'), undefined, 'flag'],
  failoverWindowMs: [windowFaults, undefined, 'number'],
  clockDifferenceMs: [windowFaults, undefined, 'number'],
  serverSql: [textual(/\S/, 'an expression'), undefined],
  ...DATABASE,
} satisfies OptionTable<SqlRegistryOptions>;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkedOptions(options: SqlRegistryOptions, isReplicatedByDefault = true) {
  const { terms, faults } = readOptions(options, SQL, 'A store in SQL');
  refuse(faults);
  const { namespace, table, serverSql, replicated: isReplicated = isReplicatedByDefault } = terms;
  const { failoverWindowMs = isReplicated ? FAILOVER_WINDOW_MS : 0 } = terms;
  const { clockDifferenceMs = isReplicated ? CLOCK_DIFFERENCE_MS : 0 } = terms;
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

function textual(form: RegExp, expected: string): Check {
  return (name, value) => {
    if (typeof value === 'string' && form.test(value)) return [];
    // The text is not printed: it may go on with a password that was meant for another field.
    const got = typeof value === 'string' ? `a text of ${value.length}` : typeof value;
    return [`Expected \`${name}\` to be ${expected}, got ${got}.`];
  };
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
  /** The login is bound to the TLS connection if the server offers that; for PostgreSQL. */
  readonly bindsChannel: boolean;
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
/** By parameter, as drivers and providers write it. To check an authority alone is to check more. */
const TLS: Readonly<Record<string, Readonly<Record<string, ServerUrl['tls']>>>> = {
  sslmode: {
    disable: 'off',
    'no-verify': 'unchecked',
    require: 'checked',
    'verify-ca': 'checked',
    'verify-full': 'checked',
  },
  'ssl-mode': {
    DISABLED: 'off',
    REQUIRED: 'checked',
    VERIFY_CA: 'checked',
    VERIFY_IDENTITY: 'checked',
  },
  sslaccept: { strict: 'checked', accept_invalid_certs: 'unchecked' },
  ssl: { false: 'off', true: 'checked', '{"rejectUnauthorized":true}': 'checked' },
};
/** For pools, and for how long and by what name one connects: neither leads to another database. */
const HINTS =
  'pgbouncer supa connection_limit pool_timeout pool max_idle_connection_lifetime ' +
  'statement_cache_size prepared_statements prepareThreshold connect_timeout connectTimeout ' +
  'socket_timeout keepalives application_name fallback_application_name sslnegotiation ' +
  'client_encoding encoding charset timezone';
const FROM_A_POOL = 'is not for a URL: pass a pool that has it';
/** What would lead elsewhere, or what only a driver can do; a refusal names it with its reason. */
const REFUSED: Readonly<Record<string, string>> = {
  schema: 'is not for a URL: write `table=schema.snowflake_registry`',
  options: 'changes the session: pass a pool that has it',
  target_session_attrs: 'chooses among several hosts, and only one is asked',
  host: 'belongs before the database; for a socket pass a pool',
  hostaddr: 'belongs before the database',
  port: 'belongs after the host',
  socket: FROM_A_POOL,
  sslcert: FROM_A_POOL,
  sslkey: FROM_A_POOL,
  sslidentity: FROM_A_POOL,
  sslpassword: FROM_A_POOL,
  'ssl-ca': 'is written `sslrootcert`',
  gssencmode: FROM_A_POOL,
};
/** Asked for by mistake, and no secret themselves: only these are named in a message. */
const STRANGERS = 'user password username db dbname database ttl timeout useSSL serverTimezone';

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
  const options = query.options<SqlRegistryOptions>(SQL, STRANGERS);
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
  for (const hint of HINTS.split(' ')) url.take(hint);
  for (const [name, reason] of Object.entries(REFUSED)) {
    if (url.take(name) !== undefined) url.fault(`its ${name} ${reason}`);
  }
  const tls = tlsIn(url);
  const options = url.options<SqlRegistryOptions>(SQL, STRANGERS, ['sslmode', 'sslrootcert']);
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

function tlsIn(url: UrlQuery): Pick<ServerUrl, 'tls' | 'ca' | 'bindsChannel'> {
  const asked = Object.entries(TLS).flatMap(([name, modes]) => {
    const mode = url.text(name);
    if (name !== 'sslmode') url.take(name);
    if (mode === undefined) return [];
    if (Object.hasOwn(modes, mode)) return [modes[mode]!];
    url.fault(`its ${name} is none of ${Object.keys(modes).join(', ')}`);
    return [];
  });
  if (new Set(asked).size > 1) url.fault('its parameters for TLS contradict each other');
  const [tls = 'off'] = asked;
  const binding = url.take('channel_binding') ?? 'disable';
  const bindsChannel = binding === 'require' || binding === 'prefer';
  if (!bindsChannel && binding !== 'disable') {
    url.fault('its channel_binding is none of disable, prefer, require');
  }
  if (binding === 'require' && tls === 'off') {
    url.fault('its channel_binding needs TLS: add `sslmode=require`');
  }
  const found = { tls, bindsChannel };
  const file = url.text('sslrootcert');
  // The word of libpq for the authorities that the host trusts.
  if (file === undefined || file === 'system') return found;
  if (tls === 'checked') return { ...found, ca: url.file('sslrootcert')! };
  url.fault('its sslrootcert is for an sslmode of require or verify-full');
  return found;
}
