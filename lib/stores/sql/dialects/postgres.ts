/**
 * The registry in PostgreSQL, including PGlite.
 *
 * Guarantee: a write is on disk before it is acknowledged, even if synchronous_commit is off.
 * Inside a transaction that the application may roll back, no write counts.
 */
import { finding, type Finding } from '../../../registry/snapshot.js';
import {
  answered,
  flagOf,
  followed,
  fromReplica,
  inTransaction,
  textIn,
  type Stamps,
  type Dialect,
  type SqlChange,
  type SqlTable,
  type Statements,
  type Written,
} from './dialect.js';
import {
  oddAnswer,
  rowsOf,
  type SqlParameter,
  type SqlQuery,
  type SqlRow,
  type Statement,
} from '../sql-connection.js';
import { Binder, TableStatements, type Writing } from './statements.js';

/** The time in Unix milliseconds. */
export const POSTGRES_TIME = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const STARTED = 'floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
/**
 * Distinguishes a copy that was renamed to replace a database, because it has the same rows and
 * stamps.
 */
const DATABASE = '(SELECT oid::text FROM pg_database WHERE datname = current_database())';
/** The fallback for a user without permission to read the cluster's identifier. */
const POSTGRES_SERVER_UNPRIVILEGED = `${STARTED} || '/' || ${DATABASE}`;
/** The cluster, and the start time of its server: a restart and a failover change it. */
export const POSTGRES_SERVER = `${CLUSTER} || '/' || ${POSTGRES_SERVER_UNPRIVILEGED}`;

const POSTGRES_HISTORY_UNPRIVILEGED = `${TIMELINE} || '/' || ${DATABASE}`;
/** The cluster and its timeline, which changes when a standby is promoted. */
export const POSTGRES_HISTORY = `${CLUSTER} || '/' || ${POSTGRES_HISTORY_UNPRIVILEGED}`;

const KNOWS_CLUSTER = `has_function_privilege('pg_control_system()', 'execute')`;
/** Without fsync, a crash of the host loses acknowledged writes, so a restart counts as a loss. */
const UNLESS_SYNCED = `CASE current_setting('fsync') WHEN 'on' THEN '' ELSE '/' || ${STARTED} END`;

/** Visible only to a later statement of the same transaction. */
const MARK = 'snowflake.statement';
const SET_MARK = `set_config('${MARK}', 'open', true)`;
const MARKED = `coalesce(current_setting('${MARK}', true), '') <> ''`;
/** If a crash lost an acknowledged write, the same range would be granted a second time. */
export const POSTGRES_DURABLY =
  `set_config('synchronous_commit', CASE current_setting('synchronous_commit') ` +
  `WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true) <> ''`;
/**
 * A write that may be lost is acknowledged before it is on disk, and on no standby. Nothing that
 * depends on it survives it: the log is written and sent in order. The next grant waits for the
 * disk and the standbys, and so includes everything before it. If a backend dies, its unwritten
 * commits are lost, and the server continues under its name.
 */
export const POSTGRES_SOON = `set_config('synchronous_commit', 'off', true) <> ''`;

/**
 * The start of the transaction in microseconds. If the transaction began before the read, the
 * application may still roll it back.
 */
const BEGAN = 'floor(extract(epoch FROM now()) * 1000000)::bigint';

/** The full ID of a transaction that has written something. */
const TRANSACTION = 'CASE WHEN count(*) > 0 THEN txid_current()::text END';

/** The transaction that wrote a row; without a savepoint, each statement has its own. */
const STAMPS = {
  written: '(txid_current() % 4294967296)::text',
  found: (row: string) => `${row}.xmin::text`,
} as const;

/** These are a serialization failure, a deadlock, and a lock that is not available. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

export class PostgresDialect implements Dialect {
  readonly name = 'postgres';
  readonly title = 'PostgreSQL';
  readonly tellsCommits: boolean;

  /** @param serverSql names one of several servers, which may not report commits */
  constructor(private readonly serverSql?: string) {
    this.tellsCommits = serverSql === undefined;
  }

  async prepare(query: SqlQuery, location: SqlTable, isAlone = false): Promise<Statements> {
    const { serverSql: server } = this;
    if (server !== undefined)
      return new PostgresStatements(location, { server, isReplica: 'false' });
    const [row] = rowsOf(await query(`SELECT ${KNOWS_CLUSTER} AS knows_cluster`, []));
    const knowsCluster = flagOf(row, 'knows_cluster');
    return new PostgresStatements(location, {
      server: serverOf(location.kind, knowsCluster, isAlone),
      isReplica: 'pg_is_in_recovery()',
      knowsCluster,
      stamps: STAMPS,
    });
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code));
  }

  advice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]> {
    return postgresAdvice(query, kind);
  }

  findings = postgresFindings;
}

/**
 * A restart loses no acknowledged write, so it does not affect counters. Other kinds read the name
 * once in each session of a separate connection, since it costs a fifth of a statement. No session
 * outlives its server or changes its database. Another session, even behind a proxy, reads the name
 * itself.
 */
function serverOf(kind: SqlTable['kind'], knowsCluster: boolean, isAlone: boolean): string {
  const history = knowsCluster ? POSTGRES_HISTORY : POSTGRES_HISTORY_UNPRIVILEGED;
  if (kind === 'counters') return `(${history} || ${UNLESS_SYNCED})`;
  const server = knowsCluster ? POSTGRES_SERVER : POSTGRES_SERVER_UNPRIVILEGED;
  const kept = `'snowflake.${knowsCluster ? 'cluster' : 'server'}'`;
  const known = `nullif(current_setting(${kept}, true), '')`;
  return isAlone ? `coalesce(${known}, set_config(${kept}, ${server}, false))` : server;
}

/** The features of a server, and the corresponding parts of statements. */
interface Offered {
  readonly server: string;
  readonly isReplica: string;
  /** Undefined if it is not requested. */
  readonly knowsCluster?: boolean;
  readonly stamps?: Stamps;
}

class PostgresStatements extends TableStatements {
  protected override readonly stamps: Stamps | undefined;
  protected readonly time = POSTGRES_TIME;
  /** The start of the last read in microseconds. */
  private beganUs = 0;

  constructor(
    location: SqlTable,
    private readonly offered: Offered,
  ) {
    super(location);
    this.stamps = offered.stamps;
  }

  written(answer: unknown): Written {
    const [row] = rowsOf(answer);
    if (row === undefined) throw oddAnswer('no row');
    this.check(row);
    const count = answered(row, 'written');
    const isTold = count > 0 && this.stamps !== undefined;
    return { count, ...(isTold && { transaction: textIn(row, 'transaction_id') }) };
  }

  override committed(transactions: readonly string[]): Statement | undefined {
    if (this.stamps === undefined) return undefined;
    const binder = this.binder();
    const sql =
      `SELECT id AS transaction_id FROM unnest(ARRAY[${binder.list(transactions)}]) AS id ` +
      `WHERE txid_status(id::bigint) = 'committed'`;
    return { sql, params: binder.params() };
  }

  check(row: SqlRow): void {
    if (flagOf(row, 'in_transaction')) throw inTransaction();
  }

  checkPrimary(row: SqlRow): void {
    if (flagOf(row, 'is_replica')) throw fromReplica();
    if (this.stamps !== undefined) this.beganUs = answered(row, 'began_us');
  }

  override isOutdated(row: SqlRow): boolean {
    const { knowsCluster } = this.offered;
    return knowsCluster !== undefined && flagOf(row, 'knows_cluster') !== knowsCluster;
  }

  protected override binder(change?: SqlChange): Binder {
    const typeOf = (value: SqlParameter) => (typeof value === 'number' ? 'bigint' : 'text');
    return new Binder((number, value) => `$${number}::${typeOf(value)}`, change);
  }

  protected moment(): string {
    const { server, isReplica, knowsCluster } = this.offered;
    return [
      `${POSTGRES_TIME} AS time_ms`,
      `${BEGAN} AS began_us`,
      `${server} AS server`,
      `${isReplica} AS is_replica`,
      ...(knowsCluster === undefined ? [] : [`${KNOWS_CLUSTER} AS knows_cluster`]),
      `${MARKED} AS in_transaction`,
      `${SET_MARK} AS mark`,
    ].join(', ');
  }

  protected standsOn({ mayBeLost = false }: SqlChange, { of }: Binder): string {
    // Several servers that `serverSql` names may keep writes in another order, by clocks that differ.
    const isOne = this.stamps !== undefined;
    const isNext = isOne ? `${BEGAN} >= ${of(() => this.beganUs)} AND ` : '';
    const waits = mayBeLost && isOne ? POSTGRES_SOON : POSTGRES_DURABLY;
    return `${isNext}${this.offered.server} = ${of(({ server }) => server)} AND ${waits}`;
  }

  /** Every write returns one row, so a driver that hides an error returns none. */
  protected withRowCount(write: string, writing: Writing, telling?: string): string {
    const ending = writing === 'insert' ? this.conflict : '';
    const isOther = `xmin::text <> ${STAMPS.written}`;
    const isNested = this.stamps === undefined || writing === 'delete' ? 'false' : isOther;
    const answer = [
      `SELECT count(*)::int AS written`,
      `(${MARKED} OR coalesce(bool_or(is_nested), false)) AS in_transaction`,
      ...(this.stamps === undefined ? [] : [`${TRANSACTION} AS transaction_id`]),
      ...(telling === undefined ? [] : [`CASE WHEN count(*) > 0 THEN ${telling} END AS told`]),
      `CASE WHEN count(*) > 0 THEN ${SET_MARK} END AS mark FROM changed`,
    ].join(', ');
    return `WITH changed AS (${write}${ending} RETURNING ${isNested} AS is_nested) ${answer}`;
  }

  /** Other sessions receive a message when it is committed, and never if it is rolled back. */
  protected override telling({ of }: Binder): string {
    const text = `${POSTGRES_TIME} || ${of(textToTell)}`;
    return `pg_notify(${of(({ channel }) => channel!)}, ${text})`;
  }

  protected joined(...texts: string[]): string {
    return texts.join(' || ');
  }

  protected integer(text: string): string {
    return `${text}::bigint`;
  }

  protected digits(column: string): string {
    return `${column}::text`;
  }
}

/** A message has room for 8000 bytes. */
const TOLD_BYTES_MAX = 7500;

/** The facts of a row for other processes; a row that is too long is omitted. */
function textToTell({ row, nextVersion, headerVersion, server }: SqlChange): string {
  const { key, number, text } = row;
  const told = ` ${nextVersion} ${headerVersion} ${number} ${server} ${key} ${text}`;
  return Buffer.byteLength(told) > TOLD_BYTES_MAX ? '' : told;
}

/*
 * Finds facts about a PostgreSQL server that affect its leases: the consequence for IDs, and the
 * remedy. A fact that the server does not report is not judged.
 */

const ASKED =
  `SELECT current_setting('server_version') AS version, ` +
  `current_setting('fsync') AS fsync, ` +
  `current_setting('full_page_writes') AS full_page_writes, ` +
  `current_setting('synchronous_commit') AS synchronous_commit, ` +
  `pg_is_in_recovery() AS is_replica, ` +
  `has_function_privilege('pg_control_system()', 'execute') AS knows_cluster, ` +
  `(SELECT count(*)::int FROM pg_stat_replication) AS replica_count`;

const UNHARMED: Readonly<Record<SqlTable['kind'], string>> = {
  registry: 'Ids stay unique',
  counters: 'Ids stay unique',
  locks: 'Each lock has one holder',
};

async function postgresAdvice(query: SqlQuery, kind: SqlTable['kind']): Promise<string[]> {
  const [row] = rowsOf(await query(ASKED, []));
  return adviceOf(row ?? {}, kind);
}

function adviceOf(row: SqlRow, kind: SqlTable['kind']): string[] {
  const off = ['fsync', 'full_page_writes'].filter((name) => textIn(row, name) === 'off');
  const found = off.map(
    (name) =>
      `PostgreSQL runs with ${name} off: a crash of its host can spoil the whole database. ` +
      `${UNHARMED[kind]} as long as it starts again with what it had or with nothing; switch ` +
      `${name} on.`,
  );
  if (flagOf(row, 'knows_cluster')) return found;
  return [
    ...found,
    'This user may not ask which database cluster this is, so a server is known by the moment of ' +
      'its start alone. Allow it: GRANT EXECUTE ON FUNCTION pg_control_system() TO <user>.',
  ];
}

async function postgresFindings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]> {
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
