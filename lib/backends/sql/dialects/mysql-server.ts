/**
 * What a MariaDB or MySQL server is known by, as parts of statements: which server, since when it
 * has run, whether a crash of it loses what was acknowledged, and when a table was made.
 *
 * Promise: all of it is asked in the statement that rests on it.
 */
import type { Stamps } from '../signature.js';

export const FLUSH = 'innodb_flush_log_at_trx_commit';
/** MariaDB from 10.5.26, 10.6.19, 10.11.9 and 11.4.3 on has the first, MySQL the second. */
export const IDENTITIES = ['server_uid', 'server_uuid', 'datadir'];

/**
 * MariaDB makes its identity of the hardware address and the port, which containers of two hosts
 * may share. A replica has another `server_id` than its primary, or it could not follow.
 */
const nameOf = (identity: string) => `CONCAT(@@global.${identity}, '/', @@global.server_id)`;

/** The server, and since when it has run; both sides of the difference are of one moment. */
export function mysqlServer(isMariadb: boolean, identity = 'datadir'): string {
  const status = `${isMariadb ? 'information' : 'performance'}_schema.global_status`;
  const uptime = `(SELECT VARIABLE_VALUE FROM ${status} WHERE VARIABLE_NAME = 'Uptime')`;
  const started = `CAST(UNIX_TIMESTAMP() - ${uptime} AS SIGNED)`;
  return `CONCAT(${nameOf(identity)}, '/', ${started})`;
}

/** Where there is a binary log, it tells at a start which of the last commits there were. */
const LOGGED = '(@@global.log_bin = 0 OR @@global.sync_binlog = 1)';
export const MYSQL_DURABLE = `(@@global.${FLUSH} = 1 AND ${LOGGED})`;

/**
 * The server alone, for counters: where each commit is flushed a restart loses nothing. Whoever
 * switches that off while it runs makes another of it, before anything rests on what may be lost.
 */
export function mysqlHistory(identity: string | undefined, run: string, isDurable: string): string {
  // Two servers may have the same folder.
  if (identity === undefined || identity === 'datadir') return run;
  return `IF(${isDurable}, ${nameOf(identity)}, ${run})`;
}

/** When the table was made, which a dump makes again; whose zone a session has is no matter. */
export function stampsOf(table: string): Stamps {
  const [name, schema] = table.split('.').toReversed();
  const own = schema === undefined ? 'DATABASE()' : `'${schema}'`;
  const where = `table_schema = ${own} AND table_name = '${name}'`;
  const made = 'CAST(UNIX_TIMESTAMP(create_time) AS CHAR)';
  const asked = `(SELECT ${made} FROM information_schema.tables WHERE ${where})`;
  return { written: `COALESCE(${asked}, '')`, found: asked };
}
