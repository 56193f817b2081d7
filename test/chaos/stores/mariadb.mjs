/**
 * A registry in MariaDB under attack.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { requireServers } from '../../../scripts/servers/binaries.mjs';
import { freePort } from '../../../scripts/servers/ports.mjs';
import { serverFolder, startProcess } from '../../../scripts/servers/server-process.mjs';
import { createMariadb } from '../../../scripts/servers/start-mariadb.mjs';
import {
  until,
  ran,
  NETWORK_FAULTS,
  forgetLease,
  isRemoved,
  loadDump,
  rightsTaken,
  storeFault,
  STORE_PACE,
  DiskNode,
} from '../fault.mjs';
import { Proxy } from '../proxy.mjs';

// A MariaDB server that can be killed and restarted on its port, with its data or an older copy. It
// flushes its log once a second, so a crash loses as much as possible.

/** Small, since it is killed and copied often. */
const SMALL = [
  '--innodb-buffer-pool-size=16M',
  '--innodb-log-file-size=8M',
  '--key-buffer-size=1M',
];

export class MariadbNode extends DiskNode {
  constructor() {
    super('mariadb');
  }

  /** @param {readonly string[]} more arguments, such as `--sync-binlog=1` */
  async create(more = this.more) {
    this.port = await freePort();
    const { folder, user, port } = this;
    this.made = createMariadb({ folder, user, port, more: [...SMALL, ...more] });
    await this.start();
  }

  async start() {
    const { command, args } = /** @type {any} */ (this.made);
    const run = serverFolder('chaos-run', this.user);
    const { env, disk } = this;
    this.server = await startProcess({
      command,
      args,
      folder: run,
      user: this.user,
      ...(env && { env }),
      ...(disk && { disk }),
      isReady: () => this.sql('SELECT 1').then(Boolean, () => false),
    });
  }

  /** The dump of a table by mysqldump. */
  dump(/** @type {string} */ table) {
    const { mysql } = requireServers(['mysql']);
    const command = `${mysql.replace(/mariadb$/, '$&-')}dump`;
    return ran(command, [...this.#reached, `--result-file=${this.#dumped}`, 'test', table]);
  }

  /** Loads the dump while the server runs, and again if a write came before its rows. */
  load() {
    const { mysql } = requireServers(['mysql']);
    const args = [...this.#reached, 'test', '-e', `source ${this.#dumped}`];
    return until(() => ran(mysql, args).then(() => true));
  }

  get #dumped() {
    return join(this.folder, 'dump.sql');
  }

  get #reached() {
    return ['--no-defaults', '-h', '127.0.0.1', '-P', String(this.port), '-u', 'root'];
  }

  /** One statement of the operator. @returns {Promise<any>} */
  async sql(/** @type {string} */ text) {
    const login = { host: '127.0.0.1', port: this.port, user: 'root', database: 'test' };
    const connection = await createConnection({ ...login, connectTimeout: 5000 });
    try {
      const [answer] = await connection.query(text);
      return answer;
    } finally {
      connection.destroy();
    }
  }
}

const TABLE = 'snowflake_registry';
export const CREATE_MARIADB =
  `CREATE TABLE IF NOT EXISTS ${TABLE} (namespace varchar(200) NOT NULL, ` +
  `kind varchar(16) NOT NULL, name varchar(128) NOT NULL, version bigint NOT NULL, ` +
  `number bigint NOT NULL, token varchar(200), data text NOT NULL, ` +
  `PRIMARY KEY (namespace, kind, name)) ` +
  `ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;
const CONNECTIONS = `SELECT id FROM information_schema.processlist WHERE user = 'shop'`;

const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE';
const rightsOn = (/** @type {string} */ table) => {
  const right = (/** @type {string} */ name) =>
    /** @type {const} */ ([
      `REVOKE ${name} ON ${table} FROM shop@'127.0.0.1'`,
      `GRANT ${name} ON ${table} TO shop@'127.0.0.1'`,
    ]);
  return [right('UPDATE'), right('SELECT'), right(RIGHTS)];
};

const deleted = (/** @type {MariadbNode} */ node, where = 'true') =>
  isRemoved(async () => {
    const { affectedRows } = await node.sql(`DELETE FROM ${TABLE} WHERE ${where}`);
    return affectedRows;
  });

/** A connection may end before its kill. */
const killed = (/** @type {MariadbNode} */ node, /** @type {{ id: number }} */ { id }) =>
  node.sql(`KILL CONNECTION ${id}`).then(
    () => true,
    () => false,
  );

export const MARIADB_FAULTS = [
  storeFault('mariadb kill -9', async ({ node }) => {
    await node.kill();
    await node.start();
  }),
  storeFault('mariadb from an old copy', ({ node }, world) =>
    forgetLease(world, { keep: () => node.backup(), forget: () => node.restore() }),
  ),
  storeFault('mariadb dump loaded while it runs', loadDump),
  storeFault('mariadb settings changed', async ({ node }) => {
    const set = ['innodb_flush_log_at_trx_commit', 'sync_binlog', 'time_zone', 'sql_mode'];
    const to = { innodb_flush_log_at_trx_commit: 1, sync_binlog: 1, time_zone: "'+05:45'" };
    for (const name of [...set, 'read_only']) {
      const value = to[/** @type {keyof typeof to} */ (name)] ?? (name === 'read_only' ? 1 : "''");
      await node.sql(`SET GLOBAL ${name} = ${value}`);
      // Open connections keep their values.
      for (const row of await node.sql(CONNECTIONS)) await killed(node, row);
      await sleep(500);
    }
    const before = { innodb_flush_log_at_trx_commit: 0, time_zone: "'SYSTEM'", read_only: 0 };
    for (const [name, value] of Object.entries(before)) {
      await node.sql(`SET GLOBAL ${name} = ${value}`);
    }
  }),
  storeFault('mariadb flushes no more, killed', async ({ node, forgetful }, world) => {
    const set = (/** @type {number} */ value) =>
      node.sql(`SET GLOBAL innodb_flush_log_at_trx_commit = ${value}`);
    await set(1);
    await sleep(1500);
    return forgetful(world, {
      keep: () => set(0),
      async forget() {
        await node.kill();
        await node.start();
      },
    });
  }),
  storeFault('mariadb rights taken away', ({ node, table }) => rightsTaken(node, rightsOn(table))),
  storeFault('mariadb connection killed', async ({ node }) => {
    const [row] = await node.sql(CONNECTIONS);
    return row !== undefined && (await killed(node, row));
  }),
  storeFault('mariadb connections killed', async ({ node }) => {
    let count = 0;
    for (const row of await node.sql(CONNECTIONS)) if (await killed(node, row)) count++;
    return count > 0;
  }),
  storeFault('mariadb rows deleted', ({ node }) => deleted(node)),
  storeFault('mariadb header deleted', ({ node }) => deleted(node, "name = '|'")),
  storeFault('mariadb workers deleted', ({ node }) => deleted(node, "name <> '|'")),
  storeFault('mariadb table created again', async ({ node }) => {
    await node.sql(`DROP TABLE ${TABLE}`);
    await sleep(500);
    await node.sql(CREATE_MARIADB);
  }),
  storeFault('mariadb SIGSTOP', async ({ node }) => {
    process.kill(node.pid, 'SIGSTOP');
    await sleep(2500);
    process.kill(node.pid, 'SIGCONT');
  }),
];

export class Mariadb {
  name = 'mariadb';
  create = CREATE_MARIADB;
  table = TABLE;
  forgetful = forgetLease;
  quarantineMs = 0;
  pace = STORE_PACE;
  faults = [...MARIADB_FAULTS, ...NETWORK_FAULTS];
  proxy = new Proxy();
  node = new MariadbNode();

  async start() {
    await this.node.create();
    await this.node.sql(this.create);
    await this.node.sql(`CREATE USER shop@'127.0.0.1'`);
    // Rights on a table survive its deletion.
    await this.node.sql(`GRANT ${RIGHTS} ON ${this.table} TO shop@'127.0.0.1'`);
    await this.proxy.listen(() => this.node.port);
    const query = 'namespace=chaos&replicated=false';
    return `mysql://shop@127.0.0.1:${this.proxy.port}/test?${query}`;
  }

  async stop() {
    this.proxy.close();
    await this.node.stop();
  }
}
