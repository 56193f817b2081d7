/**
 * Rows with compare-and-swap in one Redis hash. One script reads them, one writes them, and two
 * list them.
 *
 * Guarantee: each script is one atomic step with the clock of Redis, and fails if it cannot
 * identify its server. A hash of another protocol version is not changed.
 */
import { randomInt } from 'node:crypto';
import type { SnowflakeError } from '../../errors.js';
import { VERSION } from '../../registry/prologue.js';
import {
  HEADER_KEY,
  type Row,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../../rows/row-store.js';
import { LAST_MS } from '../../rows/store-clock.js';
import type { RedisConnection, Script } from './redis-connection.js';
import { adviceOf, keepsWritesArgument, locationOf, type Statement } from './redis-options.js';
import { SCRIPTS } from './scripts.generated.js';

/** The hash, and the application's statement about its Redis. */
export interface RedisRowsParts {
  readonly connection: RedisConnection;
  readonly key: string;
  readonly namespace?: string | undefined;
  readonly lossWindowMs: number;
  readonly statement: Statement;
  readonly keepsAfterMs?: number | undefined;
  /** The advice for a policy that allows Redis to evict the hash. */
  readonly evicted: (policy: string) => string;
  /** The advice for unreadable settings. */
  readonly unread: (error: SnowflakeError) => string;
}

export class RedisRows implements RowStore {
  readonly namespace?: string | undefined;
  readonly lossWindowMs: number;
  readonly keepsAfterMs: number | undefined;
  readonly comparesRows = true;
  /** One script writes a row and the time of the header. */
  readonly headerAgeMs = 0;
  readonly #parts: RedisRowsParts;

  constructor(parts: RedisRowsParts) {
    this.#parts = parts;
    this.namespace = parts.namespace;
    this.lossWindowMs = parts.lossWindowMs;
    this.keepsAfterMs = parts.keepsAfterMs;
  }

  get location(): string {
    const { connection, key, statement } = this.#parts;
    const { where, library } = connection;
    const by = library === undefined ? where : `${where}, by ${library}`;
    return locationOf(by, key, statement);
  }

  async read({ keys, token = '' }: RowQuery): Promise<RowSnapshot> {
    // It opens again, so that a new application can use it after an earlier one has closed it.
    this.#parts.connection.reopen();
    const reply = await this.#run(SCRIPTS.readRows, [token, String(keys.length), ...keys]);
    if (reply[0] === 'other-version') return ofOther(reply[1]!, Number(reply[2]));
    const [timeMs, server = '', left, ...found] = reply;
    const [isLeft, isPutBack] = [left === 'left', left === 'lost'];
    return { timeMs: Number(timeMs), server, isLeft, isPutBack, rows: rowsIn(found) };
  }

  async readAll(countMax = Infinity): Promise<RowSnapshot> {
    const rows = new Map<string, StoredRow>();
    let cursor = '0';
    let timeMs = 0;
    let header: readonly StoredRow[];
    do {
      const reply = await this.#run(SCRIPTS.pageOfRows, [cursor]);
      const [time, version = '', next = '0', line = '', ...found] = reply;
      [timeMs, cursor] = [Number(time), next];
      if (version !== '' && version !== VERSION) return ofOther(version, timeMs);
      header = line === '' ? [] : rowsIn([HEADER_KEY, line]);
      for (const row of rowsIn(found)) {
        if (rows.size < countMax) rows.set(row.key, row);
      }
    } while (cursor !== '0' && rows.size < countMax);
    return { timeMs, server: '', rows: [...header, ...rows.values()] };
  }

  async ceilings(min: number, max: number): Promise<Pick<Row, 'key' | 'number'>[]> {
    const lines = await this.#run(SCRIPTS.ceilings, [String(min), String(max)]);
    return lines.flatMap((line, at) => (line === '' ? [] : rowsIn([String(min + at), line])));
  }

  async write(write: RowWrite): Promise<boolean> {
    const { server, headerVersion, headerNumber, header, isTimeOnly = false, rows } = write;
    const mode = header === undefined ? 'none' : isTimeOnly ? 'time' : 'whole';
    const next = isTimeOnly ? header!.number : header && lineOf(header, headerVersion ?? random());
    const restsOn = headerVersion ?? header?.key;
    const changes = rows.flatMap(({ row, version }) => {
      const before = version ?? (restsOn === undefined ? random() : 0);
      return [row.key, version ?? '', lineOf(row, before)];
    });
    const head = [server, headerVersion ?? '', headerNumber, mode, next ?? '', rows.length];
    const reply = await this.#run(SCRIPTS.writeRows, [...head, ...changes].map(String));
    return reply[0] === '1';
  }

  async advice(): Promise<string[]> {
    const { connection, unread } = this.#parts;
    try {
      return await adviceOf(connection, this.#parts);
    } catch (error) {
      return [unread(error as SnowflakeError)];
    }
  }

  close(): Promise<void> {
    return this.#parts.connection.close();
  }

  async #run(script: Script, args: readonly string[]): Promise<string[]> {
    const { connection, key, statement } = this.#parts;
    const reply = await connection.run(script, key, [...args, ...keepsWritesArgument(statement)]);
    return reply.map(String);
  }
}

/** Rows of another version are not read, but the version is. */
function ofOther(version: string, timeMs: number): RowSnapshot {
  const text = JSON.stringify({ version, lastTimeMs: timeMs, slewMs: 0 });
  return { timeMs, server: '', rows: [{ key: HEADER_KEY, number: 0n, text, version: 0 }] };
}

/**
 * A row that is created again must never reuse a version. Rows of worker IDs depend on a header,
 * and other rows begin with a random version.
 */
const random = (): number => randomInt(1, 2 ** 40);

function lineOf({ number, token = '', text }: Row, before: number): string {
  return `${before + 1}|${number}|${token}\n${text}`;
}

const LINE = /^(\d+)\|(\d+)\|([^\n]*)\n(.*)$/s;

/** A damaged line without a readable holder ends with time. */
function rowsIn(found: readonly string[]): StoredRow[] {
  const rows: StoredRow[] = [];
  for (let at = 0; at < found.length; at += 2) {
    const [, version, number = String(LAST_MS), token = '', text = ''] =
      LINE.exec(found[at + 1]!) ?? [];
    const row = { key: found[at]!, version: Number(version ?? 0), number: BigInt(number), text };
    rows.push(token === '' ? row : { ...row, token });
  }
  return rows;
}
