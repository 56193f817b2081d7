/**
 * A Redis server that can be killed and started again on its port, with its data, without, or
 * from an older file.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';

/** Every write reaches the disk before it is acknowledged. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const LOGIN = ['--masteruser', 'repl', '--masterauth', 'repl'];
const REPLICATION = [...LOGIN, '--repl-diskless-sync-delay', '0'];

export class RedisNode {
  port = 0;
  /** Absent until the first start. @type {Redis} */
  admin;
  /** In which it runs. @type {NodeJS.ProcessEnv | undefined} */
  env;

  /**
   * @param {string} folder
   * @param {string[]} args
   * @param {object} login how the administrator gets in, where not everybody does
   */
  constructor(folder, args = [], login = {}) {
    this.folder = folder;
    this.args = args;
    this.login = login;
    mkdirSync(folder, { recursive: true });
  }

  get pid() {
    return /** @type {number} */ (this.server?.pid);
  }

  async start(/** @type {string[]} */ extra = DURABLE) {
    this.port ||= await freePort();
    const own = ['--dir', this.folder, '--enable-debug-command', 'yes'];
    const args = [...own, ...REPLICATION, ...this.args, ...extra];
    this.server = await startRedis({ port: this.port, args, env: this.env });
    const patience = { maxRetriesPerRequest: 1, retryStrategy: () => 50 };
    this.admin = new Redis({ port: this.port, ...this.login, ...patience });
    this.admin.on('error', () => undefined);
    // The user that replicas log in as: switching it off cuts replication and nothing else.
    await this.admin.call('ACL', 'SETUSER', 'repl', 'on', '>repl', '+psync', '+replconf', '+ping');
  }

  /** kill -9 */
  async kill() {
    this.admin?.disconnect();
    await this.server?.stop();
    this.server = undefined;
  }

  forget() {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
  }

  /** A backup, kept for `restore`. */
  async backup() {
    await this.admin.save();
    copyFileSync(join(this.folder, 'dump.rdb'), `${this.folder}.rdb`);
  }

  async restore() {
    await this.kill();
    this.forget();
    if (existsSync(`${this.folder}.rdb`)) {
      copyFileSync(`${this.folder}.rdb`, join(this.folder, 'dump.rdb'));
    }
    await this.start(['--appendonly', 'no']);
    await this.admin.config('SET', 'appendonly', 'yes');
  }

  /** Replicas hear nothing more; what is acknowledged from here on exists only here. */
  async cutReplicas() {
    await this.admin.call('ACL', 'SETUSER', 'repl', 'off');
    await this.admin.call('CLIENT', 'KILL', 'USER', 'repl');
  }

  async allowReplicas() {
    await this.admin.call('ACL', 'SETUSER', 'repl', 'on');
  }
}
