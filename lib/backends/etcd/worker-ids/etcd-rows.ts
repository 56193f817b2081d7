/**
 * The keys of a registry in etcd, and its rows as their values.
 *
 * Promise: what was written is read back as it was. Of a row that somebody else spoilt nothing is
 * believed but that its worker id may be in use for ever.
 */
import { LAST_MS } from '../../../registry/registry-clock.js';
import { HEADER_ID, type RegistryRow, type StoredRow } from '../../../registry/slice-store.js';
import { isRecord, wholeNumber } from '../connection/etcd-answer.js';

/** A key and its value, as etcd gives them. */
export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision of etcd at which it was written last. */
  readonly modRevision: number;
  /** How often it was written since it was created. */
  readonly version: number;
}

/** In which run of etcd the registry lies, and its header, if there is one. */
export interface HeaderValue {
  readonly server: string;
  readonly row?: StoredRow;
  /** Somebody deleted what it knew of the time. */
  readonly isWithoutClock?: boolean;
}

const WORKER_DIGITS = 10;
const CEILING_DIGITS = 16;

/** Keys as text; to etcd they go as base64. */
export class RegistryKeys {
  readonly prefix: string;
  readonly header: string;
  /** The ceiling of the header, which is written most often. */
  readonly clock: string;
  /** Of all rows of worker ids, first and first after the last. */
  readonly rows: { readonly from: string; readonly to: string };

  constructor(namespace: string) {
    this.prefix = `snowflake/${namespace}/`;
    this.header = `${this.prefix}header`;
    this.clock = `${this.prefix}clock`;
    this.rows = { from: `${this.prefix}w`, to: `${this.prefix}x` };
  }

  row(workerId: number): string {
    return `${this.prefix}w${String(workerId).padStart(WORKER_DIGITS, '0')}`;
  }

  /** Where the worker id of a token stands, so that an acquire that is repeated finds its lease. */
  token(token: string): string {
    return `${this.prefix}t${token}`;
  }

  workerIdOf(key: string): number {
    return Number(key.slice(this.rows.from.length));
  }
}

/** A header that is absent is a value without its second line. */
export function headerText(server: string, text = ''): string {
  return `${server}\n${text}`;
}

/**
 * @param clock absent where it was deleted
 * @param revision at which the slice was read, which is the version of its header: nothing in it
 * may have been written since
 */
export function headerIn(
  { value }: KeyValue,
  clock: KeyValue | undefined,
  revision: number,
): HeaderValue {
  const end = value.indexOf('\n');
  // Not ours: passed on, so that it is refused by those who can say why.
  const [server, text] = end < 0 ? ['', value] : [value.slice(0, end), value.slice(end + 1)];
  if (text === '' && end >= 0) return { server };
  const ceilingMs = ceilingIn(clock);
  const row = { workerId: HEADER_ID, ceilingMs: ceilingMs ?? 0, text, version: revision };
  return { server, row, isWithoutClock: ceilingMs === undefined };
}

function ceilingIn(clock: KeyValue | undefined): number | undefined {
  return clock !== undefined && CEILING.test(clock.value) ? Number(clock.value) : undefined;
}

/** Three lines: ceiling, token, all the rest. */
export function rowText({ ceilingMs, token, text }: RegistryRow): string {
  return [ceilingText(ceilingMs), token === undefined ? '' : JSON.stringify(token), text].join(
    '\n',
  );
}

/** All of one length, so that etcd can tell which is lower. */
export function ceilingText(ceilingMs: number): string {
  return String(ceilingMs).padStart(CEILING_DIGITS, '0');
}

/** Not one that waits for its first holder. */
export function isLeased({ value }: KeyValue): boolean {
  return !value.startsWith(ceilingText(0));
}

const CEILING = /^\d{16}$/;
const ROW = /^(\d{16})\n(".*")?\n(.*)$/s;

export function rowIn({ value, version }: KeyValue, workerId: number): StoredRow {
  const [isWhole, digits, quotedToken, text = ''] = ROW.exec(value) ?? [];
  if (isWhole === undefined) return { workerId, ceilingMs: LAST_MS, text: '{}', version };
  const token = quotedToken === undefined ? undefined : tokenIn(quotedToken);
  return { workerId, ceilingMs: Number(digits), ...(token && { token }), text, version };
}

function tokenIn(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // A holder that cannot be read is nobody.
    return undefined;
  }
}

export function keyValueIn(value: unknown): KeyValue {
  const { key, value: text = '', mod_revision, version } = isRecord(value) ? value : {};
  if (typeof key !== 'string' || typeof text !== 'string') throw new Error('left out the key');
  return {
    key: fromBase64(key),
    value: fromBase64(text),
    modRevision: wholeNumber(mod_revision, 'mod_revision'),
    version: wholeNumber(version, 'version'),
  };
}

export const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
