/**
 * Sends statements to one database in its dialect.
 *
 * Guarantee: after each failure, the features of the server are read again. A SELECT that fails
 * with a conflict is repeated, and a write that does returns undefined. Every failure is a
 * SnowflakeError without secrets.
 */
import { randomInt } from 'node:crypto';
import { pause, systemTimers } from '../../time/timers.js';
import {
  textIn,
  type Dialect,
  type SqlTable,
  type Statements,
  type Written,
} from './dialects/dialect.js';
import {
  rowsOf,
  type SqlConnection,
  type SqlQuery,
  type SqlRow,
  type Statement,
} from './sql-connection.js';
import { codesOf, sqlError } from './sql-errors.js';

/** A SELECT fails with a conflict only if every statement is serializable. */
const READ_COUNT = 10;
const READ_PAUSE_MS = 10;

export interface SqlSessionParts extends SqlTable {
  readonly connection: SqlConnection;
  readonly dialect: Dialect;
}

export class SqlSession {
  // Private, so that printing the store does not show it: a pool holds its password.
  readonly #parts: SqlSessionParts;
  #statements: Promise<Statements> | undefined;

  constructor(parts: SqlSessionParts) {
    this.#parts = parts;
  }

  /** The database, for messages; without a password. */
  get where(): string {
    return this.#parts.connection.where.text;
  }

  get location(): string {
    const { table, namespace } = this.#parts;
    return `${this.where}, table ${table}, namespace ${namespace}`;
  }

  readonly query: SqlQuery = (sql, params) => this.#parts.connection.query(sql, params);

  run({ sql, params }: Statement): Promise<unknown> {
    return this.query(sql, params);
  }

  /** Runs a read-only request. */
  async asked<T>(ask: (statements: Statements) => Promise<T>): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        return await ask(await this.#prepared());
      } catch (error) {
        if (count === READ_COUNT || !this.#isConflict(error)) throw this.#failed(error);
        await pause(systemTimers, randomInt(1, READ_PAUSE_MS * count));
      }
    }
  }

  /**
   * Reads rows together with the server's time. @throws SnowflakeError if no grant may use that
   * time
   */
  async read(
    statementOf: (statements: Statements) => Statement,
    isForWriting = false,
  ): Promise<SqlRow[]> {
    let isOutdated = false;
    const rows = await this.asked(async (statements) => {
      const found = rowsOf(await this.run(statementOf(statements)));
      const [first] = found;
      if (first === undefined) return found;
      statements.check(first);
      if (isForWriting) statements.checkPrimary(first);
      isOutdated = statements.isOutdated(first);
      return found;
    });
    if (!isOutdated) return rows;
    this.#statements = undefined;
    return this.read(statementOf, isForWriting);
  }

  /** Returns the result of the write; undefined if another process was faster. */
  async written(statementOf: (statements: Statements) => Statement): Promise<Written | undefined> {
    try {
      const statements = await this.#prepared();
      return statements.written(await this.run(statementOf(statements)));
    } catch (error) {
      if (this.#isConflict(error)) return undefined;
      throw this.#failed(error);
    }
  }

  /** The committed transactions; undefined if the server cannot report them. */
  committed(transactions: readonly string[]): Promise<ReadonlySet<string> | undefined> {
    return this.asked(async (statements) => {
      const statement = statements.committed(transactions);
      if (statement === undefined) return undefined;
      const rows = rowsOf(await this.run(statement));
      return new Set(rows.map((row) => textIn(row, 'transaction_id')));
    });
  }

  /** Runs an operator's statement. */
  async ordered(sql: string): Promise<void> {
    try {
      await this.query(sql, []);
    } catch (error) {
      throw this.#error(error);
    }
  }

  /**
   * Each call opens it again, so that a new application can use it after an earlier one has closed
   * it.
   */
  reopen(): void {
    this.#parts.connection.reopen?.();
  }

  async close(): Promise<void> {
    await this.#parts.connection.close?.();
  }

  #isConflict(error: unknown): boolean {
    return this.#parts.dialect.isConflict(codesOf(error));
  }

  /** The same address may now lead to another server, or to one with other permissions. */
  #failed(error: unknown): Error {
    this.#statements = undefined;
    return this.#error(error);
  }

  #error(error: unknown): Error {
    const { connection, dialect, table, kind } = this.#parts;
    return sqlError(error, { dialect, where: connection.where, table, kind });
  }

  #prepared(): Promise<Statements> {
    const isAlone = this.#parts.connection.close !== undefined;
    this.#statements ??= this.#parts.dialect
      .prepare(this.query, this.#parts, isAlone)
      .catch((error: unknown) => {
        this.#statements = undefined;
        throw error;
      });
    return this.#statements;
  }
}
