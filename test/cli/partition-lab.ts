/**
 * A table with partitions in its own database, on PostgreSQL or MariaDB, for `snowflake
 * partitions`.
 */
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { layouts, type BitLayout } from 'nestjs-snowflake/core';
import { ownDatabase, type OwnDatabase } from '../own-database.js';
import { command, type Answer } from './run-command.js';

export const DAY_MS = 86_400_000;
export type Row = Record<string, unknown>;
export type Dialect = 'postgres' | 'mariadb';

const CREATE: Readonly<Record<Dialect, readonly string[]>> = {
  postgres: [
    'CREATE TABLE $ (id bigint PRIMARY KEY, note text) PARTITION BY RANGE (id)',
    'CREATE TABLE $_default PARTITION OF $ DEFAULT',
  ],
  mariadb: [
    `CREATE TABLE $ (id BIGINT PRIMARY KEY, note TEXT) PARTITION BY RANGE (id)
      (PARTITION pmax VALUES LESS THAN MAXVALUE)`,
  ],
};

const NAMES: Readonly<Record<Dialect, string>> = {
  postgres: `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass('$') ORDER BY 1`,
  mariadb: `SELECT PARTITION_NAME AS name FROM information_schema.PARTITIONS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '$' AND PARTITION_NAME IS NOT NULL ORDER BY 1`,
};

export class PartitionLab {
  private own: OwnDatabase | undefined;
  private postgres: Pool | undefined;
  private mariadb: MysqlPool | undefined;
  private tables = 0;

  constructor(readonly dialect: Dialect) {}

  async open(): Promise<void> {
    const isPostgres = this.dialect === 'postgres';
    this.own = await ownDatabase(process.env[isPostgres ? 'DATABASE_URL' : 'MYSQL_URL']!);
    if (isPostgres) this.postgres = new Pool({ connectionString: this.url, max: 12 });
    else this.mariadb = createPool({ uri: this.url, supportBigNumbers: true });
  }

  async close(): Promise<void> {
    await this.postgres?.end();
    await this.mariadb?.end();
    await this.own?.drop();
  }

  get url(): string {
    return this.own!.url;
  }

  async run(sql: string): Promise<Row[]> {
    if (this.postgres !== undefined) return (await this.postgres.query<Row>(sql)).rows;
    const [rows] = await this.mariadb!.query(sql);
    return rows as Row[];
  }

  /** A separate session; `end` rolls back its transaction. */
  async session(): Promise<{ run(sql: string): Promise<unknown>; end(): Promise<void> }> {
    if (this.postgres !== undefined) {
      const client = await this.postgres.connect();
      return {
        run: (sql) => client.query(sql),
        end: async () => {
          await client.query('ROLLBACK');
          client.release();
        },
      };
    }
    const connection = await this.mariadb!.getConnection();
    return {
      run: (sql) => connection.query(sql),
      end: async () => {
        await connection.query('ROLLBACK');
        connection.release();
      },
    };
  }

  newName(): string {
    return `orders_${++this.tables}`;
  }

  /** A table with only the catch-all partition. */
  async table(): Promise<string> {
    const name = this.newName();
    for (const sql of CREATE[this.dialect]) await this.run(sql.replaceAll('$', name));
    return name;
  }

  async plainTable(type = 'BIGINT'): Promise<string> {
    const name = this.newName();
    await this.run(`CREATE TABLE ${name} (id ${type} PRIMARY KEY, note TEXT)`);
    return name;
  }

  insert(table: string, ids: readonly bigint[]): Promise<Row[]> {
    return this.run(
      `INSERT INTO ${table} (id, note) VALUES ${ids.map((id) => `(${id}, 'n')`).join(', ')}`,
    );
  }

  /** Names the catch-all partition for a query. */
  restOf(table: string): string {
    return this.dialect === 'postgres' ? `${table}_default` : `${table} PARTITION (pmax)`;
  }

  /** Names the partition of a date, such as 20261125, for a query. */
  partOf(table: string, date: string): string {
    return this.dialect === 'postgres' ? `${table}_p${date}` : `${table} PARTITION (p${date})`;
  }

  async count(from: string): Promise<number> {
    const [row] = await this.run(`SELECT COUNT(*) AS count FROM ${from}`);
    return Number(row!['count']);
  }

  async ids(from: string): Promise<bigint[]> {
    const rows = await this.run(`SELECT id FROM ${from} ORDER BY id`);
    return rows.map(({ id }) => BigInt(id as string));
  }

  /** The dates of the partitions, in order. */
  async dates(table: string): Promise<string[]> {
    const rows = await this.run(NAMES[this.dialect].replaceAll('$', table));
    return rows.flatMap(({ name }) => /p(\d{8})$/.exec(name as string)?.[1] ?? []).toSorted();
  }

  /** The partitions that a query reads, according to its plan. */
  async touched(query: string): Promise<string[]> {
    if (this.postgres !== undefined) {
      const rows = await this.run(`EXPLAIN (FORMAT JSON) ${query}`);
      const names = JSON.stringify(rows).matchAll(/"Relation Name":"(\w+)"/g);
      return [...new Set(Array.from(names, ([, name]) => name!))];
    }
    const rows = await this.run(`EXPLAIN PARTITIONS ${query}`);
    return rows.flatMap(({ partitions }) => ((partitions as string | null) ?? '').split(','));
  }

  command(table: string, ...args: readonly string[]): Promise<Answer> {
    // A busy machine needs more patience.
    const patient = args.includes('--wait') ? [] : ['--wait', '300000'];
    return command(['partitions', '--url', this.url, '--table', table, ...patient, ...args]);
  }
}

/** An ID with this time. */
export function idAt(ms: number, sequence = 0, layout: BitLayout = layouts.snowflake()): bigint {
  return layout.compose({ timestampMs: ms, workerId: 7, sequence });
}

export const dateOf = (ms: number): string =>
  new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');

/** The statements that `--sql` prints. */
export const statementsIn = (lines: readonly string[]): string[] =>
  lines
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .split(/;\n?/)
    .filter((sql) => sql !== '');
