/**
 * The ways of reaching a database that an application can hand in, each by its shape.
 *
 * Promise: what cannot be used is refused without being shown: where a URL was given instead, it
 * holds a password.
 */
import type { DialectName } from '../dialects/dialect.js';
import { refuse } from '../sql-options.js';
import type { SqlQuery } from '../sql-query.js';
import { dataSourceConnection, type GivenDataSource, type ReachedBy } from './data-source.js';

export interface ByDataSource {
  /** Of TypeORM, for PostgreSQL, MySQL, MariaDB or better-sqlite3. */
  readonly dataSource: GivenDataSource;
}

export interface ByQuery {
  /**
   * Runs one statement outside of any transaction, and gives the rows; in MySQL, of a statement
   * that writes, what the driver gives or the number of rows.
   */
  readonly query: SqlQuery;
  readonly dialect: Exclude<DialectName, 'sqlite'>;
}

const TITLES: ReadonlyMap<DialectName, string> = new Map([
  ['postgres', 'PostgreSQL'],
  ['mysql', 'MySQL'],
]);

/** @throws SnowflakeError CONFIG_INVALID */
export function reachedBy(given: ByDataSource | ByQuery): ReachedBy {
  const options = Object(given) as ByDataSource | ByQuery;
  if ('dataSource' in options) {
    refuseWithout(options, 'dataSource', 'query');
    return dataSourceConnection(options.dataSource);
  }
  const { query, dialect } = options;
  refuse([
    ...(typeof query === 'function' ? [] : [`Expected \`query\` or \`dataSource\`, got neither.`]),
    ...(TITLES.has(dialect) ? [] : [`Expected \`dialect\` to be postgres or mysql.`]),
  ]);
  const text = `${TITLES.get(dialect)} by the given function`;
  return { dialect, connection: { where: { text, secrets: [] }, query } };
}

/** @throws SnowflakeError CONFIG_INVALID unless the option of that name has the method */
export function refuseWithout(options: unknown, name: string, method: string): void {
  const given = (Object(options) as Record<string, unknown>)[name];
  const found = (Object(given) as Record<string, unknown>)[method];
  if (typeof found === 'function') return;
  const got = typeof given === 'object' && given !== null ? 'one without it' : typeof given;
  refuse([`Expected \`${name}\` to be an object with ${method}(), got ${got}.`]);
}
