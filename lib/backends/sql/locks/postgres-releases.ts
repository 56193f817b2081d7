/**
 * How PostgreSQL tells of locks that are released: a channel for each lock, by NOTIFY from whoever
 * releases, and by LISTEN where a connection can be had for it.
 *
 * Promise: nothing rests on a message; where none comes, whoever waits asks again.
 */
import { createHash } from 'node:crypto';
import { Releases, type ReleaseTelling } from '../../../lock/releases.js';
import type { SqlConnection } from '../connection/sql-connection.js';
import type { SqlTable } from '../dialects/dialect.js';
import { PostgresMessages } from './postgres-messages.js';

/** The name of a channel has at most 63 characters. */
const DIGEST_LENGTH = 40;

export function postgresReleases(
  connection: SqlConnection,
  { table, namespace }: Pick<SqlTable, 'table' | 'namespace'>,
): ReleaseTelling {
  const channelOf = (lock: string) => {
    const digest = createHash('sha256').update([table, namespace, lock].join(' ')).digest('hex');
    return `snowflake_${digest.slice(0, DIGEST_LENGTH)}`;
  };
  const { query, listen } = connection;
  const tell = async (lock: string) => {
    await query(`SELECT pg_notify($1, '')`, [channelOf(lock)]);
  };
  if (listen === undefined) return { tell };
  const releases = new Releases(new PostgresMessages(listen));
  return {
    tell,
    until: (lock, signal, isFree) => releases.until(channelOf(lock), signal, isFree),
    close: () => releases.close(),
  };
}
