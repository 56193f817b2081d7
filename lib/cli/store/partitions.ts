/**
 * The range partitions of a table by the IDs of its rows. One file contains PostgreSQL and MariaDB,
 * because a step has the same parts in both.
 *
 * Guarantee: each step decides under a lock, from the current table, and takes effect completely or
 * not at all. So callers may run at once and be interrupted. A step waits one second for other
 * sessions and lasts a few seconds; then it gives up and changes nothing. A row leaves the
 * catch-all partition only in the step that creates its new partition.
 */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { databaseOf } from '../../stores/schemes.js';

type Session = Awaited<ReturnType<Awaited<ReturnType<typeof databaseOf>>['open']>>;

/** The partitioning of a table. */
export interface PartitionedBy {
  /** The name with or without its schema. */
  readonly table: string;
  readonly column: string;
  /** IDs below this one stay in the catch-all partition. */
  readonly floor: bigint;
  /** The first ID of the next period; undefined if that period has not begun. */
  readonly next: (id: bigint) => bigint | undefined;
}

interface IdPartition {
  readonly name: string;
  /** The smallest ID; absent if the partition has no lower bound. */
  readonly from?: bigint;
  /** The first ID above the partition; absent without an upper bound. */
  readonly to?: bigint;
}

export type NewPartition = Required<IdPartition>;

export interface PartitionState {
  /** The clock of the database. */
  readonly databaseMs: number;
  readonly isPartitioned: boolean;
  /** All but the catch-all partition, in no order. */
  readonly partitions: readonly IdPartition[];
  readonly catchAll?: string | undefined;
  /** The smallest ID of each past period in the catch-all partition. */
  readonly strays: readonly bigint[];
}

/** The next step: creates partitions, and a missing catch-all partition, or drops partitions. */
export type PartitionStep =
  { readonly make: readonly NewPartition[] } | { readonly drop: readonly string[] };

interface ReadState extends PartitionState {
  /** The table, quoted. */
  readonly full: string;
  /** PostgreSQL: the columns of a moved row; undefined if rows must not be moved. */
  readonly columns?: string | undefined;
}

type Ask = Session['ask'];

interface PartitionSql {
  /** How many partitions one step creates or drops. */
  readonly stepMax: number;
  /**
   * The name of a partition, which contains the table's name if the partition is itself a table.
   * @param date a date such as 20261125
   */
  nameOf(table: string, date: string): string;
  readonly begin: readonly string[];
  readonly lock: string;
  readonly end: string;
  readonly undo: string;
  read(ask: Ask, by: PartitionedBy): Promise<ReadState>;
  statements(step: PartitionStep, state: ReadState, by: PartitionedBy): string[];
  /** The statements that give a table these partitions. */
  convert(made: readonly NewPartition[], state: ReadState, by: PartitionedBy): string[];
}

const LOCK_S = 1;
const STATEMENT_S = 4;
/** Error codes for a lock timeout and a deadlock. */
const BUSY = ['55P03', '40P01', '1205', '1213'];
/** The default partition has rows that belong in the new partition. */
const HAS_STRAYS = '23514';

export class PartitionedTable {
  readonly sql: PartitionSql;
  /** The table as last read. */
  state: ReadState | undefined;
  private session: Session | undefined;

  constructor(
    private readonly database: Awaited<ReturnType<typeof databaseOf>>,
    private readonly by: PartitionedBy,
  ) {
    this.sql = database.dialect === 'postgres' ? POSTGRES : MARIADB;
  }

  /** The statements of a step, for the table as last read. */
  statements(step: PartitionStep): string[] {
    return this.sql.statements(step, this.state!, this.by);
  }

  convert(made: readonly NewPartition[]): string[] {
    return this.sql.convert(made, this.state!, this.by);
  }

  /**
   * Makes the step that `next` returns for the table; none for undefined.
   * @throws SnowflakeError LOCK_HELD if other sessions use the table; nothing has changed then
   */
  async step(next: (state: PartitionState) => PartitionStep | undefined) {
    try {
      if (this.session === undefined || this.session.isBroken()) {
        this.session = await this.database.open();
      }
      return await this.locked(this.session, next);
    } catch (error) {
      throw isSnowflakeError(error) ? error : this.failure(error);
    }
  }

  close(): void {
    this.session?.destroy();
  }

  private async locked(session: Session, next: Parameters<PartitionedTable['step']>[0]) {
    const { begin, lock, end, undo } = this.sql;
    const ask: Ask = (sql, params) => session.ask(sql, params);
    // The name may include the schema, so the lock uses the table itself.
    const values = (sql: string) => (sql.match(/\?|\$\d/g) ?? []).map(() => this.by.table);
    try {
      for (const sql of begin) await ask(sql);
      const [row] = await ask(lock, values(lock));
      if (Number(row?.['won']) !== 1) throw this.busy('another run of this command is at work');
      this.state = await this.sql.read(ask, this.by);
      const step = next(this.state);
      for (const sql of step === undefined ? [] : this.statements(step)) await ask(sql);
      await ask(end, values(end));
      return step;
    } catch (error) {
      // If a connection cannot roll back, closing it does.
      await ask(undo, values(undo)).catch(() => session.destroy());
      throw error;
    }
  }

  private failure(cause: unknown): SnowflakeError {
    const { table } = this.by;
    const { error, codes } = this.database.failure(cause, table);
    if (codes.some((code) => BUSY.includes(code))) return this.busy(error.message);
    if (error.details['refusal'] === 'slow') {
      return new SnowflakeError(
        'LOCK_HELD',
        `A step on ${table} took longer than ${STATEMENT_S} s, and changed nothing. Either the ` +
          `server is busy, or more rows wait in the catch-all partition than are moved in that ` +
          `time: move them by the statements of --sql, while nobody writes.`,
        { details: { refusal: 'slow' } },
      );
    }
    if (!codes.includes(HAS_STRAYS)) return error;
    return refused(
      `The default partition of ${table} holds ids of a partition that is missing. Its foreign ` +
        `keys, triggers or subscribers would take a move for a deletion. Move those rows manually.`,
    );
  }

  private busy(reason: string): SnowflakeError {
    return new SnowflakeError(
      'LOCK_HELD',
      `The table ${this.by.table} is in use by others (${reason}). This step changed nothing, ` +
        `and they continue. See which transactions stay open, and try again.`,
    );
  }
}

function refused(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `${fault} Nothing was changed.`);
}

/** @throws SnowflakeError CONFIG_INVALID unless the column holds numbers that identify rows */
function checkColumn({ table, column }: PartitionedBy, isTable: boolean, type: unknown): void {
  if (!isTable) throw refused(`There is no table ${table} in this database.`);
  if (type === 'bigint') return;
  throw refused(
    typeof type === 'string'
      ? `The column ${column} of ${table} is a ${type}: only in a bigint are ids in order of time.`
      : `The table ${table} has no column ${column}.`,
  );
}

const idOf = (text: unknown): bigint | undefined =>
  typeof text === 'string' && /^-?\d+$/.test(text) ? BigInt(text) : undefined;

/** @param sql selects the smallest ID that is at least a given one */
async function straysOf(ask: Ask, sql: string, { floor, next }: PartitionedBy): Promise<bigint[]> {
  const strays: bigint[] = [];
  for (let from: bigint | undefined = floor; ;) {
    const [row]: Awaited<ReturnType<Ask>> = await ask(sql, [String(from)]);
    const id = idOf(row?.['id']);
    from = id === undefined ? undefined : next(id);
    if (from === undefined) return strays;
    strays.push(id!);
  }
}

const spanOf = (from: unknown, to: unknown): Omit<IdPartition, 'name'> => {
  const [first, end] = [idOf(from), idOf(to)];
  return { ...(first !== undefined && { from: first }), ...(end !== undefined && { to: end }) };
};

/*
 * PostgreSQL creates a partition next to the table, and locks the table to attach it.
 */

const ownName = (table: string): string => table.split('.').at(-1)!;

const quotedName = (name: string): string =>
  name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');

/** A table in the same schema. */
const beside = (full: string, name: string): string => full.replace(/"[^"]*"$/, `"${name}"`);

const TABLE_OF_POSTGRES = `SELECT
  (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS now,
  (SELECT format('"%s"."%s"', nspname, relname) FROM pg_namespace n
    WHERE n.oid = c.relnamespace) AS full,
  (SELECT format_type(atttypid, NULL) FROM pg_attribute
    WHERE attrelid = c.oid AND attname = $2 AND NOT attisdropped) AS type,
  p.partstrat = 'r' AND p.partnatts = 1 AND p.partattrs[0] = (SELECT attnum FROM pg_attribute
    WHERE attrelid = c.oid AND attname = $2) AS fits,
  (SELECT relname FROM pg_class WHERE oid = p.partdefid) AS "catchAll",
  (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
  EXISTS (SELECT FROM pg_trigger WHERE tgrelid = p.partdefid AND tgtype & 8 > 0) OR EXISTS (
    SELECT FROM pg_publication_tables t JOIN pg_namespace s ON s.nspname = t.schemaname
    JOIN pg_class o ON o.relnamespace = s.oid AND o.relname = t.tablename
    WHERE o.oid IN (c.oid, p.partdefid)) AS triggered
FROM pg_class c LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
WHERE c.oid = to_regclass($1)`;

const PARTITIONS_OF_POSTGRES = `SELECT c.relname AS name,
  pg_get_expr(c.relpartbound, c.oid) AS bound
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)`;

const BOUND = /FROM \('?(-?\d+|MINVALUE)'?\) TO \('?(-?\d+|MAXVALUE)'?\)/;

/** The first half of the lock's key; "PART" in ASCII. */
const LOCK_CLASS = 0x50415254;

const LIKE = 'INCLUDING ALL EXCLUDING IDENTITY';

const POSTGRES: PartitionSql = {
  stepMax: 1,
  nameOf: (table, date) => `${ownName(table)}_p${date}`,
  begin: [
    'BEGIN ISOLATION LEVEL READ COMMITTED',
    `SET LOCAL lock_timeout = '${LOCK_S}s'`,
    `SET LOCAL statement_timeout = '${STATEMENT_S}s'`,
  ],
  lock: `SELECT pg_try_advisory_xact_lock(${LOCK_CLASS},
    COALESCE(to_regclass($1)::oid::int, 0))::int AS won`,
  end: 'COMMIT',
  undo: 'ROLLBACK',
  async read(ask, by) {
    const regclass = quotedName(by.table);
    const [row = {}] = await ask(TABLE_OF_POSTGRES, [regclass, by.column]);
    checkColumn(by, 'now' in row, row['type']);
    const isPartitioned = row['fits'] === true;
    const catchAll = (row['catchAll'] ?? undefined) as string | undefined;
    const full = row['full'] as string;
    const partitions = await ask(PARTITIONS_OF_POSTGRES, [regclass]);
    const sql = `SELECT min("${by.column}")::text AS id FROM ${beside(full, catchAll ?? '')}
      WHERE "${by.column}" >= $1`;
    return {
      databaseMs: Number(row['now']),
      isPartitioned,
      partitions: partitions.flatMap(({ name, bound }) => {
        const [found, from, to] = BOUND.exec(String(bound)) ?? [];
        return found === undefined ? [] : [{ name: String(name), ...spanOf(from, to) }];
      }),
      catchAll,
      strays: isPartitioned && catchAll ? await straysOf(ask, sql, by) : [],
      full,
      columns: row['triggered'] === true ? undefined : String(row['columns']),
    };
  },
  statements(step, { full, catchAll, columns }, { table, column }) {
    if ('drop' in step) {
      return step.drop.flatMap((name) => {
        const gone = beside(full, name);
        return [`ALTER TABLE ${full} DETACH PARTITION ${gone}`, `DROP TABLE ${gone}`];
      });
    }
    const rest = beside(full, catchAll ?? `${ownName(table)}_default`);
    const first = [
      `CREATE TABLE ${rest} (LIKE ${full} ${LIKE})`,
      `ALTER TABLE ${full} ATTACH PARTITION ${rest} DEFAULT`,
    ];
    const made = step.make.flatMap(({ name, from, to }) => {
      const own = beside(full, name);
      const moved = `DELETE FROM ${rest} WHERE "${column}" >= ${from} AND "${column}" < ${to}`;
      return [
        `CREATE TABLE ${own} (LIKE ${full} ${LIKE})`,
        // Without the lock, a concurrent insert into the default partition would fail.
        `LOCK TABLE ONLY ${full} IN ACCESS EXCLUSIVE MODE`,
        // Triggers and subscribers would treat a move as a deletion. Then no row is moved, and
        // attaching fails if rows are there.
        ...(columns === undefined
          ? []
          : [
              `WITH moved AS (${moved} RETURNING ${columns}) ` +
                `INSERT INTO ${own} (${columns}) SELECT ${columns} FROM moved`,
            ]),
        `ALTER TABLE ${full} ATTACH PARTITION ${own} FOR VALUES FROM (${from}) TO (${to})`,
      ];
    });
    return [...(catchAll === undefined ? first : []), ...made];
  },
  convert(made, { full }, { table, column }) {
    const { name, to } = made.at(-1)!;
    const [old, check] = [beside(full, name), `"${ownName(table)}_older"`];
    const oldName = `"${name}"`;
    return [
      `ALTER TABLE ${full} ADD CONSTRAINT ${check} CHECK ("${column}" < ${to}) NOT VALID`,
      `ALTER TABLE ${full} VALIDATE CONSTRAINT ${check}`,
      `ALTER TABLE ${full} RENAME TO ${oldName}`,
      `CREATE TABLE ${full} (LIKE ${old} ${LIKE}) PARTITION BY RANGE ("${column}")`,
      `ALTER TABLE ${full} DROP CONSTRAINT ${check}`,
      `ALTER TABLE ${full} ATTACH PARTITION ${old} FOR VALUES FROM (MINVALUE) TO (${to})`,
      `ALTER TABLE ${old} DROP CONSTRAINT ${check}`,
      `CREATE TABLE ${beside(full, `${ownName(table)}_default`)} PARTITION OF ${full} DEFAULT`,
    ];
  },
};

/*
 * MariaDB. One statement splits the partition without an end into the missing ones and the rest.
 */

const PARTITIONS_OF_MARIADB = `SELECT
  CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS CHAR) AS now,
  VERSION() AS version, c.DATA_TYPE AS type, t.TABLE_NAME AS own, p.PARTITION_NAME AS name,
  p.PARTITION_DESCRIPTION AS bound, p.PARTITION_METHOD = 'RANGE' AND p.SUBPARTITION_NAME IS NULL
    AND REPLACE(p.PARTITION_EXPRESSION, '\`', '') = ? AS fits
FROM information_schema.TABLES t
LEFT JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA
  AND c.TABLE_NAME = t.TABLE_NAME AND c.COLUMN_NAME = ?
LEFT JOIN information_schema.PARTITIONS p ON p.TABLE_SCHEMA = t.TABLE_SCHEMA
  AND p.TABLE_NAME = t.TABLE_NAME
WHERE t.TABLE_SCHEMA = COALESCE(?, DATABASE()) AND t.TABLE_NAME = ?
ORDER BY p.PARTITION_ORDINAL_POSITION`;

const LOCK_NAME = `CONCAT('partitions of ', IF(LOCATE('.', ?), '', CONCAT(DATABASE(), '.')), ?)`;

const definitions = (made: readonly NewPartition[], rest: string): string => {
  const below = made.map(({ name, to }) => `PARTITION \`${name}\` VALUES LESS THAN (${to})`);
  return [...below, `PARTITION \`${rest}\` VALUES LESS THAN MAXVALUE`].join(',\n  ');
};

const MARIADB: PartitionSql = {
  stepMax: 1000,
  nameOf: (_table, date) => `p${date}`,
  begin: [`SET SESSION lock_wait_timeout = ${LOCK_S}`],
  lock: `SELECT GET_LOCK(${LOCK_NAME}, 0) AS won`,
  end: `SELECT RELEASE_LOCK(${LOCK_NAME})`,
  undo: `SELECT RELEASE_LOCK(${LOCK_NAME})`,
  async read(ask, by) {
    const [name, schema = null] = by.table.split('.').reverse() as [string, string?];
    const { column } = by;
    const rows = await ask(PARTITIONS_OF_MARIADB, [column, column, schema, name]);
    const [first = {}] = rows;
    checkColumn(by, 'own' in first, first['type']);
    if (!/mariadb/i.test(String(first['version']))) {
      throw refused('This server is a MySQL, and partitions are made on MariaDB and PostgreSQL.');
    }
    await ask(`SET SESSION max_statement_time = ${STATEMENT_S}`);
    const full = by.table
      .split('.')
      .map((part) => `\`${part}\``)
      .join('.');
    const isPartitioned = rows.every(({ fits }) => Number(fits) === 1);
    const catchAll = rows.find(({ bound }) => bound === 'MAXVALUE')?.['name'] as string | undefined;
    const sql = `SELECT CAST(MIN(\`${column}\`) AS CHAR) AS id
      FROM ${full} PARTITION (\`${catchAll}\`) WHERE \`${column}\` >= ?`;
    return {
      databaseMs: Number(first['now']),
      isPartitioned,
      partitions: rows
        .map((row, at) => ({
          name: String(row['name']),
          ...spanOf(rows[at - 1]?.['bound'], row['bound']),
        }))
        .filter(({ to }) => to !== undefined),
      catchAll,
      strays: isPartitioned && catchAll ? await straysOf(ask, sql, by) : [],
      full,
    };
  },
  statements(step, { full, catchAll }) {
    if ('drop' in step) {
      const names = step.drop.map((name) => `\`${name}\``).join(', ');
      return [`ALTER TABLE ${full} DROP PARTITION ${names}`];
    }
    const list = definitions(step.make, catchAll ?? 'pmax');
    const how =
      catchAll === undefined ? 'ADD PARTITION (' : `REORGANIZE PARTITION \`${catchAll}\` INTO (`;
    return [`ALTER TABLE ${full} ${how}\n  ${list})`];
  },
  convert: (made, { full }, { column }) => [
    `ALTER TABLE ${full} PARTITION BY RANGE (\`${column}\`) (\n  ${definitions(made, 'pmax')})`,
  ],
};
