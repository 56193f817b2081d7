/**
 * A PostgreSQL server that can be killed and started again on its port, with its data or with an
 * older copy of them. Its settings are those under which a crash loses the most.
 */
import { spawnSync } from 'node:child_process';
import { realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { requireServers } from '../../../scripts/servers/binaries.mjs';
import { freePort } from '../../../scripts/servers/free-port.mjs';
import { serverFolder, startProcess } from '../../../scripts/servers/server-process.mjs';
import { until } from '../until.mjs';
import { DiskNode } from './disk-node.mjs';
import { ran } from './store-fault.mjs';

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'synchronous_commit=off',
  'wal_writer_delay=10s',
  'restart_after_crash=on',
  // What the host loses is not attacked here; without it a checkpoint takes a moment.
  'fsync=off',
];

export class PostgresNode extends DiskNode {
  // The rest of its commands lie where a link leads.
  bin = dirname(realpathSync(requireServers(['postgres']).postgres));

  constructor() {
    super('postgres');
  }

  async create() {
    await this.#run('initdb', ['-D', this.data, '-U', 'postgres', '--auth=trust', '--no-sync']);
    await this.start();
  }

  /** Begins as a standby of the primary behind this port, with a copy of its data. */
  async follow(/** @type {number} */ port) {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
    const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
    await this.#run('pg_basebackup', ['-D', this.data, ...from, '-R', '-c', 'fast', '--no-sync']);
    await this.start();
  }

  async start() {
    this.port ||= await freePort();
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
    const run = serverFolder('chaos-run', this.user);
    const settings = SETTINGS.flatMap((set) => ['-c', set]);
    this.server = await startProcess({
      command: join(this.bin, 'postgres'),
      args: ['-D', this.data, '-p', String(this.port), '-k', run, ...settings],
      folder: run,
      user: this.user,
      isReady: () => this.sql('SELECT 1').then(Boolean, () => false),
    });
  }

  /** One statement of the operator. @returns {Promise<any[]>} */
  async sql(/** @type {string} */ text) {
    const login = { user: 'postgres', database: 'postgres', host: '127.0.0.1', port: this.port };
    // What the operator does is to last, whatever is killed after it.
    const options = '-c synchronous_commit=on';
    const client = new Client({ ...login, options, connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(text)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** What pg_dump writes of a table. */
  dump(/** @type {string} */ table) {
    const what = ['--clean', '--if-exists', '-t', table, '-f', this.#dumped];
    return this.#run('pg_dump', [...this.#reached, ...what]);
  }

  /** Loads it while the server runs. */
  load() {
    return this.#run('psql', [...this.#reached, '-q', '-v', 'ON_ERROR_STOP=1', '-f', this.#dumped]);
  }

  get #dumped() {
    return join(this.folder, 'dump.sql');
  }

  get #reached() {
    return ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres'];
  }

  /** Until it takes connections again, after it recovered from a crash of one of its own. */
  async until() {
    await until(() => this.sql('SELECT 1'), 60_000);
  }

  /** kill -9 of the server and, at the same moment, of all that it started. */
  async kill() {
    if (this.server !== undefined) spawnSync('pkill', ['-9', '-P', String(this.pid)]);
    await super.kill();
  }

  #run(/** @type {string} */ command, /** @type {string[]} */ args) {
    return ran(join(this.bin, command), args, { cwd: this.folder, ...this.user });
  }
}
