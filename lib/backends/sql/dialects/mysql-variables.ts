/**
 * The settings of a MariaDB or MySQL server, by name.
 *
 * Promise: a setting that this server does not know is absent, and no error.
 */
import { rowsOf, type SqlQuery } from '../sql-query.js';

/** Names in lower case. */
export async function variables(
  query: SqlQuery,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const list = names.map((name) => `'${name}'`).join(', ');
  const rows = rowsOf(await query(`SHOW VARIABLES WHERE Variable_name IN (${list})`, []));
  const pairs = rows.map(({ Variable_name: name, Value: value }): [string, string] => [
    String(name).toLowerCase(),
    String(value),
  ]);
  return new Map(pairs);
}
