/**
 * The keys of the rows in etcd, and the rows as their values.
 *
 * Guarantee: a row is read back as written. If another program damaged a row, the only conclusion
 * is that its worker ID may be in use without end. A damaged counter is rejected.
 */
import { HEADER_KEY, type Row, type RowWrite, type StoredRow } from '../../rows/row-store.js';
import { LAST_MS } from '../../rows/store-clock.js';
import {
  answerHeader,
  listIn,
  recordOf,
  wholeNumber,
  type EtcdAnswer,
  type EtcdHeader,
} from './etcd-client.js';

/** A key and its value, in etcd's format. */
export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision of etcd of its last write. */
  readonly modRevision: number;
  /** The number of writes since it was created. */
  readonly version: number;
  /** The revision of etcd that created it. */
  readonly createRevision: number;
  /** The lease with which it ends; 0 if it has none. */
  readonly lease: string;
}

/** The run of etcd that contains the registry, and its header, if any. */
export interface HeaderValue {
  readonly server: string;
  readonly row?: StoredRow;
  /** True if the key of the clock was deleted. */
  readonly isWithoutClock?: boolean;
}

/** The kind of data in a store. */
export type EtcdRowKind = 'worker ids' | 'counters';

const WORKER_DIGITS = 10;
const CEILING_DIGITS = 16;

/** Keys as strings; requests send them in base64. */
export class RowKeys {
  readonly prefix: string;
  readonly header: string;
  /** The ceiling of the header, which is its most frequent write. */
  readonly clock: string;
  /** All rows have keys from the first of these up to the second. */
  readonly rows: { readonly from: string; readonly to: string };
  constructor(
    namespace: string,
    readonly kind: EtcdRowKind,
  ) {
    this.prefix = `snowflake/${namespace}/${this.isRegistry ? '' : 'counters/'}`;
    this.header = `${this.prefix}header`;
    this.clock = `${this.prefix}clock`;
    this.rows = { from: `${this.prefix}w`, to: `${this.prefix}x` };
  }

  /**
   * True if all rows depend on the header, as those of worker IDs do; a named row depends only on
   * itself.
   */
  get isRegistry(): boolean {
    return this.kind === 'worker ids';
  }

  /** @param key of a row: the digits of its worker ID, or a name */
  row(key: string): string {
    return `${this.rows.from}${this.isRegistry ? key.padStart(WORKER_DIGITS, '0') : key}`;
  }

  /** Maps a token to its worker ID, so that a repeated acquire finds its lease. */
  token(token: string): string {
    return `${this.prefix}t${token}`;
  }

  /** Returns the key of a row from its key in etcd. */
  keyOf(key: string): string {
    const name = key.slice(this.rows.from.length);
    return this.isRegistry ? String(Number(name)) : name;
  }

  /**
   * The number of writes of a worker ID. For a named row, etcd restarts this count after a
   * deletion, so the version of a named row is its revision, which is never reused.
   */
  versionOf({ version, modRevision }: KeyValue): number {
    return this.isRegistry ? version : modRevision;
  }
}

/** An absent header is a value without its second line. */
export function headerText(server: string, text = ''): string {
  return `${server}\n${text}`;
}

/**
 * @param clock absent if it was deleted
 * @param revision of the snapshot, which is the version of its header: no later write may have
 * changed anything in it
 */
export function headerIn(
  { value }: KeyValue,
  clock: KeyValue | undefined,
  revision: number,
): HeaderValue {
  const end = value.indexOf('\n');
  // The rules receive a foreign value, and reject it with a reason.
  const [server, text] = end < 0 ? ['', value] : [value.slice(0, end), value.slice(end + 1)];
  if (text === '' && end >= 0) return { server };
  const isKnown = clock !== undefined && CEILING.test(clock.value);
  const number = isKnown ? BigInt(clock.value) : undefined;
  const row = { key: HEADER_KEY, number: number ?? 0n, text, version: revision };
  return { server, row, isWithoutClock: number === undefined };
}

/** Three lines: ceiling, token, and the rest. */
export function encodeRow({ number, token, text }: Row): string {
  return [ceilingText(number), token === undefined ? '' : JSON.stringify(token), text].join('\n');
}

/** Times have a fixed length, so that etcd can compare them. A position may be longer. */
export function ceilingText(ceiling: bigint): string {
  return String(ceiling).padStart(CEILING_DIGITS, '0');
}

/** True unless the row waits for its first holder. */
export function isLeased({ value }: KeyValue): boolean {
  return !value.startsWith(ceilingText(0n));
}

const CEILING = /^\d{16,19}$/;
const ROW = /^(\d{16,19})\n(".*")?\n(.*)$/s;

export function parseRow(stored: KeyValue, keys: RowKeys): StoredRow {
  const key = keys.keyOf(stored.key);
  const version = keys.versionOf(stored);
  const [isWhole, digits, quotedToken, text = ''] = ROW.exec(stored.value) ?? [];
  if (isWhole === undefined) return { key, number: BigInt(LAST_MS), text: '{}', version };
  const token = quotedToken === undefined ? undefined : tokenIn(quotedToken);
  return { key, number: BigInt(digits!), ...(token && { token }), text, version };
}

function tokenIn(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // An unreadable holder counts as none.
    return undefined;
  }
}

export function keyValueIn(value: unknown): KeyValue {
  const { key, value: text = '', mod_revision, version, lease, ...more } = recordOf(value);
  if (typeof key !== 'string' || typeof text !== 'string') throw new Error('left out the key');
  return {
    key: fromBase64(key),
    value: fromBase64(text),
    modRevision: wholeNumber(mod_revision, 'mod_revision'),
    version: wholeNumber(version, 'version'),
    createRevision: Number(more['create_revision']),
    lease: typeof lease === 'string' ? lease : '0',
  };
}

export const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
export const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');

/*
 * The transactions of a registry in the gateway's format, and their results.
 *
 * Guarantee: a transaction is one atomic step at one revision. A response that does not match the
 * request is an error, never an empty registry.
 */

/**
 * True as long as a key was not written since a revision; without a revision, if the key is absent.
 */
export function isUnchanged(key: string, modRevision = 0): object {
  const mod_revision = String(modRevision);
  return { key: toBase64(key), target: 'MOD', result: 'EQUAL', mod_revision };
}

function isVersion(key: string, result: 'EQUAL' | 'GREATER', version: number): object {
  return { key: toBase64(key), target: 'VERSION', result, version: String(version) };
}

/** The comparison also accepts an absent key. */
function isNotAfter(key: string, revision: number): object {
  const mod_revision = String(revision + 1);
  return { key: toBase64(key), target: 'MOD', result: 'LESS', mod_revision };
}

/** True as long as a key has this value; without a value, if the key is absent. */
export function has(key: string, value: string | undefined): object {
  if (value === undefined) return isUnchanged(key);
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(value) };
}

function isBelow(key: string, ceiling: bigint): object {
  const value = toBase64(ceilingText(ceiling));
  return { key: toBase64(key), target: 'VALUE', result: 'LESS', value };
}

/** @param lease deletes the key at its end */
export function put(key: string, value: string, lease?: string): object {
  const written = { key: toBase64(key), value: toBase64(value), prev_kv: true };
  return { request_put: { ...written, ...(lease !== undefined && { lease }) } };
}

export function get(key: string, end?: string): object {
  const range_end = end === undefined ? {} : { range_end: toBase64(end) };
  return { request_range: { key: toBase64(key), ...range_end } };
}

/** Reads a key as it was at a revision. */
export function past(key: string, revision: bigint): object {
  return { request_range: { key: toBase64(key), revision: String(revision) } };
}

/** Reads the keys of a range in pages, at a given revision or at the newest. */
export function page(span: { from: string; to: string; limit: number; revision?: number }): object {
  const { from, to, limit, revision } = span;
  return {
    request_range: {
      key: toBase64(from),
      range_end: toBase64(to),
      limit: String(limit),
      ...(revision !== undefined && { revision: String(revision) }),
    },
  };
}

/** Consecutive worker IDs are one range, so a small span is one request. */
export function getRows(keys: RowKeys, rowKeys: readonly string[]): object[] {
  if (!keys.isRegistry) return rowKeys.map((key) => get(keys.row(key)));
  const spans: [number, number][] = [];
  for (const workerId of [...new Set(rowKeys.map(Number))].toSorted((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last !== undefined && last[1] + 1 === workerId) last[1] = workerId;
    else spans.push([workerId, workerId]);
  }
  return spans.map(([from, to]) => {
    const end = to > from ? keys.row(String(to + 1)) : undefined;
    return get(keys.row(String(from)), end);
  });
}

/** Writes all rows or none, and only if none of their dependencies has changed. */
export function writing(keys: RowKeys, write: RowWrite): object {
  const { rows } = write;
  return {
    compare: [...headerIsAsRead(keys, write), ...rowsAreAsRead(keys, write)],
    success: [
      ...headerPuts(keys, write),
      ...rows.map(({ row }) => put(keys.row(row.key), encodeRow(row))),
      ...rows.flatMap(({ row: { token, key } }) =>
        token === undefined ? [] : [namedOnce(keys.token(token), key)],
      ),
    ],
  };
}

function headerPuts(keys: RowKeys, { server, header, isTimeOnly }: RowWrite): object[] {
  if (header === undefined) return [];
  const clock = put(keys.clock, ceilingText(header.number));
  if (isTimeOnly !== true) return [put(keys.header, headerText(server, header.text)), clock];
  return [{ request_txn: { compare: [isBelow(keys.clock, header.number)], success: [clock] } }];
}

/** An absent header has only the run, whose name is never reused. */
function headerIsAsRead(keys: RowKeys, write: RowWrite): object[] {
  const { server, header, headerVersion, isTimeOnly } = write;
  if (headerVersion === undefined) return [has(keys.header, headerText(server))];
  const isSame = [isVersion(keys.header, 'GREATER', 0), isNotAfter(keys.header, headerVersion)];
  // A write of the whole header also depends on its time.
  const isWhole = header !== undefined && isTimeOnly !== true;
  return isWhole ? [...isSame, isNotAfter(keys.clock, headerVersion)] : isSame;
}

/** The version of the header is the revision at which the header and the rows were read. */
function rowsAreAsRead(keys: RowKeys, { headerVersion, rows }: RowWrite): object[] {
  if (!keys.isRegistry)
    return rows.map(({ row, version }) => isUnchanged(keys.row(row.key), version));
  // Each row has this number of writes, and none after the revision.
  return rows.flatMap(({ row, version = 0 }) => [
    isVersion(keys.row(row.key), 'EQUAL', version),
    isNotAfter(keys.row(row.key), headerVersion ?? Number.MAX_SAFE_INTEGER - 1),
  ]);
}

/** In a renewal, the key of the token already has this worker ID, so nothing more is written. */
function namedOnce(key: string, value: string): object {
  return { request_txn: { compare: [has(key, value)], failure: [put(key, value)] } };
}

/** The results of each read of a transaction, in order. */
export function foundBy({ fields }: EtcdAnswer, questions: readonly object[]): KeyValue[][] {
  const responses = listIn(fields, 'responses');
  if (responses.length !== questions.length) throw new Error('left out what was asked for');
  const read = responses.filter((_, at) => 'request_range' in questions[at]!);
  return read.map((response) => {
    const range = recordOf(response)['response_range'];
    if (range === undefined) throw new Error('left out what was asked for');
    return listIn(recordOf(range), 'kvs').map(keyValueIn);
  });
}

/** The result of a transaction that writes. */
export interface Written {
  readonly header: EtcdHeader;
  /** False if one of its dependencies had changed. */
  readonly isTaken: boolean;
  /** The values before the write. */
  readonly replaced: readonly KeyValue[];
}

export function writtenBy(answer: EtcdAnswer): Written {
  const { succeeded, responses } = answer.fields;
  const header = answerHeader(answer);
  if (succeeded === true && Array.isArray(responses) && responses.length > 0) {
    return { header, isTaken: true, replaced: responses.flatMap(replacedIn) };
  }
  const isRefused = (succeeded ?? false) === false && responses === undefined;
  if (isRefused) return { header, isTaken: false, replaced: [] };
  throw new Error('left out whether it wrote');
}

function replacedIn(response: unknown): KeyValue[] {
  const previous = recordOf(recordOf(response)['response_put'])['prev_kv'];
  return previous === undefined ? [] : [keyValueIn(previous)];
}
