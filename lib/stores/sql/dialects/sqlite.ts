/**
 * The registry in a file of SQLite, for the processes of one host.
 *
 * Guarantee: the file is known by its place on the disk and by the start of the host, so that
 * another file in its place, or a crash that lost writes, counts as a loss of data. A file that was
 * replaced while it was open is not written any more.
 */
import { readFileSync, statSync } from 'node:fs';
import { SnowflakeError } from '../../../errors.js';
import { finding, type Finding } from '../../../registry/snapshot.js';
import { Binder, rowsOf, type SqlQuery, type SqlRow } from '../sql-connection.js';
import {
  AFTER_LOSS,
  flagOf,
  GRANTED,
  notSynchronous,
  type Dialect,
  type SqlChange,
  type SqlTable,
  type Statements,
  type Written,
} from './dialect.js';
import { TableStatements, type Writing } from './statements.js';

/** The time in Unix milliseconds. */
export const SQLITE_TIME = [
  "CAST(strftime('%s', 'now') AS INTEGER) * 1000",
  "CAST(substr(strftime('%f', 'now'), 4) AS INTEGER)",
].join(' + ');
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const FULL = 2;
/** The setting of this handle at this moment. */
const IS_SYNCHRONOUS = `(SELECT synchronous >= ${FULL} FROM pragma_synchronous)`;
/** The numbers of these errors; node:sqlite gives them with extensions. */
const [BUSY, LOCKED] = [5, 6];

export class SqliteDialect implements Dialect {
  readonly name = 'sqlite';
  readonly title = 'SQLite';

  /**
   * The identity of the file that was found first: a handle stays with its file even if it is
   * replaced.
   */
  #openFile: string | undefined;

  constructor(private readonly serverSql?: string) {}

  async prepare(query: SqlQuery, location: SqlTable): Promise<Statements> {
    const { serverSql } = this;
    if (serverSql !== undefined) return new SqliteStatements(location, () => serverSql);
    const list = rowsOf(await query('PRAGMA database_list', []));
    const path = list.find(({ name }) => name === 'main')?.['file'];
    const isFile = typeof path === 'string' && path !== '';
    return new SqliteStatements(location, isFile ? this.#identityOf(path) : () => "'memory'");
  }

  /**
   * The identity as a text in SQL, asked before every statement: SQL itself does not know the file.
   */
  #identityOf(path: string): () => string {
    const boot = bootId();
    this.#openFile ??= fileNow(path);
    return () => {
      const file = fileNow(path);
      if (file !== undefined && file === this.#openFile) return `'${boot}/${file}'`;
      throw replaced();
    };
  }

  isConflict(codes: readonly string[]): boolean {
    const isLock = (code: string) => [BUSY, LOCKED].includes(Number(code) & 0xff);
    return codes.some((code) => /^SQLITE_(BUSY|LOCKED)/.test(code) || isLock(code));
  }

  async advice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]> {
    if (await isSynchronous(query)) return [];
    return [
      `PRAGMA synchronous is below FULL, so a power failure can lose ${GRANTED[kind]} that were ` +
        `granted. It counts as a loss of data: ${AFTER_LOSS[kind]}. Set FULL.`,
    ];
  }

  async findings(query: SqlQuery): Promise<Finding[]> {
    const [row] = rowsOf(await query('SELECT sqlite_version() AS version', []));
    return [finding('ok', 'version', `SQLite ${String(row?.['version'])}.`)];
  }
}

async function isSynchronous(query: SqlQuery): Promise<boolean> {
  const [row] = rowsOf(await query(`SELECT ${IS_SYNCHRONOUS} AS is_durable`, []));
  return flagOf(row, 'is_durable');
}

/** Returns undefined where it was deleted. */
function fileNow(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function replaced(): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    'The file of the SQLite database was replaced or deleted while it was open, so that nobody ' +
      'else would see what is written. Start this process again.',
    { retryable: false },
  );
}

/** The boot id of Linux; elsewhere the memory of the processes shows a crash of the host. */
function bootId(): string {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

class SqliteStatements extends TableStatements {
  protected readonly time = SQLITE_TIME;
  constructor(
    location: SqlTable,
    private readonly identity: () => string,
  ) {
    super(location);
  }

  written(answer: unknown): Written {
    return { count: rowsOf(answer).length };
  }

  /** The caller makes sure that no transaction is open. */
  check(row: SqlRow): void {
    if (this.losesNothing && !flagOf(row, 'is_durable')) throw notSynchronous();
  }

  /** There is one file. */
  checkPrimary(): void {}

  protected binder(): Binder {
    return new Binder(() => '?');
  }

  protected moment(): string {
    return [
      `${SQLITE_TIME} AS time_ms`,
      `${this.identity()} AS server`,
      `${IS_SYNCHRONOUS} AS is_durable`,
    ].join(', ');
  }

  protected standsOn({ server }: SqlChange, { of }: Binder): string {
    const isSame = `${this.identity()} = ${of(server)}`;
    return this.losesNothing ? `${isSame} AND ${IS_SYNCHRONOUS}` : isSame;
  }

  protected withRowCount(write: string, writing: Writing): string {
    return `${write}${writing === 'insert' ? this.conflict : ''} RETURNING 1`;
  }

  protected joined(...texts: string[]): string {
    return texts.join(' || ');
  }

  protected integer(text: string): string {
    return `CAST(${text} AS INTEGER)`;
  }

  protected digits(column: string): string {
    return `CAST(${column} AS TEXT)`;
  }
}
