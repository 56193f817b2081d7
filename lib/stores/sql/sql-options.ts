/**
 * The options of every SQL support, checked all at once, and the URL that may contain them.
 *
 * Guarantee: a missing option never costs uniqueness. A server cannot report whether another one
 * may replace it, because it does not see an isolated replica. The library therefore assumes a
 * second server, unless the application states that there is none.
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
  /**
   * One ID space: processes with the same namespace never generate the same ID. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** The table, with its schema if required. Default 'snowflake_registry'. */
  readonly table?: string | undefined;
  /**
   * False if no other server can ever replace this one: no standby, no failover of a provider. Sets
   * the next two to 0. Default true, and for SQLite false.
   */
  readonly replicated?: boolean | undefined;
  /** How long an old primary may continue to respond after a failover. Default 15,000. */
  readonly failoverWindowMs?: number | undefined;
  /** The maximum difference between the clocks of two servers. Default 1,000. */
  readonly clockDifferenceMs?: number | undefined;
  /**
   * For clusters of several servers that all accept writes (Galera, CockroachDB, YugabyteDB, TiDB):
   * an SQL expression with the same string value on each server. The value must change once the
   * cluster may have lost data. The expression is inserted into the statements unchanged.
   */
  readonly serverSql?: string | undefined;
}

export const TABLE = 'snowflake_registry';
const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;
const NAMESPACE = { of: 'characters without braces or spaces', without: /[{}\s\p{C}]/u };
const TABLE_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** The application's database object is checked where it is used. */
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

/** @throws SnowflakeError CONFIG_INVALID with every error */
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
    // Their clocks differ, and every change between them would increase a slew.
    ...(serverSql !== undefined && { serverSql, clock: highest }),
  };
}

/** @throws SnowflakeError CONFIG_INVALID unless there are no errors */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw misconfigured(faults);
}

export function misconfigured(faults: readonly string[]): SnowflakeError {
  return refused(faults, 'The SQL support is misconfigured. ');
}

function textual(form: RegExp, expected: string): Check {
  return (name, value) => {
    if (typeof value === 'string' && form.test(value)) return [];
    // The string is not printed: it may contain a password meant for another field.
    const got = typeof value === 'string' ? `a text of ${value.length}` : typeof value;
    return [`Expected \`${name}\` to be ${expected}, got ${got}.`];
  };
}

/*
 * The database of a URL.
 *
 *     postgres://user:password@host:5432/shop?namespace=shop&sslmode=verify-full
 *     postgres://host/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem
 *     mysql://user:password@host:3306/shop        mariadb:// is the same
 *     sqlite:./var/shop.db?namespace=shop
 *
 * Guarantee: an invalid URL is rejected with its error, and no part of it is repeated.
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
  /** The trusted authorities instead of Node's, as PEM. */
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
/**
 * By parameter, as drivers and providers write it. If only the authority is to be checked, the host
 * is checked too.
 */
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
/** For pools, timeouts and application names: none of them leads to another database. */
const HINTS =
  'pgbouncer supa connection_limit connectionLimit waitForConnections queueLimit pool_timeout pool ' +
  'max_idle_connection_lifetime statement_cache_size prepared_statements prepareThreshold ' +
  'connect_timeout connectTimeout socket_timeout keepalives keepalives_idle keepalives_interval ' +
  'keepalives_count enableKeepAlive tcp_user_timeout application_name fallback_application_name ' +
  'sslnegotiation sslsni sslcompression uselibpqcompat client_encoding encoding charset collation ' +
  'timezone supportBigNumbers bigNumberStrings dateStrings';
/** By reason: parameters that would lead elsewhere, or that only a driver supports. */
const REFUSED: Readonly<Record<string, string>> = {
  'is not for a URL: write `table=schema.snowflake_registry`': 'schema',
  'changes the session: pass a pool that has it':
    'options statement_timeout lock_timeout idle_in_transaction_session_timeout sql_mode flags',
  'chooses among several hosts, and only one is asked': 'target_session_attrs load_balance_hosts',
  'belongs before the database; for a socket pass a pool': 'host',
  'belongs before the database': 'hostaddr',
  'belongs after the host': 'port',
  'is written `sslrootcert`': 'ssl-ca sslca',
  'is written `sslmode=require`': 'requiressl',
  'is not for a URL: pass a pool that has it':
    'socket socketPath sslcert sslkey ssl-cert ssl-key sslcertmode sslidentity sslpassword sslcrl ' +
    'sslcrldir sslkeylogfile ssl_min_protocol_version ssl_max_protocol_version ' +
    'min_protocol_version max_protocol_version gssencmode gssdelegation gsslib krbsrvname ' +
    'requirepeer require_auth passfile service servicefile scram_client_key scram_server_key ' +
    'oauth_issuer oauth_client_id oauth_client_secret oauth_scope replication query_timeout ' +
    'multipleStatements allowPublicKeyRetrieval compress',
};
/** Likely mistakes that are not secret; a message names only these. */
const STRANGERS = 'user password username db dbname database ttl timeout tls useSSL serverTimezone';

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
  for (const [reason, names] of Object.entries(REFUSED)) {
    for (const name of names.split(' ')) {
      if (url.take(name) !== undefined) url.fault(`its ${name} ${reason}`);
    }
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
  // libpq's keyword for the authorities that the host trusts.
  if (file === undefined || file === 'system') return found;
  if (tls === 'checked') return { ...found, ca: url.file('sslrootcert')! };
  url.fault('its sslrootcert is for an sslmode of require or verify-full');
  return found;
}
