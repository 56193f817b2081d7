/**
 * The differences between databases: the statements for a table of rows, and their results.
 *
 * Guarantee: every statement is complete in itself, so that it needs no transaction around it; a
 * statement that writes carries all that it depends on, and reports whether it was carried out.
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

/** The SQL that a database speaks; MariaDB speaks `mysql`. */
export type DialectName = 'postgres' | 'mysql' | 'sqlite';

/** A row to be written, with all that must still be so. */
export interface SqlChange {
  readonly row: Row;
  /** Rows that are made in the same step, equal but for this. */
  readonly moreKeys?: readonly string[];
  /** The version that was read; undefined if the row was absent. */
  readonly version: number | undefined;
  /** The number that the row must have, or must be below. */
  readonly numberIs?: { readonly sign: '=' | '<'; readonly number: bigint };
  readonly nextVersion: number;
  /** The header, for a row that depends on one. */
  readonly headerVersion: number | undefined;
  readonly server: string;
  /** The first and the last time of the server at which it is written, by what is remembered. */
  readonly betweenMs?: readonly [number, number] | undefined;
  /** True if it may be answered before it is on disk. */
  readonly mayBeLost?: boolean | undefined;
  /** What is told of it in the same statement, and on which channel; the time follows the text. */
  readonly told?: { readonly channel: string; readonly text: string } | undefined;
}

export interface SqlTable {
  /** The name as it stands in statements; checked, so that it needs no quotes. */
  readonly table: string;
  readonly namespace: string;
  /**
   * Which rows of the table these are. A restart of the server counts as a loss for a registry, to
   * which it costs nothing, and for locks, since a server that was set back to an older copy has
   * been restarted; for counters only if it can lose something.
   */
  readonly kind: 'registry' | 'counters' | 'locks';
  /** How old the writes may be that the store loses, as it was told. */
  readonly lossWindowMs: number;
}

/** The answer to a write. */
export interface Written {
  readonly count: number;
  /** The transaction that wrote, where the server tells it. */
  readonly transaction?: string | undefined;
}

/** The statements for one table, once it is known what the server offers. */
export interface Statements {
  /** All rows, or those asked for, with time and server: at least one row. */
  read(query?: SharedQuery): Statement;
  /** Leased worker IDs from one on, in their order; at most `rowCount`. */
  page(from: number, rowCount: number): Statement;
  ceilings(min: number, max: number): Statement;
  write(change: SqlChange): Statement;
  /** Deletes some of the rows whose number is less. */
  sweep(below: bigint): Statement;
  /** What a write has written. @throws SnowflakeError where that does not count */
  written(answer: unknown): Written;
  /** Asks which of these transactions are committed; undefined where no server tells. */
  committed(transactions: readonly string[]): Statement | undefined;
  /** @throws SnowflakeError where what was read shows that nothing may be written */
  check(row: SqlRow): void;
  /** True if the server offers other features by now than when these statements were made. */
  isOutdated(row: SqlRow): boolean;
  /** @throws SnowflakeError where it was read from a server that takes no writes */
  checkPrimary(row: SqlRow): void;
}

export interface Dialect {
  readonly name: DialectName;
  /** True if its server answers whether a transaction is committed. */
  readonly tellsCommits: boolean;
  /** The product, for messages. */
  readonly title: string;
  /**
   * Asks the server what it offers.
   *
   * @param isAlone true if all statements go over one connection, which nobody else has
   */
  prepare(query: SqlQuery, location: SqlTable, isAlone: boolean): Promise<Statements>;
  /** The error codes that mean that another process changed the row meanwhile. */
  isConflict(codes: readonly string[]): boolean;
  /** One sentence for each danger to the table. */
  advice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]>;
  findings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]>;
}

/*
 * The result of one SELECT: time and server in each row, and a row of the table or nothing.
 *
 * Drivers give a 64-bit number as a number, a text or a bigint. Guarantee: a column that is missing
 * or cannot be read is an error that names it; nothing is taken for 0 or for absent.
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

/** Drivers give true and false, 1 and 0, or 't' and 'f'. */
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

/** @param query those of the rows that were asked for; absent for all */
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

/** Others may have asked for more by the same statement. */
function askedBy({ keys, token }: RowQuery, kind: SqlTable['kind']): (row: SqlRow) => boolean {
  const names = new Set(keys.map((key) => nameOf(key, kind)));
  return (row) => names.has(String(row['name'])) || (token !== undefined && row['token'] === token);
}

/** If nothing is stored, all columns of the table are null in the one row that came. */
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

/** Two of one name are in a table that has lost its primary key. */
function withoutKey(): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    'Two rows of the table have one name: it has lost its primary key, as while a dump is loaded ' +
      'into it. Nothing was granted. Delete the younger ones, and make the key again.',
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/*
 * The words of an advice that differ between a registry, counters and locks; the dialects name the
 * rest.
 */

type Words = Readonly<Record<SqlTable['kind'], string>>;

export const GRANTED: Words = { registry: 'leases', counters: 'positions', locks: 'locks' };

/** The consequence of a loss of data that is noticed. */
export const AFTER_LOSS: Words = {
  registry: 'ids stay unique, and run ahead for a while after it',
  counters: 'ids stay unique, and leave a gap',
  locks: 'those who hold a lock are told that it is lost, and no lock is granted for a while',
};

/*
 * Sessions in which a statement that was carried out is not yet written, or cannot be.
 *
 * Guarantee: what could still be rolled back is never taken for written.
 */

export function inTransaction(): SnowflakeError {
  return refused(
    'The query function of the SQL support runs inside a transaction that is open. What is ' +
      'leased there could be rolled back and leased twice. Give it the pool, not a client or a ' +
      'manager that is bound to a transaction.',
  );
}

/** Retryable: after a failover the name may lead to the primary again. */
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

/** Retryable: of a pool the next session may be another one. */
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
 * The warning for a server with replicas although the support was told that there are none, in the
 * same words for every database.
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
 * The signature of a row: facts that the database alone knows of the write that made it, kept in
 * the text of the row. A dump carries the text, and loading it writes the row anew.
 *
 * Guarantee: a row whose signature does not fit was put back. A row without one, of an older
 * version of this package, or written by such a version since, is taken as it is.
 */

/** A dialect tells one write from another by these texts in SQL. */
export interface Stamps {
  /** The signature of the statement that writes. */
  readonly written: string;
  /** The signature of a row that is there, by its name in the statement. */
  readonly found: (row: string) => string;
}

interface SignedRow {
  readonly version: number;
  /** The ceiling of a worker ID. */
  readonly number: bigint | number;
  readonly text: string;
}

/** Behind it comes what the database writes, and then the end. */
const BEGIN = ',"written":"';
export const END = '"}';
const SIGNATURE = /,"written":"(\d+)\/(\d+)\/(\w*)"\}$/;
/** Without a field it is what older versions know as a header before there is one. */
const SIGNABLE = /^\{".*\}$/s;

/** The text up to the stamp; undefined for one that is not signed. */
export function unsigned({ version, number, text }: SignedRow): string | undefined {
  return SIGNABLE.test(text) ? `${text.slice(0, -1)}${BEGIN}${version}/${number}/` : undefined;
}

/** The text as it was before it was signed. */
function withoutSignature(text: string): string {
  return text.replace(SIGNATURE, '}');
}

/** @param found the stamp of the row; empty where the database has none */
export function isPutBack({ version, number, text }: SignedRow, found: unknown): boolean {
  const [, ofVersion, ofNumber, written] = SIGNATURE.exec(text) ?? [];
  // Older versions write the row, and hand on what they do not know.
  if (ofVersion !== String(version) || ofNumber !== String(number)) return false;
  return typeof found === 'string' && found !== '' && written !== '' && found !== written;
}
