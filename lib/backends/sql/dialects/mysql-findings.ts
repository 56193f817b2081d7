/**
 * What a MariaDB or MySQL server tells about itself that bears on the leases in it.
 *
 * Promise: a finding says what it means for ids and what to do. What the server does not tell is
 * not judged.
 */
import { finding, type Finding } from '../../../registry/registry-view.js';
import { rowsOf, type SqlQuery } from '../sql-query.js';
import { variables } from './mysql-variables.js';
import { followed } from './replicas.js';
import { answered } from './rows.js';

const ASKED = [
  'version',
  'innodb_flush_log_at_trx_commit',
  'sync_binlog',
  'log_bin',
  'binlog_format',
  'read_only',
  'super_read_only',
];

export async function mysqlAdvice(query: SqlQuery): Promise<string[]> {
  const told = await variables(query, ASKED);
  const flush = told.get('innodb_flush_log_at_trx_commit');
  const found: string[] = [];
  if (flush !== undefined && flush !== '1') {
    found.push(
      `innodb_flush_log_at_trx_commit is ${flush}, so a crash can lose leases that were granted. ` +
        `It counts as a loss of data: ids stay unique, and run ahead for a while after it. Set 1.`,
    );
  }
  if (told.get('log_bin') === 'ON' && told.get('binlog_format') === 'STATEMENT') {
    found.push(
      'binlog_format is STATEMENT, by which replicas carry out the statements of the registry ' +
        'differently than this server. Set ROW or MIXED.',
    );
  }
  return found;
}

/** Shows the threads of others only to whoever may see them; unseen ones are not judged. */
const REPLICAS =
  `SELECT COUNT(*) AS replica_count FROM information_schema.processlist ` +
  `WHERE command LIKE 'Binlog Dump%'`;

export async function mysqlFindings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]> {
  const told = await variables(query, ASKED);
  const found = [finding('ok', 'version', `${told.get('version') ?? 'Of unknown version'}.`)];
  if (told.get('read_only') === 'ON' || told.get('super_read_only') === 'ON') {
    const text =
      'This server is read only: a replica, or one that was switched. Name the primary, or no ' +
      'worker id can be leased.';
    found.push(finding('fault', 'replication', text));
  }
  if (told.get('log_bin') === 'ON' && told.get('sync_binlog') !== '1') {
    const text =
      `sync_binlog is ${told.get('sync_binlog')}: after a crash replicas may lack leases that ` +
      `were granted. A failover counts as a loss of data anyway, so that ids stay unique.`;
    found.push(finding('note', 'replication', text));
  }
  const [row] = rowsOf(await query(REPLICAS, []));
  const replicaCount = answered(row, 'replica_count');
  if (replicaCount > 0 && lossWindowMs === 0) {
    found.push(finding('warning', 'replication', followed(replicaCount)));
  }
  return found;
}
