/**
 * The differences between databases: the statements for a table of rows, and their results.
 *
 * Guarantee: every statement is complete in itself, so it requires no transaction. A statement that
 * writes contains all its conditions, and reports whether it was executed.
 */
import { SnowflakeError } from '../../../errors.js';
import type { Finding } from '../../../registry/snapshot.js';
import {
  HEADER_KEY,
  numberIn,
  type Row,
  type RowQuery,
  type RowSnapshot,
  type SharedQuery,
  type StoredRow,
} from '../../../rows/row-store.js';
import { oddAnswer, type SqlQuery, type SqlRow, type Statement } from '../sql-connection.js';

/** The SQL dialect of a database; MariaDB speaks `mysql`. */
export type DialectName = 'postgres' | 'mysql' | 'sqlite';

/** A row to write, with all conditions of the write. */
export interface SqlChange {
  readonly row: Row;
  /** Rows that the same step creates, equal except for their keys. */
  readonly moreKeys?: readonly string[];
  /** The version at the read; undefined if the row was absent. */
  readonly version: number | undefined;
  /** The number that the row must have, or must be below. */
  readonly numberIs?: { readonly sign: '=' | '<'; readonly number: bigint } | undefined;
  readonly nextVersion: number;
  /** The header, for a row that depends on one. */
  readonly headerVersion: number | undefined;
  readonly server: string;
  /** The earliest and latest server time for the write, if it is based on remembered rows. */
  readonly betweenMs?: readonly [number, number] | undefined;
  /** True if the server may respond before the write is on disk. */
  readonly mayBeLost?: boolean | undefined;
  /** The channel on which the same statement announces the row. */
  readonly channel?: string | undefined;
}

export interface SqlTable {
  /** The name as written in statements; checked, so it requires no quotes. */
  readonly table: string;
  readonly namespace: string;
  /**
   * The kind of rows in the table. For a registry, a restart of the server counts as a loss, which
   * costs nothing. It also counts for locks, because restoring an older copy of a server requires a
   * restart. For counters it counts only if the restart can lose something.
   */
  readonly kind: 'registry' | 'counters' | 'locks';
  /** The configured maximum age of writes that the store may lose. */
  readonly lossWindowMs: number;
}

/** The result of a write. */
export interface Written {
  readonly count: number;
  /** The transaction of the write, if the server reports it. */
  readonly transaction?: string | undefined;
}

/** The statements for one table, for the features of its server. */
export interface Statements {
  /** All rows, or the requested ones, with time and server: at least one row. */
  read(query?: SharedQuery): Statement;
  /** Leased worker IDs from a given one on, in order; at most `rowCount`. */
  page(from: number, rowCount: number): Statement;
  ceilings(min: number, max: number): Statement;
  write(change: SqlChange): Statement;
  /** Deletes some of the rows whose number is lower. */
  sweep(below: bigint): Statement;
  /** The result of a write. @throws SnowflakeError if the write does not count */
  written(answer: unknown): Written;
  /**
   * Requests which of these transactions are committed; undefined if the server cannot report it.
   */
  committed(transactions: readonly string[]): Statement | undefined;
  /** @throws SnowflakeError if the row shows that writing is not allowed */
  check(row: SqlRow): void;
  /** True if the features of the server have changed since these statements were created. */
  isOutdated(row: SqlRow): boolean;
  /** @throws SnowflakeError if the row comes from a read-only server */
  checkPrimary(row: SqlRow): void;
}

export interface Dialect {
  readonly name: DialectName;
  /** True if its server reports whether a transaction is committed. */
  readonly tellsCommits: boolean;
  /** The product, for messages. */
  readonly title: string;
  /**
   * Requests the features of the server.
   *
   * @param isAlone true if all statements use one exclusive connection
   */
  prepare(query: SqlQuery, location: SqlTable, isAlone: boolean): Promise<Statements>;
  /** The error codes of a concurrent change of the row by another process. */
  isConflict(codes: readonly string[]): boolean;
  /** One sentence for each danger to the table. */
  advice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]>;
  findings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]>;
}

/*
 * The result of one SELECT: time and server in each row, with a row of the table or nulls.
 *
 * Drivers return a 64-bit number as a number, a string or a bigint. Guarantee: a missing or
 * unreadable column is an error that names it, and never counts as 0 or absent.
 */

const WHOLE = /^-?(0|[1-9]\d{0,15})$/;

/** A whole number below 2^53. */
export function answered(row: SqlRow | undefined, column: string): number {
  const value = row?.[column];
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const number = isNumber || WHOLE.test(textOf(value)) ? Number(value) : NaN;
  if (Number.isSafeInteger(number)) return number;
  throw oddAnswer(`no whole number in its column ${column}`);
}

/** Drivers return true and false, 1 and 0, or 't' and 'f'. */
export function flagOf(row: SqlRow | undefined, column: string): boolean {
  const value = row?.[column];
  const text = typeof value === 'string' ? value : JSON.stringify(Number(value));
  if (/^(1|t|true|0|f|false)$/.test(text)) return /^[1t]/.test(text);
  throw oddAnswer(`neither true nor false in its column ${column}`);
}

export function textIn(row: SqlRow | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value === 'string' && value !== '') return value;
  throw oddAnswer(`no text in its column ${column}`);
}

const WORKER_ID_DIGITS = 10;
const PADDING = /^0+(?=\d)/;

/** The name of a row in the table. Worker IDs are padded, so that they sort as numbers. */
export function nameOf(key: string, kind: SqlTable['kind']): string {
  const isPadded = kind === 'registry' && key !== HEADER_KEY;
  return isPadded ? key.padStart(WORKER_ID_DIGITS, '0') : key;
}

/** @param query the requested rows; absent for all */
export function snapshotIn(
  rows: readonly SqlRow[],
  kind: SqlTable['kind'],
  query?: RowQuery,
): RowSnapshot {
  const [first] = rows;
  const isAsked = query === undefined ? isStored : askedBy(query, kind);
  const stored = rows.filter((row) => isStored(row) && isAsked(row));
  const signed = stored.map((row) => storedRow(row, kind));
  if (new Set(signed.map(({ key }) => key)).size < signed.length) throw withoutKey();
  return {
    timeMs: answered(first, 'time_ms'),
    server: textIn(first, 'server'),
    isPutBack: signed.some((row, at) => isPutBack(row, stored[at]!['stamp'])),
    rows: signed.map((row) => ({ ...row, text: withoutSignature(row.text) })),
  };
}

/** The same statement may include rows that other callers requested. */
function askedBy({ keys, token }: RowQuery, kind: SqlTable['kind']): (row: SqlRow) => boolean {
  const names = new Set(keys.map((key) => nameOf(key, kind)));
  return (row) => names.has(String(row['name'])) || (token !== undefined && row['token'] === token);
}

/** If nothing is stored, the result has one row, whose table columns are all null. */
function isStored(row: SqlRow): boolean {
  return row['name'] !== null;
}

function storedRow(row: SqlRow, kind: SqlTable['kind']): StoredRow {
  const { token } = row;
  if (token !== null && typeof token !== 'string') throw oddAnswer('no text in its column token');
  const [version, text] = [answered(row, 'version'), textIn(row, 'data')];
  return { ...keyAndNumberOf(row, kind), version, ...(token !== null && { token }), text };
}

export function keyAndNumberOf(row: SqlRow, kind: SqlTable['kind']): Pick<Row, 'key' | 'number'> {
  const number = numberIn(textIn(row, 'number'));
  if (number === undefined) throw oddAnswer('no whole number in its column number');
  const name = textIn(row, 'name');
  return { key: kind === 'registry' ? name.replace(PADDING, '') : name, number };
}

/** Two rows of one name mean that the table has lost its primary key. */
function withoutKey(): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    'Two rows of the table have the same name, so it has lost its primary key. That is also so ' +
      'while a dump is being loaded. Nothing was granted. ' +
      'Delete the newer rows, and add the key again.',
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/*
 * The words of an advice that differ between a registry, counters and locks. The dialects add the
 * rest.
 */

type Words = Readonly<Record<SqlTable['kind'], string>>;

export const GRANTED: Words = { registry: 'leases', counters: 'positions', locks: 'locks' };

/** The consequence of a detected loss of data. */
export const AFTER_LOSS: Words = {
  registry: 'ids stay unique, and run ahead for a while after it',
  counters: 'ids stay unique, and leave a gap',
  locks: 'those who hold a lock are told that it is lost, and no lock is granted for a while',
};

/*
 * Errors for sessions in which an executed statement is not yet durable, or cannot be.
 *
 * Guarantee: a write that could still be rolled back never counts as written.
 */

export function inTransaction(): SnowflakeError {
  return refused(
    'The query function of the SQL support runs inside a transaction that is open. What is ' +
      'leased there could be rolled back and leased twice. Give it the pool, not a client or a ' +
      'manager that is bound to a transaction.',
  );
}

/** Retryable: after a failover, the name may lead to the primary again. */
export function fromReplica(): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    'What was read comes from a server that takes no writes: a replica, or one that is read ' +
      'only. Name the primary, so that it is found after a failover too; a proxy that sends ' +
      'reads to replicas has to send those of the registry to the primary.',
    { details: { refusal: 'replica' } },
  );
}

export function withoutAutocommit(): SnowflakeError {
  return refused(
    'autocommit is off in the sessions that the SQL support gets, so that nothing it writes ' +
      'would ever be committed. Leave autocommit on, or give it a pool of its own.',
  );
}

export function withoutEscapes(): SnowflakeError {
  return refused(
    'The sql_mode NO_BACKSLASH_ESCAPES is on, with which drivers of MySQL escape strings ' +
      'incorrectly. Switch it off for the sessions that the SQL support gets.',
  );
}

/** Retryable: a pool may provide another session next time. */
export function anotherTime(bentMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The session that the SQL support got tells a time that is ${Math.abs(bentMs)} ms ` +
      `${bentMs < 0 ? 'behind' : 'ahead of'} the clock of its server, as after SET timestamp, so ` +
      'nothing was granted by it. Leave the time of these sessions alone, or give it a pool of ' +
      'its own.',
    { details: { bentMs } },
  );
}

export function notFlushed(): SnowflakeError {
  return refused(
    'innodb_flush_log_at_trx_commit is not 1, or sync_binlog is not 1 although there is a binary ' +
      'log. So a crash loses positions that were granted, and the counters are told that nothing ' +
      'is ever lost. Set both to 1, or leave out replicated=false.',
  );
}

export function notSynchronous(): SnowflakeError {
  return refused(
    'PRAGMA synchronous is below FULL, so a power failure loses positions that were granted. ' +
      'Set it to FULL on this handle, or set failoverWindowMs to the age of the oldest write ' +
      'that can be lost.',
  );
}

function refused(message: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}

/**
 * The warning for a server with replicas if the support was configured without any. It is the same
 * for every database.
 */
export function followed(replicaCount: number): string {
  const who = replicaCount === 1 ? 'A replica follows' : `${replicaCount} replicas follow`;
  return (
    `${who} this server, but the support is told that there are none. ` +
    `If another server takes its place, ids could be made twice while the old server still ` +
    `answers: leave out replicated=false in every process.`
  );
}

/*
 * The signature of a row: facts about its write that only the database has, kept in the text of the
 * row. A dump includes the text, but loading it writes the row again.
 *
 * Guarantee: a row whose signature does not match was restored. A row without a signature is
 * accepted. It comes from an older version of this package, or such a version wrote it later.
 */

/** The SQL with which a dialect distinguishes one write from another. */
export interface Stamps {
  /** The signature of the statement that writes. */
  readonly written: string;
  /** The signature of a stored row, by its alias in the statement. */
  readonly found: (row: string) => string;
}

interface SignedRow {
  readonly version: number;
  /** The ceiling of a worker ID. */
  readonly number: bigint | number;
  readonly text: string;
}

/** The text from the database follows this, and then the end. */
const BEGIN = ',"written":"';
export const END = '"}';
const SIGNATURE = /,"written":"(\d+)\/(\d+)\/(\w*)"\}$/;
/** To older versions, a text without a field means that there is no header yet. */
const SIGNABLE = /^\{".*\}$/s;

/** The text up to the stamp; undefined if it has no signature. */
export function unsigned({ version, number, text }: SignedRow): string | undefined {
  return SIGNABLE.test(text) ? `${text.slice(0, -1)}${BEGIN}${version}/${number}/` : undefined;
}

/** The text as it was before its signature. */
function withoutSignature(text: string): string {
  return text.replace(SIGNATURE, '}');
}

/** @param found the stamp of the row; empty if the database has none */
export function isPutBack({ version, number, text }: SignedRow, found: unknown): boolean {
  const [, ofVersion, ofNumber, written] = SIGNATURE.exec(text) ?? [];
  // Older versions write the row, and copy unknown fields.
  if (ofVersion !== String(version) || ofNumber !== String(number)) return false;
  return typeof found === 'string' && found !== '' && written !== '' && found !== written;
}
