/**
 * The registry in MariaDB and MySQL. Statements, findings and variables share one file, because
 * they depend on the same facts about the server.
 *
 * Guarantee: no write counts in a session without autocommit, and in MariaDB none counts inside an
 * open transaction. MySQL does not report to a statement whether one is open.
 */
import { finding, type Finding } from '../../../registry/snapshot.js';
import {
  AFTER_LOSS,
  anotherTime,
  answered,
  flagOf,
  followed,
  fromReplica,
  GRANTED,
  inTransaction,
  notFlushed,
  withoutAutocommit,
  withoutEscapes,
  type Stamps,
  type Dialect,
  type SqlChange,
  type SqlTable,
  type Statements,
  type Written,
} from './dialect.js';
import { rowsOf, writtenCountOf, type SqlQuery, type SqlRow } from '../sql-connection.js';
import { type Binder, TableStatements } from './statements.js';

/** In Unix milliseconds; the time at which the statement began. */
export const MYSQL_TIME = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";
/** The offset of the session's clock after `SET timestamp`, which SYSDATE does not follow. */
const TIME_BENT = 'TIMESTAMPDIFF(MICROSECOND, SYSDATE(6), NOW(6)) DIV 1000';
const BENT_MS_MAX = 1000;

/** Deadlock, lock wait timeout, record has changed since last read, duplicate key. */
const CONFLICTS: ReadonlySet<string> = new Set(['1213', '1205', '1020', '1062', '40001']);
/** Drivers name these instead of the number. */
const CONFLICT_NAMES: ReadonlySet<string> = new Set([
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_CHECKREAD',
  'ER_DUP_ENTRY',
]);

export class MysqlDialect implements Dialect {
  readonly name = 'mysql';
  readonly title = 'MySQL';
  readonly tellsCommits = false;

  constructor(private readonly serverSql?: string) {}

  async prepare(query: SqlQuery, location: SqlTable, isAlone = false): Promise<Statements> {
    const offered = await variables(query, ['version', FLUSH, ...IDENTITIES]);
    const isMariadb = /mariadb/i.test(offered.get('version') ?? '');
    const identity = IDENTITIES.find((name) => offered.has(name));
    const isDurable = offered.has(FLUSH) ? MYSQL_DURABLE : 'FALSE';
    const asked = mysqlServer(isMariadb, identity);
    const isKept = isAlone && this.serverSql === undefined && (await keepsName(query, asked));
    const run = isKept ? NAME_IN_SESSION : asked;
    const server = location.kind === 'counters' ? mysqlHistory(identity, run, isDurable) : run;
    // Each member of a cluster has its own creation time of the table.
    const stamps = this.serverSql === undefined ? stampsOf(location.table) : undefined;
    const offer = { server: this.serverSql ?? server, isDurable, isMariadb };
    return new MysqlStatements(location, offer, stamps);
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code) || CONFLICT_NAMES.has(code));
  }

  advice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]> {
    return mysqlAdvice(query, kind);
  }

  findings = mysqlFindings;
}

/** The features of a server, as parts of statements. */
interface Offered {
  readonly server: string;
  readonly isDurable: string;
  readonly isMariadb: boolean;
}

class MysqlStatements extends TableStatements {
  protected readonly time = MYSQL_TIME;

  constructor(
    location: SqlTable,
    private readonly offered: Offered,
    protected override readonly stamps: Stamps | undefined,
  ) {
    super(location);
  }

  written(answer: unknown): Written {
    return { count: writtenCountOf(answer) };
  }

  check(row: SqlRow): void {
    if (answered(row, 'autocommit') !== 1) throw withoutAutocommit();
    if (flagOf(row, 'in_transaction')) throw inTransaction();
    if (flagOf(row, 'is_unescaped')) throw withoutEscapes();
    const bentMs = answered(row, 'time_bent');
    if (Math.abs(bentMs) > BENT_MS_MAX) throw anotherTime(bentMs);
    if (this.losesNothing && !flagOf(row, 'is_durable')) throw notFlushed();
  }

  /** Another session responded, whose variable has no name yet. */
  override isOutdated(row: SqlRow): boolean {
    return row['server'] === null;
  }

  checkPrimary(row: SqlRow): void {
    if (flagOf(row, 'is_read_only')) throw fromReplica();
  }

  protected moment(): string {
    return [
      `${MYSQL_TIME} AS time_ms`,
      `${TIME_BENT} AS time_bent`,
      `${this.offered.server} AS server`,
      `@@session.autocommit AS autocommit`,
      `@@session.sql_mode LIKE '%NO_BACKSLASH_ESCAPES%' AS is_unescaped`,
      `@@global.read_only AS is_read_only`,
      `${this.offered.isDurable} AS is_durable`,
      `${this.offered.isMariadb ? '@@session.in_transaction' : '0'} AS in_transaction`,
    ].join(', ');
  }

  protected standsOn(_: SqlChange, { of }: Binder): string {
    const { server: own, isDurable, isMariadb } = this.offered;
    const parts = [`${own} = ${of(({ server }) => server)}`, '@@session.autocommit = 1'];
    if (isMariadb) parts.push('@@session.in_transaction = 0');
    if (this.losesNothing) parts.push(isDurable);
    return parts.join(' AND ');
  }

  /**
   * MySQL cannot update a table that a subquery of the statement reads, unless it first copies the
   * subquery's result to a temporary table. The limit causes this. A join would copy the text of
   * the row to one.
   */
  protected override header(isHeader: string): string {
    return `SELECT 1 FROM (${super.header(isHeader)} LIMIT 1) k`;
  }

  protected override deletion(
    where: (binder: Binder) => string,
    rowCount: number,
    binder: Binder,
  ): string {
    return `DELETE FROM ${this.location.table} WHERE ${where(binder)} LIMIT ${rowCount}`;
  }

  /**
   * An existing row is an error, which counts as a conflict, because IGNORE would hide other errors
   * too.
   */
  protected withRowCount(write: string): string {
    return write;
  }

  protected joined(...texts: string[]): string {
    return `CONCAT(${texts.join(', ')})`;
  }

  /** Without the cast, a string would turn the arithmetic into doubles. */
  protected integer(text: string): string {
    return `CAST(${text} AS SIGNED)`;
  }

  protected digits(column: string): string {
    return `CAST(${column} AS CHAR)`;
  }
}

/*
 * Finds facts about a MariaDB or MySQL server that affect its leases: the consequence for IDs, and
 * the remedy. A fact that the server does not report is not judged.
 */

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

async function mysqlAdvice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]> {
  const settings = await variables(query, ASKED);
  const flush = settings.get('innodb_flush_log_at_trx_commit');
  const found: string[] = [];
  if (flush !== undefined && flush !== '1') {
    found.push(
      `innodb_flush_log_at_trx_commit is ${flush}, so a crash can lose ${GRANTED[kind]} that ` +
        `were granted. It counts as a loss of data: ${AFTER_LOSS[kind]}. Set 1.`,
    );
  }
  if (settings.get('log_bin') === 'ON' && settings.get('binlog_format') === 'STATEMENT') {
    found.push(
      'binlog_format is STATEMENT, by which replicas carry out the statements of this package ' +
        'differently than this server. Set ROW or MIXED.',
    );
  }
  if (settings.get('wsrep_on') === 'ON') found.push(GALERA);
  return found;
}

const GALERA =
  'This server is a member of a Galera cluster (wsrep_on). Each member has an identity and a ' +
  'clock of its own, and a read on one member is not compared with a write on another at the ' +
  'same time. Let all processes write to one member, by a proxy with one writer, and set ' +
  '`serverSql`. Without it, every change between two members counts as a loss of data. While ' +
  'processes use several members, no process gets a worker id.';

/** The server shows other users' threads only with a permission; hidden ones are not judged. */
const REPLICAS =
  `SELECT COUNT(*) AS replica_count FROM information_schema.processlist WHERE command LIKE ` +
  `'Binlog Dump%'`;

async function mysqlFindings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]> {
  const settings = await variables(query, ASKED);
  const isReadOnly = settings.get('read_only') === 'ON' || settings.get('super_read_only') === 'ON';
  const version = finding('ok', 'version', `${settings.get('version') ?? 'Of unknown version'}.`);
  const followsText = isReadOnly ? READ_ONLY : (await isReplica(query)) ? WRITABLE_REPLICA : '';
  const follows = followsText === '' ? [] : [finding('fault', 'replication', followsText)];
  return [
    version,
    ...follows,
    ...binlogFindings(settings),
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

/** False without the permission as well. */
async function isReplica(query: SqlQuery): Promise<boolean> {
  try {
    return rowsOf(await query('SHOW REPLICA STATUS', [])).length > 0;
  } catch {
    // It is only a hint, because an application does not need this permission otherwise.
    return false;
  }
}

function binlogFindings(settings: ReadonlyMap<string, string>): Finding[] {
  if (settings.get('log_bin') !== 'ON' || settings.get('sync_binlog') === '1') return [];
  const text =
    `sync_binlog is ${settings.get('sync_binlog')}: after a crash of its host this server and ` +
    `its replicas may lack leases that were granted. A restart and a failover count as a loss of ` +
    `data anyway, so that ids stay unique.`;
  return [finding('note', 'replication', text)];
}

async function replicaFindings(query: SqlQuery): Promise<Finding[]> {
  const [row] = rowsOf(await query(REPLICAS, []));
  const replicaCount = answered(row, 'replica_count');
  return replicaCount === 0 ? [] : [finding('warning', 'replication', followed(replicaCount))];
}

/*
 * The settings of a MariaDB or MySQL server, by name.
 *
 * Guarantee: a setting that this server does not have is absent, and no error.
 */

/** Names in lower case. */
async function variables(
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

/*
 * The identity of a MariaDB or MySQL server, as parts of statements. It consists of the server, its
 * start, whether a crash loses acknowledged writes, and the time when the table was created.
 *
 * Guarantee: the statement that depends on the identity also reads it.
 */

const FLUSH = 'innodb_flush_log_at_trx_commit';
/** MariaDB from 10.5.26, 10.6.19, 10.11.9 and 11.4.3 on has the first, MySQL the second. */
const IDENTITIES = ['server_uid', 'server_uuid', 'datadir'];

/**
 * MariaDB derives its identity from the hardware address and the port, which containers on two
 * hosts may share. A replica must have another `server_id` than its primary.
 */
const nameOf = (identity: string) => `CONCAT(@@global.${identity}, '/', @@global.server_id)`;

/**
 * The server, and its start time. Both sides of the difference have the same time. If the server's
 * clock is before its start, the uptime is negative, and its status shows it as an unsigned number.
 */
export function mysqlServer(isMariadb: boolean, identity = 'datadir'): string {
  const status = `${isMariadb ? 'information' : 'performance'}_schema.global_status`;
  const uptime = `(SELECT VARIABLE_VALUE FROM ${status} WHERE VARIABLE_NAME = 'Uptime')`;
  const started = `UNIX_TIMESTAMP() - CAST(CAST(${uptime} AS UNSIGNED) AS SIGNED)`;
  return `CONCAT(${nameOf(identity)}, '/', ${started})`;
}

/**
 * The server's name in a session variable, because reading its start time costs more than the rest
 * of a statement. A session never outlives its server. In a new session, even behind a proxy, the
 * variable is empty until the name is read again.
 */
const KEPT_NAME = '@snowflake_server';
/** MySQL may treat a variable without a value as binary. */
const NAME_IN_SESSION = `CAST(${KEPT_NAME} AS CHAR)`;

/** @returns false if the name is lost at once, for example behind a proxy that changes sessions */
async function keepsName(query: SqlQuery, server: string): Promise<boolean> {
  await query(`SET ${KEPT_NAME} = ${server}`, []);
  const [row] = rowsOf(await query(`SELECT ${NAME_IN_SESSION} AS server`, []));
  return row?.['server'] !== null;
}

/** At a start, a binary log shows which of the last commits exist. */
const LOGGED = '(@@global.log_bin = 0 OR @@global.sync_binlog = 1)';
export const MYSQL_DURABLE = `(@@global.${FLUSH} = 1 AND ${LOGGED})`;

/**
 * The server without its start time, for counters: if each commit is flushed, a restart loses
 * nothing. If flushing is switched off on a running server, its identity changes before anything
 * depends on writes that may be lost.
 */
export function mysqlHistory(identity: string | undefined, run: string, isDurable: string): string {
  // Two servers may have the same folder.
  if (identity === undefined || identity === 'datadir') return run;
  return `IF(${isDurable}, ${nameOf(identity)}, ${run})`;
}

/**
 * The creation time of the table, which changes if a dump is loaded; independent of the session's
 * time zone.
 */
function stampsOf(table: string): Stamps {
  const [name, schema] = table.split('.').toReversed();
  const own = schema === undefined ? 'DATABASE()' : `'${schema}'`;
  const where = `table_schema = ${own} AND table_name = '${name}'`;
  const made = 'CAST(UNIX_TIMESTAMP(create_time) AS CHAR)';
  const asked = `(SELECT ${made} FROM information_schema.tables WHERE ${where})`;
  return { written: `COALESCE(${asked}, '')`, found: () => asked };
}
