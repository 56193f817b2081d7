/**
 * The registry in a SQLite file, for the processes of one host.
 *
 * Guarantee: the file is identified by its location on the disk, its mark and the start of the
 * host. Another file in its place, an older state of it, or a crash that lost writes therefore
 * counts as a loss of data.
 */
import { finding, type Finding } from '../../../registry/snapshot.js';
import { rowsOf, type SqlQuery, type SqlRow } from '../sql-connection.js';
import { identityFor } from './sqlite-file.js';
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
import { type Binder, TableStatements, type Writing } from './statements.js';

/** The time in Unix milliseconds. */
export const SQLITE_TIME = [
  "CAST(strftime('%s', 'now') AS INTEGER) * 1000",
  "CAST(substr(strftime('%f', 'now'), 4) AS INTEGER)",
].join(' + ');
const FULL = 2;
/** The current setting of this handle. */
const IS_SYNCHRONOUS = `(SELECT synchronous >= ${FULL} FROM pragma_synchronous)`;
/** The numbers of these errors; node:sqlite returns them with extensions. */
const [BUSY, LOCKED] = [5, 6];

export class SqliteDialect implements Dialect {
  readonly name = 'sqlite';
  readonly title = 'SQLite';
  readonly tellsCommits = false;

  constructor(private readonly serverSql?: string) {}

  async prepare(_query: SqlQuery, location: SqlTable): Promise<Statements> {
    return new SqliteStatements(location, this.serverSql ?? identityFor(location.table));
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

class SqliteStatements extends TableStatements {
  protected readonly time = SQLITE_TIME;
  constructor(
    location: SqlTable,
    private readonly identity: string,
  ) {
    super(location);
  }

  written(answer: unknown): Written {
    return { count: rowsOf(answer).length };
  }

  /** The caller ensures that no transaction is open. */
  check(row: SqlRow): void {
    if (this.losesNothing && !flagOf(row, 'is_durable')) throw notSynchronous();
  }

  /** There is one file. */
  checkPrimary(): void {}

  protected moment(): string {
    return [
      `${SQLITE_TIME} AS time_ms`,
      `${this.identity} AS server`,
      `${IS_SYNCHRONOUS} AS is_durable`,
    ].join(', ');
  }

  protected standsOn(_: SqlChange, { of }: Binder): string {
    const isSame = `${this.identity} = ${of(({ server }) => server)}`;
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
