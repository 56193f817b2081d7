/**
 * The mark of a table in SQLite: an empty file beside the database, whose name has the number of
 * writes so far, which a row of the table has too. It is renamed after each write.
 *
 * Guarantee: rows that were put back have another number than the mark, and no copy of the mark has
 * its inode and time of creation. Who finds that they do not fit makes a new one, by which the
 * table counts as another one, in which data was lost.
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
/** A table that goes on from an older state never comes to the number of the later one. */
const JUMP_MAX = 2 ** 40;
/** Times of creation are kept, or are not known on this file system. */
type Flag = 't' | 'n';

export class Mark {
  readonly #prefix: string;
  #flag: Flag = 't';
  /** The number of the last write, until the name has it. */
  #written: bigint | undefined;

  constructor(
    private readonly place: Place,
    private readonly table: string,
  ) {
    this.#prefix = `${place.path}-${table}-`;
  }

  /** Undefined if the mark does not fit the table. The caller has a transaction open. */
  identity(ask: Ask): string | undefined {
    const own = this.place.identity();
    const count = this.#countIn(ask);
    if (count === undefined) return undefined;
    for (const flag of this.#flag === 't' ? (['t', 'n'] as const) : (['n', 't'] as const)) {
      const found = statSync(this.#nameOf(flag, count), { bigint: true, throwIfNoEntry: false });
      if (found === undefined) continue;
      this.#flag = flag;
      return `${own}/${identityOf(found, flag)}`;
    }
    return undefined;
  }

  /** Moves the mark on, or makes a new one. The caller has a transaction in which it may write. */
  repaired(ask: Ask): string {
    const count = this.#countIn(ask) ?? 0n;
    const [only, ...more] = this.#names();
    const isBehind = more.length === 0 && only?.count === count - 1n;
    if (isBehind) renameIf(this.#nameOf(only.flag, only.count), this.#nameOf(only.flag, count));
    return this.identity(ask) ?? this.#renewed(ask, count);
  }

  /** Counts a write in its transaction. */
  count(ask: Ask): void {
    ask(`UPDATE ${this.table} SET number = number + 1 WHERE ${IS_COUNT} RETURNING 1`);
    this.#written = this.#countIn(ask);
  }

  /** Once it is committed. Who finds the name behind moves it on. */
  follow(): void {
    const written = this.#written;
    if (written === undefined) return;
    this.#written = undefined;
    renameIf(this.#nameOf(this.#flag, written - 1n), this.#nameOf(this.#flag, written));
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

function identityOf({ ino, birthtimeNs, ctimeNs }: BigIntStats, flag: Flag): string {
  if (flag === 'n') return `${ino}`;
  // A mark is changed after it is made, so these differ if this process can ask for them.
  if (birthtimeNs !== ctimeNs) return `${ino}.${birthtimeNs}`;
  throw refused(
    'This process cannot read when a file was created, and other processes of this host can, so ' +
      'that it would take the SQLite database for a copy. Allow the system call statx.',
  );
}

/** Some hundred milliseconds, and a clock of files has at most ten between two times. */
const CHANGE_COUNT_MAX = 20_000;

/** Whether a change of a file, at a later time of its clock, leaves its time of creation. */
function keepsTimes(path: string): boolean {
  const made = statSync(path, { bigint: true });
  for (let count = 0; count < CHANGE_COUNT_MAX; count++) {
    utimesSync(path, 0, 0);
    const { birthtimeNs, ctimeNs } = statSync(path, { bigint: true });
    if (ctimeNs !== made.ctimeNs) return birthtimeNs !== 0n && birthtimeNs === made.birthtimeNs;
  }
  return false;
}

/** Another process may be faster, and the next call mends what fails. */
function renameIf(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // As said above.
  }
}
