/**
 * Columns of a row as the registry needs them.
 *
 * Drivers give a 64-bit number as a number, a text or a bigint. Promise: a column that is missing
 * or cannot be read is an error that names it; nothing is taken for 0 or for absent.
 */
import { SnowflakeError } from '../../../errors.js';
import { HEADER_ID, type RegistrySlice, type StoredRow } from '../../../registry/slice-store.js';
import { isPutBack, withoutSignature, type SignedRow } from '../signature.js';
import { oddAnswer, type SqlRow } from '../sql-query.js';

const WHOLE = /^-?(0|[1-9]\d{0,15})$/;

/** A whole number below 2^53. */
export function answered(row: SqlRow | undefined, column: string): number {
  const value = row?.[column];
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const number = isNumber || WHOLE.test(textOf(value)) ? Number(value) : NaN;
  if (Number.isSafeInteger(number)) return number;
  throw oddAnswer(`no whole number in its column ${column}`);
}

/** True and false, 1 and 0, 't' and 'f'. */
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

/** What one SELECT gave: in each row time and server, and a row of the table or nothing. */
export function sliceIn(rows: readonly SqlRow[]): RegistrySlice {
  const [first] = rows;
  const timeMs = answered(first, 'time_ms');
  const server = textIn(first, 'server');
  const found = rows.filter(isOfTable);
  const header = found.find((row) => answered(row, 'worker_id') === HEADER_ID);
  return {
    timeMs,
    server,
    ...(header && { isPutBack: isPutBack(signedRow(header), header['stamp']) }),
    rows: eachOnce(found.map(storedRow), ({ workerId }) => workerId),
  };
}

function signedRow(row: SqlRow): SignedRow {
  const [version, number] = [answered(row, 'version'), answered(row, 'ceiling')];
  return { version, number, text: textIn(row, 'data') };
}

/** Two of one name are in a table that has lost its primary key. */
export function eachOnce<T>(rows: readonly T[], nameOf: (row: T) => unknown): readonly T[] {
  if (new Set(rows.map(nameOf)).size === rows.length) return rows;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    'Two rows of the table have one name: it has lost its primary key, as while a dump is loaded ' +
      'into it. Nothing was granted. Delete the younger ones, and make the key again.',
  );
}

/** Where nothing is stored, all columns of the table are null in the one row that came. */
function isOfTable(row: SqlRow): boolean {
  return row['worker_id'] !== null;
}

function storedRow(row: SqlRow): StoredRow {
  const workerId = answered(row, 'worker_id');
  const token = row['token'];
  if (token !== null && typeof token !== 'string') throw oddAnswer('no text in its column token');
  return {
    workerId,
    version: answered(row, 'version'),
    ceilingMs: answered(row, 'ceiling'),
    ...(token !== null && { token }),
    text: withoutSignature(textIn(row, 'data')),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
