/**
 * What a PostgreSQL server tells about itself that matters for the leases in it: what it means for
 * ids, and what to do. What the server does not tell is not judged.
 */
import { finding, type Finding } from '../../../registry/registry-view.js';
import { rowsOf, type SqlQuery, type SqlRow } from '../sql-query.js';
import type { SqlTable } from './dialect.js';
import { followed } from './replicas.js';
import { answered, flagOf, textIn } from './rows.js';

const ASKED =
  `SELECT current_setting('server_version') AS version, ` +
  `current_setting('fsync') AS fsync, ` +
  `current_setting('full_page_writes') AS full_page_writes, ` +
  `current_setting('synchronous_commit') AS synchronous_commit, ` +
  `pg_is_in_recovery() AS is_replica, ` +
  `has_function_privilege('pg_control_system()', 'execute') AS knows_cluster, ` +
  `(SELECT count(*)::int FROM pg_stat_replication) AS replica_count`;

const UNHARMED: Readonly<Record<SqlTable['holds'], string>> = {
  registry: 'Ids stay unique',
  counters: 'Ids stay unique',
  locks: 'Each lock has one holder',
};

export async function postgresAdvice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]> {
  const [row] = rowsOf(await query(ASKED, []));
  return adviceOf(row ?? {}, holds);
}

function adviceOf(row: SqlRow, holds: SqlTable['holds']): string[] {
  const off = ['fsync', 'full_page_writes'].filter((name) => textIn(row, name) === 'off');
  const found = off.map(
    (name) =>
      `PostgreSQL runs with ${name} off: a crash of its host can spoil the whole database. ` +
      `${UNHARMED[holds]} as long as it starts again with what it had or with nothing; switch ` +
      `${name} on.`,
  );
  if (flagOf(row, 'knows_cluster')) return found;
  return [
    ...found,
    'This user may not ask which database cluster this is, so a server is known by the moment of ' +
      'its start alone. Allow it: GRANT EXECUTE ON FUNCTION pg_control_system() TO <user>.',
  ];
}

export async function postgresFindings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]> {
  const [row = {}] = rowsOf(await query(ASKED, []));
  const found = [finding('ok', 'version', `PostgreSQL ${textIn(row, 'version')}.`)];
  if (flagOf(row, 'is_replica')) {
    const text =
      'This server is a replica and takes no writes: no worker id can be leased. Name the primary.';
    found.push(finding('fault', 'replication', text));
  }
  const replicaCount = answered(row, 'replica_count');
  if (replicaCount > 0 && lossWindowMs === 0) {
    found.push(finding('warning', 'replication', followed(replicaCount)));
  }
  if (textIn(row, 'synchronous_commit') === 'off') {
    const text =
      'synchronous_commit is off; the registry switches it on for its own statements alone.';
    found.push(finding('ok', 'settings', text));
  }
  return found;
}
