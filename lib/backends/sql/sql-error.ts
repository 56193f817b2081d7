/**
 * Whatever a query fails with, as one of our errors.
 *
 * Promise: neither the message nor the cause holds a password, a statement or its values. The
 * errors of drivers hold all of these, also where they were right.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import { plainCause, withoutSecrets } from '../../shown.js';
import type { Dialect, SqlTable } from './dialects/dialect.js';
import { REFUSALS, type Refusal } from './sql-refusals.js';

/** Where a database lies, in words, and the passwords that an answer of it may repeat. */
export interface SqlPlace {
  readonly text: string;
  readonly secrets: readonly string[];
}

export interface ErrorPlace {
  readonly dialect: Pick<Dialect, 'name' | 'title'>;
  readonly where: SqlPlace;
  readonly table: string;
  readonly holds: SqlTable['holds'];
}

const CREATE: Readonly<Record<SqlTable['holds'], string>> = {
  registry:
    'snowflake registry create --support <the URL of the support>, or run the text of ' +
    'registryTable() as a migration',
  counters: 'run the text of counterTable() as a migration',
  locks:
    'snowflake locks create --support <the URL of the locks>, or run the text of lockTable() ' +
    'as a migration',
};

const RIGHTS: Readonly<Record<SqlTable['holds'], string>> = {
  registry: 'SELECT, INSERT and UPDATE',
  counters: 'SELECT, INSERT and UPDATE',
  locks: 'SELECT, INSERT, UPDATE and DELETE',
};

/** What the errors of drivers, and of those that wrap them, carry besides a message. */
interface DriverError {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly errno?: unknown;
  /** node:sqlite. */
  readonly errcode?: unknown;
  readonly sqlState?: unknown;
  readonly cause?: unknown;
  /** TypeORM, Sequelize. */
  readonly driverError?: unknown;
  readonly original?: unknown;
  /** Prisma. */
  readonly meta?: unknown;
  /** Node, where a name has several addresses. */
  readonly errors?: readonly unknown[];
}

const CODES = ['code', 'errno', 'errcode', 'sqlState'] as const;
const DEPTH_MAX = 5;

/** The error and what it wraps, from the outside in. */
function layersOf(error: unknown, depth = 0): DriverError[] {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return [];
  const layer: DriverError = error;
  const { cause, driverError, original, meta, errors } = layer;
  const inner = [cause, driverError, original, meta, ...(Array.isArray(errors) ? errors : [])];
  return [layer, ...inner.flatMap((one) => layersOf(one, depth + 1))];
}

/** Codes of the server and the driver, as texts. */
export function codesOf(error: unknown): string[] {
  const codes = layersOf(error).flatMap((layer) => CODES.map((name) => layer[name]));
  return codes.filter((code) => typeof code === 'string' || typeof code === 'number').map(String);
}

/** Whether the error, or one that it wraps, says so. */
export function isSaid(error: unknown, words: RegExp): boolean {
  return layersOf(error).some(({ message }) => typeof message === 'string' && words.test(message));
}

export function sqlError(cause: unknown, place: ErrorPlace): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const { dialect, where, table, holds } = place;
  const said = saidBy(cause);
  const [name, refusal] = refusalOf(dialect.name, codesOf(cause), said);
  const plain = withoutSecrets(said.replace(/\.+$/, ''), where.secrets);
  const advice = refusal.advice
    .replaceAll('{table}', table)
    .replaceAll('{create}', CREATE[holds])
    .replaceAll('{rights}', RIGHTS[holds])
    .replaceAll('{holds}', holds);
  return new SnowflakeError('STORE_UNAVAILABLE', `${where.text}: ${plain}. ${advice}`, {
    retryable: refusal.retryable,
    cause: plainCause(cause, where.secrets),
    details: { where: where.text, refusal: name },
  });
}

function saidBy(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const layers = layersOf(error);
  const messages = layers.map(({ message }) => message);
  const said = messages.find((message) => typeof message === 'string' && message !== '');
  const line = typeof said === 'string' ? said.trim().split('\n')[0]! : '';
  return line || codesOf(error)[0] || 'an error without a message';
}

const UNEXPECTED: Refusal = {
  codes: [],
  advice: 'The database gave an unexpected answer. See its log.',
  retryable: true,
};

function refusalOf(
  dialect: Dialect['name'],
  codes: readonly string[],
  said: string,
): [string, Refusal] {
  const fits = ({ codes: theirs, says }: Refusal) =>
    theirs.some((code) => codes.includes(code)) || says?.test(said);
  return (
    Object.entries(REFUSALS[dialect]).find(([, refusal]) => fits(refusal)) ?? [
      'unexpected',
      UNEXPECTED,
    ]
  );
}
