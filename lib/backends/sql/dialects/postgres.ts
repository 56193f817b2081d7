/**
 * The registry in PostgreSQL, and in PGlite, which is one.
 *
 * Promise: a write is on disk before it is acknowledged, even where synchronous_commit is off; and
 * inside a transaction that somebody else may roll back nothing counts as written.
 */
import { SnowflakeError } from '../../../errors.js';
import type { SliceQuestion } from '../../../registry/slice-store.js';
import { Binder, oddAnswer, rowsOf, type SqlQuery, type SqlRow } from '../sql-query.js';
import type { Statement } from '../sql-query.js';
import type { Dialect, RegistryTable, RowChange, Statements } from './dialect.js';
import { postgresAdvice, postgresFindings } from './postgres-findings.js';
import { answered, flagOf } from './rows.js';

/** In Unix milliseconds. */
export const POSTGRES_TIME = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const STARTED = 'floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text';
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';
/** The cluster, and since when its server has run: a restart and a failover change it. */
export const POSTGRES_SERVER = `${CLUSTER} || '/' || ${STARTED}`;
/** For a user who may not ask for the first half. */
export const POSTGRES_SERVER_UNPRIVILEGED = STARTED;

/** Visible to a later statement of the same transaction alone. */
const MARK = 'snowflake.statement';
const MARKED = `coalesce(current_setting('${MARK}', true), '') <> ''`;
/** A write that is acknowledged and then lost by a crash would be granted twice. */
export const POSTGRES_DURABLY =
  `set_config('synchronous_commit', CASE current_setting('synchronous_commit') ` +
  `WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true) <> ''`;

/** Serialization failure, deadlock, lock not available. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

export class PostgresDialect implements Dialect {
  readonly name = 'postgres';
  readonly title = 'PostgreSQL';

  constructor(private readonly serverSql?: string) {}

  async prepare(query: SqlQuery, place: RegistryTable): Promise<Statements> {
    return new PostgresStatements(place, this.serverSql ?? (await serverOf(query)));
  }

  isConflict(codes: readonly string[]): boolean {
    return codes.some((code) => CONFLICTS.has(code));
  }

  advice(query: SqlQuery): Promise<string[]> {
    return postgresAdvice(query);
  }

  findings = postgresFindings;
}

async function serverOf(query: SqlQuery): Promise<string> {
  const sql = `SELECT has_function_privilege('pg_control_system()', 'execute') AS allowed`;
  const [row] = rowsOf(await query(sql, []));
  return flagOf(row, 'allowed') ? POSTGRES_SERVER : POSTGRES_SERVER_UNPRIVILEGED;
}

const binder = () =>
  new Binder((number, value) => `$${number}::${typeof value === 'number' ? 'bigint' : 'text'}`);

class PostgresStatements implements Statements {
  constructor(
    private readonly place: RegistryTable,
    private readonly server: string,
  ) {}

  read({ workerIds, token }: SliceQuestion): Statement {
    const { of, list, params } = binder();
    const namespace = of(this.place.namespace);
    const ids = `r.worker_id IN (${list([-1, ...workerIds])})`;
    const asked = token === undefined ? ids : `(${ids} OR r.token = ${of(token)})`;
    return { sql: this.select(`r.namespace = ${namespace} AND ${asked}`), params };
  }

  readAll(): Statement {
    const { of, params } = binder();
    return { sql: this.select(`r.namespace = ${of(this.place.namespace)}`), params };
  }

  ceilings(min: number, max: number): Statement {
    const { of, params } = binder();
    const sql =
      `SELECT worker_id, ceiling FROM ${this.place.table} ` +
      `WHERE namespace = ${of(this.place.namespace)} ` +
      `AND worker_id BETWEEN ${of(min)} AND ${of(max)}`;
    return { sql, params };
  }

  write(change: RowChange): Statement {
    const { of, params } = binder();
    const write = change.version === undefined ? this.insert(change, of) : this.update(change, of);
    // One row comes back whatever happened: a driver that swallows an error has none.
    const sql =
      `WITH changed AS (${write} RETURNING 1) ` +
      `SELECT count(*)::int AS written, ${MARKED} AS in_transaction FROM changed`;
    return { sql, params };
  }

  isWritten(answer: unknown): boolean {
    const [row] = rowsOf(answer);
    if (row === undefined) throw oddAnswer('no row');
    this.check(row);
    return answered(row, 'written') === 1;
  }

  check(row: SqlRow): void {
    if (!flagOf(row, 'in_transaction')) return;
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      'The query function of the SQL support runs inside a transaction that is open. What is ' +
        'leased there could be rolled back and leased twice. Give it the pool, not a client or a ' +
        'manager that is bound to a transaction.',
      { retryable: false },
    );
  }

  private select(where: string): string {
    const columns = 'r.worker_id, r.version, r.ceiling, r.token, r.data';
    return (
      `SELECT s.time_ms, s.server, s.in_transaction, ${columns} FROM (` +
      `SELECT ${POSTGRES_TIME} AS time_ms, ${this.server} AS server, ` +
      `${MARKED} AS in_transaction, set_config('${MARK}', 'open', true) AS mark) s ` +
      `LEFT JOIN ${this.place.table} r ON ${where}`
    );
  }

  private insert(change: RowChange, of: Binder['of']): string {
    const { table, namespace } = this.place;
    const { workerId, nextVersion, ceilingMs, token, text } = change;
    const values = [namespace, workerId, nextVersion, ceilingMs, token, text].map(of).join(', ');
    return (
      `INSERT INTO ${table} (namespace, worker_id, version, ceiling, token, data) ` +
      `SELECT ${values} WHERE ${this.conditions(change, of)} ON CONFLICT DO NOTHING`
    );
  }

  private update(change: RowChange, of: Binder['of']): string {
    const { table, namespace } = this.place;
    const { workerId, version, nextVersion, ceilingMs, token, text } = change;
    return (
      `UPDATE ${table} SET version = ${of(nextVersion)}, ceiling = ${of(ceilingMs)}, ` +
      `token = ${of(token)}, data = ${of(text)} ` +
      `WHERE namespace = ${of(namespace)} AND worker_id = ${of(workerId)} ` +
      `AND version = ${of(version!)} AND ${this.conditions(change, of)}`
    );
  }

  private conditions({ server, headerVersion }: RowChange, of: Binder['of']): string {
    const { table, namespace } = this.place;
    const header =
      headerVersion === undefined
        ? ''
        : `EXISTS (SELECT 1 FROM ${table} h WHERE h.namespace = ${of(namespace)} ` +
          `AND h.worker_id = -1 AND h.version = ${of(headerVersion)}) AND `;
    return `${header}${this.server} = ${of(server)} AND ${POSTGRES_DURABLY}`;
  }
}
