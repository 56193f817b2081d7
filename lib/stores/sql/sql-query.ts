/**
 * The one function through which everything reaches a database, and what may come back from it.
 *
 * Drivers answer in different forms: rows alone, rows in an object, rows in a list beside something
 * else. Guarantee: what fits none of them is an error, never taken for no rows.
 */
import { SnowflakeError } from '../../errors.js';

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

  /** Several values with commas between. */
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

/** How many rows were written: a number, `{ affectedRows }`, or that in a list with more. */
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
