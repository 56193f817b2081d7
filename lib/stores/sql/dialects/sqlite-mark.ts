/**
 * The mark of a table in SQLite: an empty file next to the database. Its name contains the number
 * of writes so far, which a row of the table contains as well. Each write renames it.
 *
 * Guarantee: restored rows have another number than the mark, and no copy of the mark has its inode
 * and creation time. A process that detects a mismatch creates a new mark, so that the table counts
 * as one that has lost data.
 */
import { randomInt } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  type BigIntStats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SnowflakeError } from '../../../errors.js';
import { rowsOf, type SqlParameter } from '../sql-connection.js';
import { textIn } from './dialect.js';

export type Ask = (sql: string, params?: readonly SqlParameter[]) => unknown;

export interface Place {
  readonly path: string;
  /** The identity without the mark. @throws SnowflakeError STORE_UNAVAILABLE */
  identity(): string;
}

export function refused(message: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}

const [NAMESPACE, KIND, NAME] = ["''", "'file'", "'writes'"];
const IS_COUNT = `namespace = ${NAMESPACE} AND kind = ${KIND} AND name = ${NAME}`;
/** A restored table must never reach the count of the newer one. */
const JUMP_MAX = 2 ** 40;
/** `t`: the file system keeps creation times; `n`: it does not. */
type Flag = 't' | 'n';

export class Mark {
  readonly #prefix: string;
  #flag: Flag = 't';

  constructor(
    private readonly place: Place,
    private readonly table: string,
  ) {
    this.#prefix = `${place.path}-${table}-`;
  }

  /** Undefined if the mark does not match the table. The caller must have an open transaction. */
  identity(ask: Ask): string | undefined {
    const own = this.place.identity();
    const count = this.#countIn(ask);
    if (count === undefined) return undefined;
    for (const flag of this.#flag === 't' ? (['t', 'n'] as const) : (['n', 't'] as const)) {
      const path = this.#nameOf(flag, count);
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) continue;
      this.#flag = flag;
      return `${own}/${flag === 't' ? timedIdentity(path, found) : found.ino}`;
    }
    return undefined;
  }

  /** Advances the mark, or creates a new one. The caller must have an open write transaction. */
  repaired(ask: Ask): string {
    const count = this.#countIn(ask) ?? 0n;
    const [only, ...more] = this.#names();
    const isBehind = more.length === 0 && only?.count === count - 1n;
    if (isBehind) renameIf(this.#nameOf(only.flag, only.count), this.#nameOf(only.flag, count));
    return this.identity(ask) ?? this.#renewed(ask, count);
  }

  /** Counts a write in its transaction. */
  count(ask: Ask): bigint {
    ask(`UPDATE ${this.table} SET number = number + 1 WHERE ${IS_COUNT} RETURNING 1`);
    return this.#countIn(ask)!;
  }

  /**
   * Advances the mark once a write is committed. A process that finds it behind advances it
   * instead.
   */
  follow(count: bigint): void {
    renameIf(this.#nameOf(this.#flag, count - 1n), this.#nameOf(this.#flag, count));
  }

  #renewed(ask: Ask, last: bigint): string {
    const count = last + BigInt(randomInt(2, JUMP_MAX));
    ask(
      `INSERT INTO ${this.table} (namespace, kind, name, version, number, data) ` +
        `VALUES (${NAMESPACE}, ${KIND}, ${NAME}, 1, ${count}, '{}') ` +
        `ON CONFLICT (namespace, kind, name) DO UPDATE SET number = ${count} RETURNING 1`,
    );
    const fresh = `${this.#prefix}new`;
    closeSync(openSync(fresh, 'w'));
    this.#flag = keepsTimes(fresh) ? 't' : 'n';
    for (const { name } of this.#names()) unlinkSync(join(dirname(this.place.path), name));
    renameSync(fresh, this.#nameOf(this.#flag, count));
    return this.identity(ask)!;
  }

  #nameOf(flag: Flag, count: bigint): string {
    return `${this.#prefix}${flag}${count}`;
  }

  #names() {
    const prefix = basename(this.#prefix);
    return readdirSync(dirname(this.place.path)).flatMap((name) => {
      const [, flag, count] = /^([tn])(\d+)$/.exec(name.slice(prefix.length)) ?? [];
      if (!name.startsWith(prefix) || flag === undefined) return [];
      return [{ name, flag: flag as Flag, count: BigInt(count!) }];
    });
  }

  #countIn(ask: Ask): bigint | undefined {
    const sql = `SELECT CAST(number AS TEXT) AS count FROM ${this.table} WHERE ${IS_COUNT}`;
    const [row] = rowsOf(ask(sql));
    return row && BigInt(textIn(row, 'count'));
  }
}

function timedIdentity(path: string, { ino, birthtimeNs, ctimeNs }: BigIntStats): string {
  // Equal times mean a new copy, or that libuv has no creation time.
  if (birthtimeNs !== ctimeNs || keepsTimes(path)) return `${ino}.${birthtimeNs}`;
  throw refused(
    'This process cannot read when a file was created, and other processes of this host can, so ' +
      'that it would take the SQLite database for a copy. Allow the system call statx.',
  );
}

/** Enough for the clock of any file system to tick, which takes up to 10 ms. */
const CHANGE_COUNT_MAX = 20_000;

/** True if a later change of a file keeps its creation time. */
function keepsTimes(path: string): boolean {
  const made = statSync(path, { bigint: true });
  for (let count = 0; count < CHANGE_COUNT_MAX; count++) {
    utimesSync(path, 0, 0);
    const { birthtimeNs, ctimeNs } = statSync(path, { bigint: true });
    if (ctimeNs !== made.ctimeNs) return birthtimeNs !== 0n && birthtimeNs === made.birthtimeNs;
  }
  return false;
}

/** Another process may have renamed it first; the next call repairs any other failure. */
function renameIf(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // As said above.
  }
}
