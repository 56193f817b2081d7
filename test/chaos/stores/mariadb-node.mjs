/**
 * A MariaDB server that can be killed and started again on its port, with its data or with an
 * older copy of them. It flushes its log once a second, so that a crash loses what it can.
 */
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { requireServers } from '../../../scripts/servers/binaries.mjs';
import { freePort } from '../../../scripts/servers/free-port.mjs';
import { serverFolder, startProcess } from '../../../scripts/servers/server-process.mjs';
import { createMariadb } from '../../../scripts/servers/start-mariadb.mjs';
import { until } from '../until.mjs';
import { DiskNode } from './disk-node.mjs';
import { ran } from './store-fault.mjs';

/** Small, since it is killed and copied again and again. */
const SMALL = [
  '--innodb-buffer-pool-size=16M',
  '--innodb-log-file-size=8M',
  '--key-buffer-size=1M',
];

export class MariadbNode extends DiskNode {
  constructor() {
    super('mariadb');
  }

  /** @param {readonly string[]} more arguments, as in `--sync-binlog=1` */
  async create(more = []) {
    this.port = await freePort();
    const { folder, user, port } = this;
    this.made = createMariadb({ folder, user, port, more: [...SMALL, ...more] });
    await this.start();
  }

  async start() {
    const { command, args } = /** @type {any} */ (this.made);
    const run = serverFolder('chaos-run', this.user);
    this.server = await startProcess({
      command,
      args,
      folder: run,
      user: this.user,
      isReady: () => this.sql('SELECT 1').then(Boolean, () => false),
    });
  }

  /** What mysqldump writes of a table. */
  dump(/** @type {string} */ table) {
    const { mysql } = requireServers(['mysql']);
    const command = `${mysql.replace(/mariadb$/, '$&-')}dump`;
    return ran(command, [...this.#reached, `--result-file=${this.#dumped}`, 'test', table]);
  }

  /** Loads it while the server runs; again where somebody wrote before its rows were loaded. */
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
