/**
 * Worker ids leased from a table in a database: a front door for each way of reaching one.
 *
 * Promise: the application's pool is used for single statements, never inside its transactions, and
 * is never closed.
 */
import { RegistrySupport } from '../../registry/registry-support.js';
import { postgresPool, type PostgresPool } from './connection/given-client.js';
import { PostgresDialect } from './dialects/postgres.js';
import { checkedOptions, refuse, type SqlRegistryOptions } from './sql-options.js';
import { SqlStore } from './sql-store.js';

export interface PostgresSupportOptions extends SqlRegistryOptions {
  /** A `Pool` of pg, PGlite, or whatever has the same `query(text, values)`. */
  readonly pool: PostgresPool;
}

/**
 * Worker ids leased from PostgreSQL, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { postgresSupport } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * SnowflakeModule.forRoot({ support: postgresSupport({ pool, namespace: 'shop' }) });
 * ```
 */
export function postgresSupport(options: PostgresSupportOptions): RegistrySupport {
  const { pool } = options;
  refuseWithout(pool, 'pool', 'query');
  const { serverSql, ...checked } = checkedOptions(options);
  const dialect = new PostgresDialect(serverSql);
  return new RegistrySupport(new SqlStore({ ...checked, dialect, connection: postgresPool(pool) }));
}

function refuseWithout(given: unknown, name: string, method: string): void {
  const found = (Object(given) as Record<string, unknown>)[method];
  if (typeof found === 'function') return;
  // Not the value: where a URL was given instead, it holds a password.
  const got = typeof given === 'object' && given !== null ? 'one without it' : typeof given;
  refuse([`Expected \`${name}\` to be an object with ${method}(), got ${got}.`]);
}
