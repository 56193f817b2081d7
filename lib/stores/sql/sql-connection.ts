/**
 * The connection to a database: the application's pool, one separate connection, or a handle of
 * SQLite. It also reads their results.
 *
 * Guarantee: the application's object is never closed. The separate connection is opened at the
 * first call, and one query at a time goes over it. The next call replaces a broken one, and
 * nothing outlives close().
 */
import { SnowflakeError } from '../../errors.js';
import { closedError } from '../refusals.js';

/** The location of a database in words, and the passwords that its responses may repeat. */
export interface SqlLocation {
  readonly text: string;
  readonly secrets: readonly string[];
}

export interface SqlConnection {
  readonly where: SqlLocation;
  readonly query: SqlQuery;
  /** Opens one more connection, outside a pool; absent if messages cannot be received. */
  readonly listen?: () => Promise<ListeningClient>;
  /** Allows calls again, for users that close the connection again. */
  reopen?(): void;
  close?(): Promise<void>;
}

/** A connection that this library opened with a driver. */
export interface OpenClient {
  readonly query: SqlQuery;
  /** True once the connection is no longer usable. */
  isBroken(): boolean;
  /** Ends it at once, even during a query. */
  destroy(): void;
}

/** A client that receives notifications. */
export interface ListeningClient extends OpenClient {
  /** @param ended called when no more messages can come */
  onMessage(message: (channel: string, text?: string) => void, ended: () => void): void;
}

/** The connection from the first call to close(). */
interface Life {
  isOver: boolean;
  opening?: Promise<OpenClient> | undefined;
  client?: OpenClient;
}

/** A statement may hold the connection no longer, because the keeper retries. */
export const STATEMENT_MS_MAX = 5000;

export class OwnConnection implements SqlConnection {
  // Private, so that printing the support does not show it: a client holds its password.
  readonly #open: () => Promise<OpenClient>;
  #life: Life = { isOver: false };

  constructor(
    readonly where: SqlLocation,
    open: () => Promise<OpenClient>,
    readonly listen?: () => Promise<ListeningClient>,
  ) {
    this.#open = open;
  }

  readonly query = async (sql: string, params: SqlParameter[]): Promise<unknown> => {
    const life = this.#life;
    if (life.isOver) throw this.#closed();
    try {
      return await (await this.#ready(life)).query(sql, params);
    } catch (error) {
      if (life.isOver) throw this.#closed();
      throw error;
    }
  };

  reopen(): void {
    if (this.#life.isOver) this.#life = { isOver: false };
  }

  async close(): Promise<void> {
    this.#life.isOver = true;
    this.#life.client?.destroy();
  }

  #ready(life: Life): Promise<OpenClient> {
    if (life.client?.isBroken()) life.opening = undefined;
    life.opening ??= this.#connect(life).catch((error: unknown) => {
      life.opening = undefined;
      throw error;
    });
    return life.opening;
  }

  async #connect(life: Life): Promise<OpenClient> {
    life.client?.destroy();
    const client = await this.#open();
    life.client = client;
    if (life.isOver) client.destroy();
    return client;
  }

  #closed(): SnowflakeError {
    return closedError(this.where.text, this.where.text);
  }
}

/*
 * Statements and their results.
 *
 * Drivers return different formats: rows alone, rows in an object, or rows in a list next to
 * something else. Guarantee: any other format is an error, and never counts as no rows.
 */

/** A value that is bound to a placeholder. */
export type SqlParameter = string | number | null;

/**
 * Runs one statement by itself, never inside a transaction of the application, and returns the
 * driver's result.
 */
export type SqlQuery = (sql: string, params: SqlParameter[]) => Promise<unknown>;

export type SqlRow = Readonly<Record<string, unknown>>;

export interface Statement {
  readonly sql: string;
  readonly params: SqlParameter[];
}

/** The rows of a result: `[row]`, `{ rows: [row] }`, `{ results }` or `[[row], more]`. */
export function rowsOf(answer: unknown): SqlRow[] {
  const found = rowsIn(answer);
  if (found !== undefined) return found;
  throw oddAnswer('no rows');
}

/** The same; undefined for the result of a statement without rows. */
export function rowsIn(answer: unknown): SqlRow[] | undefined {
  const found = rowListOf(answer);
  const areRows = found?.every((row) => typeof row === 'object' && row !== null);
  return areRows === true ? (found as SqlRow[]) : undefined;
}

function rowListOf(answer: unknown): unknown[] | undefined {
  if (!Array.isArray(answer)) {
    const { rows, results } = Object(answer) as { rows?: unknown; results?: unknown };
    return [rows, results].find((list) => Array.isArray(list)) as unknown[] | undefined;
  }
  const [first] = answer as unknown[];
  return Array.isArray(first) ? (first as unknown[]) : answer;
}

/** Counts the written rows: a number, `{ affectedRows }`, or that in a list with more. */
export function writtenCountOf(answer: unknown): number {
  const [first] = Array.isArray(answer) ? (answer as unknown[]) : [answer];
  const { affectedRows } = Object(first) as { affectedRows?: unknown };
  const count = Number(affectedRows ?? (typeof first === 'bigint' ? Number(first) : first));
  const isCount = first !== null && first !== undefined && first !== '';
  if (isCount && Number.isSafeInteger(count) && count >= 0) return count;
  throw oddAnswer('neither a number of rows nor `affectedRows`');
}

export function oddAnswer(fault: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The query function returned something unexpected: it has ${fault}. The function must return ` +
      `what the driver answers, and throw its errors. Nothing was assumed.`,
    { retryable: false },
  );
}
