/**
 * What a MariaDB or MySQL server tells about itself that matters for the leases in it: what it
 * means for ids, and what to do. What the server does not tell is not judged.
 */
import { finding, type Finding } from '../../../registry/registry-view.js';
import { rowsOf, type SqlQuery } from '../sql-query.js';
import type { SqlTable } from './dialect.js';
import { AFTER_LOSS, GRANTED } from './held-words.js';
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
  'wsrep_on',
];

export async function mysqlAdvice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]> {
  const told = await variables(query, ASKED);
  const flush = told.get('innodb_flush_log_at_trx_commit');
  const found: string[] = [];
  if (flush !== undefined && flush !== '1') {
    found.push(
      `innodb_flush_log_at_trx_commit is ${flush}, so a crash can lose ${GRANTED[holds]} that ` +
        `were granted. It counts as a loss of data: ${AFTER_LOSS[holds]}. Set 1.`,
    );
  }
  if (told.get('log_bin') === 'ON' && told.get('binlog_format') === 'STATEMENT') {
    found.push(
      'binlog_format is STATEMENT, by which replicas carry out the statements of this package ' +
        'differently than this server. Set ROW or MIXED.',
    );
  }
  if (told.get('wsrep_on') === 'ON') found.push(GALERA);
  return found;
}

const GALERA =
  'This server is a member of a Galera cluster (wsrep_on). Each member has an identity and a ' +
  'clock of its own, and what a statement only reads on one is not compared with what another ' +
  'writes at the same time. Let all processes write to one member, by a proxy with one writer, ' +
  'and give `serverSql`: without it every change between two members counts as a loss of data, ' +
  'and while processes ask several of them nobody gets a worker id.';

/** Shows the threads of others only to whoever may see them; unseen ones are not judged. */
const REPLICAS =
  `SELECT COUNT(*) AS replica_count FROM information_schema.processlist WHERE command LIKE ` +
  `'Binlog Dump%'`;

export async function mysqlFindings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]> {
  const told = await variables(query, ASKED);
  const isReadOnly = told.get('read_only') === 'ON' || told.get('super_read_only') === 'ON';
  const version = finding('ok', 'version', `${told.get('version') ?? 'Of unknown version'}.`);
  const followsText = isReadOnly ? READ_ONLY : (await isReplica(query)) ? WRITABLE_REPLICA : '';
  const follows = followsText === '' ? [] : [finding('fault', 'replication', followsText)];
  return [
    version,
    ...follows,
    ...binlogFindings(told),
    ...(lossWindowMs === 0 ? await replicaFindings(query) : []),
  ];
}

const READ_ONLY =
  'This server is read-only: a replica, or one switched to that. Name the primary, or no ' +
  'worker id can be leased.';
const WRITABLE_REPLICA =
  'This server follows another one and still accepts writes: if some processes name this one and ' +
  'some the other, they would make the same ids. Name the primary in all of them, and set ' +
  'read_only here.';

/** False also for a user who may not ask. */
async function isReplica(query: SqlQuery): Promise<boolean> {
  try {
    return rowsOf(await query('SHOW REPLICA STATUS', [])).length > 0;
  } catch {
    // It is asked for a hint alone: the right to it is one that an application has no need of.
    return false;
  }
}

function binlogFindings(told: ReadonlyMap<string, string>): Finding[] {
  if (told.get('log_bin') !== 'ON' || told.get('sync_binlog') === '1') return [];
  const text =
    `sync_binlog is ${told.get('sync_binlog')}: after a crash of its host this server and its ` +
    `replicas may lack leases that were granted. A restart and a failover count as a loss of ` +
    `data anyway, so that ids stay unique.`;
  return [finding('note', 'replication', text)];
}

async function replicaFindings(query: SqlQuery): Promise<Finding[]> {
  const [row] = rowsOf(await query(REPLICAS, []));
  const replicaCount = answered(row, 'replica_count');
  return replicaCount === 0 ? [] : [finding('warning', 'replication', followed(replicaCount))];
}
