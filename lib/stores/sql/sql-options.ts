/**
 * The options that every SQL support has, checked all at once.
 *
 * Guarantee: an absent option never costs uniqueness. A server cannot be asked whether another one
 * may replace it, since a replica that is cut off is not seen; so it is assumed unless the
 * application says that there is none.
 */
import { SnowflakeError } from '../../errors.js';
import { nameFaults, refused, typeFaults, unknownNames, windowFaults } from '../../options.js';
import { highest, type ClockPolicy } from '../../rows/store-clock.js';

/** The options of every support in a database. */
export interface SqlRegistryOptions {
  /** One id space: processes with the same namespace never make the same id. Default 'default'. */
  readonly namespace?: string | undefined;
  /** The table, with its schema if need be. Default 'snowflake_registry'. */
  readonly table?: string | undefined;
  /**
   * False where no other server can ever take the place of this one: no standby, no failover of a
   * provider. Sets the next two to 0. Default true, and for SQLite false.
   */
  readonly replicated?: boolean | undefined;
  /** How long an old primary may go on answering after a failover. Default 15,000. */
  readonly failoverWindowMs?: number | undefined;
  /** How far the clocks of two servers may differ. Default 1,000. */
  readonly clockDifferenceMs?: number | undefined;
  /**
   * For clusters of several servers that all take writes (Galera, CockroachDB, YugabyteDB, TiDB):
   * an SQL expression that is the same text on every one of them, and another one once the cluster
   * may have lost data. It stands in the statements as it is.
   */
  readonly serverSql?: string | undefined;
}

interface CheckedOptions {
  readonly namespace: string;
  readonly table: string;
  readonly lossWindowMs: number;
  readonly serverSql?: string;
  readonly clock?: ClockPolicy;
}

export const TABLE = 'snowflake_registry';
const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;
const NAMES =
  'namespace, table, replicated, failoverWindowMs, clockDifferenceMs, serverSql, pool, database, ' +
  'dataSource, query, dialect';
const NAMESPACE = { of: 'characters without braces or spaces', without: '{}\\s\\p{C}' };
const TABLE_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkedOptions(
  options: SqlRegistryOptions,
  isReplicatedByDefault = true,
): CheckedOptions {
  const strangers = unknownNames(options, NAMES, 'A store in SQL');
  const { namespace = 'default', table = TABLE, serverSql } = options;
  const { replicated: isReplicated = isReplicatedByDefault } = options;
  const { failoverWindowMs = isReplicated ? FAILOVER_WINDOW_MS : 0 } = options;
  const { clockDifferenceMs = isReplicated ? CLOCK_DIFFERENCE_MS : 0 } = options;
  refuse([
    ...strangers,
    ...nameFaults('namespace', namespace, NAMESPACE),
    ...textFaults('table', table, TABLE_NAME, 'a name like snowflake_registry or schema.name'),
    ...typeFaults('replicated', isReplicated, 'boolean'),
    ...windowFaults('failoverWindowMs', failoverWindowMs),
    ...windowFaults('clockDifferenceMs', clockDifferenceMs),
    ...(serverSql === undefined ? [] : textFaults('serverSql', serverSql, /\S/, 'an expression')),
  ]);
  return {
    namespace,
    table,
    lossWindowMs: failoverWindowMs + clockDifferenceMs,
    // Their clocks differ, and every change between them would drive a slew up.
    ...(serverSql !== undefined && { serverSql, clock: highest }),
  };
}

/** @throws SnowflakeError CONFIG_INVALID unless there are none */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw misconfigured(faults);
}

export function misconfigured(faults: readonly string[]): SnowflakeError {
  return refused(faults, 'The SQL support is misconfigured. ');
}

function textFaults(name: string, value: unknown, form: RegExp, expected: string): string[] {
  if (typeof value === 'string' && form.test(value)) return [];
  // The text is not printed: it may go on with a password that was meant for another field.
  const got = typeof value === 'string' ? `a text of ${value.length}` : typeof value;
  return [`Expected \`${name}\` to be ${expected}, got ${got}.`];
}
