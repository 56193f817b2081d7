/**
 * A database under the contract suite, with the time and the server in the hands of the test: the
 * support as it is, on a query function that replaces both in each statement.
 */
import { randomUUID } from 'node:crypto';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import type { SqlParameter, SqlQuery } from '../../lib/stores/sql/sql-connection.js';
import { SettableTime, type HarnessParts } from '../../lib/testing/index.js';

const LOSS_WINDOW_MS = 5000;
const COLUMNS = 'worker_id, version, ceiling, token, data';

export interface SqlBench {
  readonly query: () => SqlQuery;
  readonly table: string;
  /** What stands in statements for time and server. */
  readonly time: string;
  readonly server: string;
  /** Of values in statements that the test itself sends. */
  readonly mark: (number: number) => string;
  support(query: SqlQuery, options: object): IDistributedSupport;
}

export function sqlStore(harness: SqlBench): Omit<HarnessParts, 'expect'> {
  const clock = new SettableTime();
  const tables = new SettableTables(harness, clock);
  return {
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    createSupport: (name) =>
      harness.support(tables.settled(name), {
        namespace: tables.namespaceOf(name),
        table: harness.table,
        failoverWindowMs: LOSS_WINDOW_MS,
        clockDifferenceMs: 0,
      }),
    versionControl: {
      raise: (name) => tables.setVersion(name, '1', '2'),
      lower: (name) => tables.setVersion(name, '2', '1'),
    },
    lossControl: {
      wipe: (name) => tables.wipe(tables.namespaceOf(name)),
      restart: (name) => tables.changeServer(name),
      remember: (name) => tables.remember(name),
      restore: (name) => tables.restore(name),
    },
  };
}

class SettableTables {
  private readonly servers = new Map<string, string>();
  private readonly run = randomUUID().slice(0, 8);

  constructor(
    private readonly harness: SqlBench,
    private readonly clock: SettableTime,
  ) {}

  namespaceOf(name: string): string {
    return `${this.run}/${name}`.replaceAll(' ', '_').slice(0, 120);
  }

  settled(name: string): SqlQuery {
    const { time, server, query } = this.harness;
    return (sql, params) => {
      const timed = sql.replaceAll(time, String(this.clock.now()));
      return query()(timed.replaceAll(server, `'${this.serverOf(name)}'`), params);
    };
  }

  changeServer(name: string): void {
    this.servers.set(name, `${this.serverOf(name)}+`);
  }

  async setVersion(name: string, from: string, to: string): Promise<void> {
    const [then, now] = [from, to].map((version) => `"version":"${version}"`);
    await this.ask(
      // As whoever writes a row, it counts that.
      `UPDATE ${this.harness.table} SET version = version + 1, data = replace(data, ?, ?) ` +
        `WHERE namespace = ? AND worker_id = -1`,
      [then!, now!, this.namespaceOf(name)],
    );
  }

  async wipe(namespace: string): Promise<void> {
    await this.ask(`DELETE FROM ${this.harness.table} WHERE namespace = ?`, [namespace]);
  }

  remember(name: string): Promise<void> {
    return this.copy(this.namespaceOf(name), this.keptName(name));
  }

  async restore(name: string): Promise<void> {
    await this.copy(this.keptName(name), this.namespaceOf(name));
    this.changeServer(name);
  }

  private async copy(from: string, to: string): Promise<void> {
    const { table } = this.harness;
    await this.wipe(to);
    await this.ask(
      `INSERT INTO ${table} (namespace, ${COLUMNS}) ` +
        `SELECT kept.namespace, ${COLUMNS} FROM (SELECT ? AS namespace) kept, ` +
        `(SELECT ${COLUMNS} FROM ${table} WHERE namespace = ?) rows_of`,
      [to, from],
    );
  }

  private ask(sql: string, params: SqlParameter[]): Promise<unknown> {
    let number = 0;
    const marked = sql.replaceAll('?', () => this.harness.mark(++number));
    return this.harness.query()(marked, params);
  }

  private keptName(name: string): string {
    return `${this.namespaceOf(name)}:kept`;
  }

  private serverOf(name: string): string {
    return this.servers.get(name) ?? 'server0';
  }
}
