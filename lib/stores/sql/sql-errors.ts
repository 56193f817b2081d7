/**
 * Turns any failure of a query into an error of this library.
 *
 * Guarantee: neither the message nor the cause holds a password, a statement or its values. The
 * errors of drivers hold all of these, including correct passwords.
 */
import { isSnowflakeError, type SnowflakeError } from '../../errors.js';
import { later, never, refusalError, refusalIn } from '../refusals.js';
import type { Dialect, SqlTable } from './dialects/dialect.js';
import type { SqlLocation } from './sql-connection.js';

interface ErrorPlace {
  readonly dialect: Pick<Dialect, 'name' | 'title'>;
  readonly where: SqlLocation;
  readonly table: string;
  readonly kind: Kind;
}

type Kind = SqlTable['kind'] | 'rows';

const COMMAND = 'snowflake registry create --support <the URL of the support>';
const CREATE = `${COMMAND}, or run the text of registryTable() as a migration`;

const RIGHTS: Readonly<Record<Kind, string>> = {
  registry: 'SELECT, INSERT and UPDATE',
  counters: 'SELECT, INSERT and UPDATE',
  locks: 'SELECT, INSERT, UPDATE and DELETE',
  rows: 'what its owner may (MariaDB: SELECT, INSERT, CREATE, ALTER and DROP)',
};

/** The fields of errors of drivers and their wrappers, apart from the message. */
interface DriverError {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly errno?: unknown;
  /** node:sqlite gives this. */
  readonly errcode?: unknown;
  readonly sqlState?: unknown;
  readonly cause?: unknown;
  /** TypeORM and Sequelize wrap errors in this. */
  readonly driverError?: unknown;
  readonly original?: unknown;
  /** Prisma wraps errors in this. */
  readonly meta?: unknown;
  /** Node sets these if a name has several addresses. */
  readonly errors?: readonly unknown[];
}

const CODES = ['code', 'errno', 'errcode', 'sqlState'] as const;
const DEPTH_MAX = 5;

/** The error and its wrapped errors, from the outside in. */
function layersOf(error: unknown, depth = 0): DriverError[] {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return [];
  const layer: DriverError = error;
  const { cause, driverError, original, meta, errors } = layer;
  const inner = [cause, driverError, original, meta, ...(Array.isArray(errors) ? errors : [])];
  return [layer, ...inner.flatMap((one) => layersOf(one, depth + 1))];
}

/** Codes of the server and the driver, as strings. */
export function codesOf(error: unknown): string[] {
  const codes = layersOf(error).flatMap((layer) => CODES.map((name) => layer[name]));
  return codes.filter((code) => typeof code === 'string' || typeof code === 'number').map(String);
}

/** True if the text is in the error, or in a wrapped one. */
export function isSaid(error: unknown, words: RegExp): boolean {
  return layersOf(error).some(({ message }) => typeof message === 'string' && words.test(message));
}

export function sqlError(cause: unknown, location: ErrorPlace): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const { dialect, where, table, kind } = location;
  const said = saidBy(cause);
  const [name, refusal] = refusalIn(REFUSALS[dialect.name], [said, ...codesOf(cause)]) ?? [
    'unexpected',
    UNEXPECTED,
  ];
  const advice = refusal.advice.replaceAll('{table}', table).replaceAll('{rights}', RIGHTS[kind]);
  const place = { name: where.text, where: where.text, secrets: where.secrets };
  return refusalError({ place, said, cause }, [name, { ...refusal, advice }]);
}

function saidBy(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const layers = layersOf(error);
  const messages = layers.map(({ message }) => message);
  const said = messages.find((message) => typeof message === 'string' && message !== '');
  const line = typeof said === 'string' ? said.trim().split('\n')[0]! : '';
  return line || codesOf(error)[0] || 'an error without a message';
}

const UNEXPECTED = later(/^/, 'The database gave an unexpected answer. See its log.');

/* Errors of databases and their drivers: by code, or by message if there is no code. */

const TABLE = `The table {table} does not exist. Create it: ${CREATE}.`;
const COLUMNS =
  'The table {table} does not have the expected columns. Does it belong to something else, or to ' +
  'an older version of this package? Choose another name with the option `table` in every process.';
const KEY =
  'The table {table} has no primary key, as while a dump is loaded. Nothing new is written to it ' +
  'until it has one.';
const TABLE_RIGHTS = 'The user needs {rights} on the table {table}, and nothing else.';
const LOGIN = 'The database refused the login. Check user and password of the support.';
const DATABASE = 'There is no such database. Check its name in the support.';
const PRIMARY =
  'This server takes no writes: it is a replica, or read only. Name the primary, so that it is ' +
  'found after a failover too.';
const CONNECTIONS =
  'The database takes no more connections. Raise its limit or make the pools smaller.';
const DISK = 'The disk of the database is full. Free some space.';
const FILE_LOST =
  'The disk may be full or broken, or somebody deleted the -wal of the file while processes have ' +
  'it open: then stop them all, and start them again.';
const AWAY = 'Check that the database runs and can be reached from this host.';
const OTHER =
  'What listens there does not speak the protocol of this database. Check the scheme of the URL, ' +
  'and the port.';
const SLOW = 'The database was too slow. See what keeps it busy.';
const CLOSED =
  'The application has closed the DataSource or the pool that it gave, or has not opened it yet. ' +
  'Close it after the application, or give a URL, whose connection is closed last.';
const closed = later(
  /DataSource is not (set|initialized)|Driver not Connected|Connection (with \w+ database )?is not established|after calling end on the pool|pool is closed|connection is not open/i,
  CLOSED,
);
const TLS =
  'The TLS handshake failed. Check that the server speaks TLS and that its certificate is valid ' +
  'for this host. A private CA is named by sslrootcert=/path/of/ca.pem in the URL, or in a pool.';

const SOCKET_CODES =
  'ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT';
const away = (codes: string, says: string) =>
  new RegExp(`^(${SOCKET_CODES}|${codes})$|connection terminated|${says}`, 'i');
const TLS_SAYS =
  /certificate|\bCERT_|SSL routines|wrong version number|does not support (SSL|secure)/i;

const POSTGRES = {
  closed,
  'no-table': never(/^(42P01|3F000)$/, TABLE),
  'other-table': never(/^(42703|42804|42846|22P02|22001)$/, COLUMNS),
  'no-key': later(/^42P10$/, KEY),
  permission: never(/^42501$/, TABLE_RIGHTS),
  login: never(/^(28P01|28000)$|SASL|client password must be a string/, LOGIN),
  database: never(/^3D000$/, DATABASE),
  replica: later(/^25006$/, PRIMARY),
  'too-many-clients': later(/^53300$|timeout exceeded when trying to connect/, CONNECTIONS),
  disk: later(/^53100$/, DISK),
  slow: later(/^57014$|query read timeout/i, SLOW),
  tls: never(TLS_SAYS, TLS),
  'other-server': later(/unexpected \w+ message from backend/i, OTHER),
  unreachable: later(
    away('57P01|57P02|57P03|08000|08003|08006|08P01', 'not queryable|client was closed'),
    AWAY,
  ),
};

const MYSQL = {
  closed,
  'no-table': never(/^(1146|ER_NO_SUCH_TABLE)$/, TABLE),
  'other-table': never(/^(1054|ER_BAD_FIELD_ERROR|1364|1366|1406)$/, COLUMNS),
  permission: never(/^(1142|1143|1044|1370)$/, TABLE_RIGHTS),
  login: never(/^(1045|1698|ER_ACCESS_DENIED_ERROR)$/, LOGIN),
  database: never(/^(1049|ER_BAD_DB_ERROR)$/, DATABASE),
  replica: later(/^(1290|1792|1836|3100)$/, PRIMARY),
  'too-many-clients': later(/^(1040|1203|1226)$/, CONNECTIONS),
  disk: later(/^(1021|1114)$/, DISK),
  slow: later(/^(1317|1969|3024|PROTOCOL_SEQUENCE_TIMEOUT)$/, SLOW),
  tls: never(new RegExp(`^HANDSHAKE_(SSL_ERROR|NO_SSL_SUPPORT)$|${TLS_SAYS.source}`, 'i'), TLS),
  unreachable: later(
    away('PROTOCOL_CONNECTION_LOST|1053|1152|1927|4031', 'is in closed state'),
    AWAY,
  ),
};

const SQLITE = {
  closed,
  'no-file': never(/^there is no file /, `If its path is right, create it: ${COMMAND}.`),
  'no-table': never(/no such table/i, TABLE),
  'no-key': later(/ON CONFLICT clause does not match/i, KEY),
  'other-table': never(/no such column|has no column/i, COLUMNS),
  busy: later(
    /^SQLITE_(BUSY|LOCKED)|is locked|stays open/i,
    'A program that uses the file has a transaction open, perhaps this one. End it, and keep ' +
      'transactions short.',
  ),
  'read-only': never(
    /^(SQLITE_READONLY|EACCES|EPERM|EROFS)$|readonly/i,
    'The file or its folder is not writable for this user, or is opened read-only.',
  ),
  file: never(
    /^SQLITE_(CANTOPEN|NOTADB)$|unable to open|not a data|directory does not/i,
    'The file cannot be used as a database. Check its path, its rights and its content.',
  ),
  damaged: never(
    /^SQLITE_CORRUPT|malformed/i,
    'The file is damaged, so nothing is granted from it. Stop all processes and put a backup in ' +
      'its place, without its -wal and -shm.',
  ),
  disk: later(
    /^(SQLITE_FULL|ENOSPC|EDQUOT)$|disk is full/i,
    'The disk of the file is full, or the file as large as it may be. Free some space.',
  ),
  'disk-io': later(/^SQLITE_IOERR|disk I\/O/i, FILE_LOST),
  unexpected: later(/^/, 'SQLite gave an unexpected answer. Look it up in its result codes.'),
};

const REFUSALS = { postgres: POSTGRES, mysql: MYSQL, sqlite: SQLITE };
