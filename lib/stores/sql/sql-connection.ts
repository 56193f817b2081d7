/**
 * The way to a database: the application's pool, one connection of ours, or a handle of SQLite; and
 * what may come back from it.
 *
 * Guarantee: what the application gives is never closed. Ours is opened at the first call, one
 * query at a time goes over it, a broken one is replaced by the next call, and nothing outlives
 * close().
 */
import { SnowflakeError } from '../../errors.js';
import { closedError } from '../refusals.js';

/** The location of a database in words, and the passwords that its answers may repeat. */
export interface SqlLocation {
  readonly text: string;
  readonly secrets: readonly string[];
}

export interface SqlConnection {
  readonly where: SqlLocation;
  readonly query: SqlQuery;
  /** Opens one more connection, outside of a pool; absent where no messages can be heard. */
  readonly listen?: () => Promise<ListeningClient>;
  /** Opens the connection again, for users that close it again. */
  reopen?(): void;
  close?(): Promise<void>;
}

/** A connection that a driver opened for us. */
export interface OpenClient {
  readonly query: SqlQuery;
  /** True once it can never be used again. */
  isBroken(): boolean;
  /** Ends it at once, whatever is under way. */
  destroy(): void;
}

/** A client that receives notifications. */
export interface ListeningClient extends OpenClient {
  /** @param ended called when it can tell nothing any more */
  onMessage(message: (channel: string, text?: string) => void, ended: () => void): void;
}

/** The connection from the first call to close(). */
interface Life {
  isOver: boolean;
  opening?: Promise<OpenClient> | undefined;
  client?: OpenClient;
}

/** No statement may hold the connection longer: the keeper asks again. */
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

  async #ready(life: Life): Promise<OpenClient> {
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
 * Statements and their answers.
 *
 * Drivers answer in different forms: rows alone, rows in an object, rows in a list beside something
 * else. Guarantee: what fits none of them is an error, never taken for no rows.
 */

/** A value that is bound to a placeholder. */
export type SqlParameter = string | number | null;

/**
 * Runs one statement by itself, never inside a transaction of the application, and gives what the
 * driver gives.
 */
export type SqlQuery = (sql: string, params: SqlParameter[]) => Promise<unknown>;

export type SqlRow = Readonly<Record<string, unknown>>;

export interface Statement {
  readonly sql: string;
  readonly params: SqlParameter[];
}

/** Collects the values of a statement while its text is written, from left to right. */
export class Binder {
  readonly params: SqlParameter[] = [];

  /** @param mark the text that stands for a value, by its number from 1 up */
  constructor(private readonly mark: (number: number, value: SqlParameter) => string) {}

  /** The placeholder for this value. */
  readonly of = (value: SqlParameter): string => this.mark(this.params.push(value), value);

  /** Gives several values with commas between them. */
  readonly list = (values: readonly SqlParameter[]): string => values.map(this.of).join(', ');
}

/** The rows of an answer: `[row]`, `{ rows: [row] }`, `{ results }` or `[[row], more]`. */
export function rowsOf(answer: unknown): SqlRow[] {
  const found = rowsIn(answer);
  if (found !== undefined) return found;
  throw oddAnswer('no rows');
}

/** The same; undefined for the answer of a statement that has none. */
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

/** Counts the rows written: a number, `{ affectedRows }`, or that in a list with more. */
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
