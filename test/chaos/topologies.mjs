/**
 * The ways to run Redis, each as small as possible, with its own faults.
 *
 * Guarantee: the address for the processes stays the same, whatever happens behind it.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/servers/ports.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { WallClock } from '../../scripts/servers/wall-clock.mjs';
import {
  NETWORK_FAULTS,
  forgetLease,
  until,
  REDIS_PACE,
  STORE_PACE,
  storeFault,
} from './fault.mjs';
import { Proxy } from './proxy.mjs';

// A Redis server that can be killed and restarted on its port, with its data, without data, or from
// an older file.

/** Every write reaches the disk before it is acknowledged. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const LOGIN = ['--masteruser', 'repl', '--masterauth', 'repl'];
const REPLICATION = [...LOGIN, '--repl-diskless-sync-delay', '0'];

export class RedisNode {
  port = 0;
  /** Absent until the first start. @type {Redis} */
  admin;
  /** The environment of the server. @type {NodeJS.ProcessEnv | undefined} */
  env;
  /** @type {import('../../scripts/servers/bad-disk.mjs').BadDisk | undefined} */
  disk;

  /**
   * @param {string} folder
   * @param {string[]} args
   * @param {object} login of the administrator, if the server requires one
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
    const { port, env, disk } = this;
    this.server = await startRedis({ port, args, env, disk });
    const patience = { maxRetriesPerRequest: 1, retryStrategy: () => 50 };
    this.admin = new Redis({ port: this.port, ...this.login, ...patience });
    this.admin.on('error', () => undefined);
    // The login of replicas. Disabling it cuts replication and nothing else.
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

  /** A backup for `restore`. */
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

  /** Replicas receive nothing from here on, so later acknowledged writes exist only here. */
  async cutReplicas() {
    await this.admin.call('ACL', 'SETUSER', 'repl', 'off');
    await this.admin.call('CLIENT', 'KILL', 'USER', 'repl');
  }

  async allowReplicas() {
    await this.admin.call('ACL', 'SETUSER', 'repl', 'on');
  }
}

export const NAMESPACE = 'chaos';
/** The hash key of a registry, of counters, or of locks. In a Cluster they all share one slot. */
const keyOf = (/** @type {string} */ content) => `snowflake:{${NAMESPACE}}:${content}`;
export const REGISTRY = keyOf('registry');

/** How long the old server may continue, and how far its clock may be ahead, as configured. */
const [FAILOVER_MS, CLOCK_MS] = [4000, 500];
const WINDOW_MS = FAILOVER_MS + CLOCK_MS;
const WINDOW =
  `namespace=${NAMESPACE}&failoverWindowMs=${FAILOVER_MS}` + `&clockDifferenceMs=${CLOCK_MS}`;

export class Standalone {
  name = 'standalone';
  faults = NETWORK_FAULTS;
  quarantineMs = 0;
  forgetful = forgetLease;
  proxy = new Proxy();
  /** The logins of the processes, and of the operator who creates counters. */
  login = '';
  terms = '';

  constructor(/** @type {string} */ folder) {
    this.node = new RedisNode(join(folder, 'redis'));
  }

  get key() {
    return REGISTRY;
  }

  async start() {
    await this.node.start();
    await this.proxy.listen(() => this.node.port);
    return this.urlOf(this.proxy.port);
  }

  urlOf(/** @type {number} */ port) {
    return `redis://${this.login}127.0.0.1:${port}?namespace=${NAMESPACE}${this.terms}`;
  }

  async stop() {
    this.proxy.close();
    await this.node.kill();
  }
}

export class Sentinel {
  name = 'sentinel';
  quarantineMs = WINDOW_MS;

  constructor(/** @type {string} */ folder) {
    this.folder = folder;
    /** The first is the master. */
    this.nodes = ['one', 'two'].map((name) => new RedisNode(join(folder, name)));
  }

  get node() {
    return /** @type {RedisNode} */ (this.nodes[0]);
  }

  async start() {
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    await master.start();
    await replica.start(['--replicaof', '127.0.0.1', String(master.port)]);
    const config = join(this.folder, 'sentinel.conf');
    const lines = [
      `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds mymaster 2000',
      'sentinel failover-timeout mymaster 1500',
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    this.watch = await startRedis({ config });
    this.admin = new Redis({ port: this.watch.port });
    return `redis+sentinel://127.0.0.1:${this.watch.port}/mymaster?${WINDOW}`;
  }

  /** The master dies with acknowledged writes that its replica lacks. */
  async failOver() {
    await this.cut();
    await sleep(1500);
    await this.takeOver();
  }

  /** From here on the replica receives nothing. */
  async cut() {
    // Sentinel may have acted by itself if a fault silenced the master for too long.
    if (!(await this.#isMaster(this.node))) this.nodes.reverse();
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    await until(async () => (await replica.admin.info('replication')).includes('link_status:up'));
    await until(() => this.#knows('flags', 'slave', 'master-link-status', 'ok'));
    await master.cutReplicas();
  }

  async takeOver() {
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    await master.kill();
    await until(() => this.#isMaster(replica));
    this.nodes = [replica, master];
    master.forget();
    await master.start(['--replicaof', '127.0.0.1', String(replica.port)]);
  }

  /** The master is paused, and its replica is promoted. */
  async away() {
    if (!(await this.#isMaster(this.node))) this.nodes.reverse();
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    await until(async () => (await replica.admin.info('replication')).includes('link_status:up'));
    await until(() => this.#knows('flags', 'slave', 'master-link-status', 'ok'));
    process.kill(master.pid, 'SIGSTOP');
    await until(() => this.#isMaster(replica));
  }

  /** The new master dies. Sentinel then names the old one again, which was only paused. */
  async back() {
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    process.kill(master.pid, 'SIGCONT');
    await replica.kill();
    await until(() => this.#isMaster(master));
    replica.forget();
    await replica.start(['--replicaof', '127.0.0.1', String(master.port)]);
  }

  async #isMaster(/** @type {RedisNode} */ { port }) {
    const address = await this.admin?.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'mymaster');
    return String(address).endsWith(`,${port}`);
  }

  /** Whether Sentinel sees a replica with all these properties. */
  async #knows(/** @type {string[]} */ ...pairs) {
    const replicas = /** @type {string[][]} */ (
      await this.admin?.call('SENTINEL', 'REPLICAS', 'mymaster')
    );
    return replicas.some((replica) =>
      pairs.every(
        (text, at) => at % 2 === 1 || replica[replica.indexOf(text) + 1] === pairs[at + 1],
      ),
    );
  }

  async stop() {
    this.admin?.disconnect();
    await this.watch?.stop();
    for (const node of this.nodes) await node.kill();
  }
}

export class Cluster {
  name = 'cluster';
  content = 'registry';
  quarantineMs = WINDOW_MS;
  slot = calculateSlot(REGISTRY);

  constructor(/** @type {string} */ folder) {
    /** The first two are master and replica in turns, and own the registry's slot. */
    this.nodes = ['one', 'two', 'three', 'four'].map((name) => new RedisNode(join(folder, name)));
  }

  get node() {
    return /** @type {RedisNode} */ (this.isMovedAway ? this.nodes[2] : this.nodes[0]);
  }

  get key() {
    return keyOf(this.content);
  }

  async start() {
    for (const node of this.nodes) {
      const bus = String(await freePort());
      node.args = ['--cluster-enabled', 'yes', '--cluster-port', bus, ...TIMEOUT, ...MIGRATION];
      await node.start(['--appendonly', 'no']);
    }
    const [owner, replica, third, fourth] = /** @type {RedisNode[]} */ (this.nodes);
    for (const node of [replica, third, fourth]) {
      const bus = String(node?.args[3]);
      await owner?.admin.call('CLUSTER', 'MEET', '127.0.0.1', String(node?.port), bus);
    }
    // The first master owns the registry's slot, and the other two own the rest.
    await owner?.admin.call('CLUSTER', 'ADDSLOTS', String(this.slot));
    const half = 8000;
    for (const [node, from, to] of [
      [third, 0, half],
      [fourth, half + 1, 16_383],
    ]) {
      const ranges = slotRanges(from, to, this.slot).flat().map(String);
      await node.admin.call('CLUSTER', 'ADDSLOTSRANGE', ...ranges);
    }
    const id = await owner?.admin.call('CLUSTER', 'MYID');
    await until(async () => (await replica?.admin.call('CLUSTER', 'REPLICATE', id)) === 'OK');
    for (const node of this.nodes) {
      await until(async () => String(await node.admin.cluster('INFO')).includes('state:ok'));
    }
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `redis+cluster://${hosts}?${WINDOW}`;
  }

  /** The slot moves to another master, and returns the next time. */
  async moveSlot() {
    const [from, to] = this.isMovedAway
      ? [this.nodes[2], this.nodes[0]]
      : [this.nodes[0], this.nodes[2]];
    const fromId = await from?.admin.call('CLUSTER', 'MYID');
    const toId = await to?.admin.call('CLUSTER', 'MYID');
    const setSlot = (node, ...how) => node?.admin.call('CLUSTER', 'SETSLOT', this.slot, ...how);
    await setSlot(to, 'IMPORTING', fromId);
    await setSlot(from, 'MIGRATING', toId);
    await sleep(200);
    await from?.admin.call('MIGRATE', '127.0.0.1', to?.port, this.key, 0, 1000);
    await sleep(200);
    for (const node of [to, from]) await setSlot(node, 'NODE', toId);
    this.isMovedAway = !this.isMovedAway;
  }

  /** Moves the slot to a node with a replica. @returns whether it moved */
  async gather() {
    if (!this.isMovedAway) return false;
    await this.moveSlot();
    return true;
  }

  /** The replica takes over without writes that it lacks. */
  async failOver() {
    await this.cut();
    await sleep(1500);
    await this.takeOver();
  }

  /** From here on the replica receives nothing. */
  async cut() {
    await this.gather();
    const [owner, replica] = /** @type {RedisNode[]} */ (this.nodes);
    await until(async () => (await replica?.admin.info('replication'))?.includes('link_status:up'));
    await owner?.cutReplicas();
  }

  async takeOver() {
    const [owner, replica, ...rest] = /** @type {RedisNode[]} */ (this.nodes);
    await replica?.admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await until(async () => (await owner?.admin.info('replication'))?.includes('role:slave'));
    await owner?.allowReplicas();
    this.nodes = [replica, owner, ...rest];
  }

  /** The owner is paused, and its replica takes over. */
  async away() {
    await this.gather();
    const [owner, replica] = /** @type {RedisNode[]} */ (this.nodes);
    await until(async () => (await replica?.admin.info('replication'))?.includes('link_status:up'));
    process.kill(/** @type {RedisNode} */ (owner).pid, 'SIGSTOP');
    await replica?.admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
  }

  /** The new owner dies, and the old one, which was only paused, takes its slots again. */
  async back() {
    const [owner, replica] = /** @type {RedisNode[]} */ (this.nodes);
    await replica?.kill();
    process.kill(/** @type {RedisNode} */ (owner).pid, 'SIGCONT');
    // It follows the dead node as soon as the others report this, and must become a master again.
    await until(async () => {
      if (!(await owner?.admin.info('replication'))?.includes('role:slave')) return false;
      await owner?.admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
      return true;
    });
    await until(async () => (await owner?.admin.info('replication'))?.includes('role:master'));
    await replica?.start(['--appendonly', 'no']);
    await until(async () => (await replica?.admin.info('replication'))?.includes('link_status:up'));
  }

  async stop() {
    for (const node of this.nodes) await node.kill();
  }
}

const TIMEOUT = ['--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no'];
/** A master whose last slot was moved away stays a master. */
const MIGRATION = ['--cluster-allow-replica-migration', 'no'];

/** All slots from first to last, except one. */
function slotRanges(/** @type {number} */ first, /** @type {number} */ last, without) {
  if (without < first || without > last) return [[first, last]];
  return [
    [first, without - 1],
    [without + 1, last],
  ].filter(([from, to]) => from <= to);
}

// One Redis whose files can be kept and restored, so that it loses the writes in between.

export class KeptRedis extends Standalone {
  /** The kind of its data: counters or locks. */
  content = 'counters';

  get key() {
    return keyOf(this.content);
  }

  keep() {
    cpSync(this.node.folder, `${this.node.folder}.old`, { recursive: true });
  }

  async putBack() {
    await this.node.kill();
    rmSync(this.node.folder, { recursive: true, force: true });
    cpSync(`${this.node.folder}.old`, this.node.folder, { recursive: true });
    await this.node.start();
    this.era = await this.node.admin.hget(this.key, 'era');
  }

  /** Waits until a call of any process has shown the loss. */
  asked() {
    return until(async () => (await this.node.admin.hget(this.key, 'era')) !== this.era, 20_000);
  }
}

// One Redis whose clock is set while all processes run, and which then loses its data. Only the
// leaseholders have the granted times.

const SECOND_MS = 1000;
/** Far longer than a lease of 10 s. */
const FAR_MS = 300 * SECOND_MS;
/** More than the library follows without a witness. */
const SOME_MS = 8 * SECOND_MS;
/** The margin added to the time between two renewals. */
const HEARD_MS = 2 * SECOND_MS;

/** All data is lost. */
async function lost({ node }, /** @type {() => number} */ random) {
  if (random() < 0.5) return node.admin.flushall();
  await node.kill();
  node.forget();
  await node.start();
}

export const CLOCK_FAULTS = [
  storeFault('redis clock set back, then all is lost', async (topology, { random }) => {
    topology.clock.set(FAR_MS);
    // A store follows a step if data may be lost. IDs from here on have that time.
    await lost(topology, random);
    await sleep(topology.renewMs + HEARD_MS);
    topology.clock.set(0);
    await sleep(topology.renewMs + HEARD_MS);
    await lost(topology, random);
    await sleep(topology.renewMs + HEARD_MS);
  }),
  storeFault('redis clock wrong for seconds, then all is lost', async (topology, { random }) => {
    topology.clock.set(random() < 0.5 ? SOME_MS : FAR_MS);
    await sleep(topology.renewMs + HEARD_MS);
    topology.clock.set(0);
    await sleep(SECOND_MS);
    await lost(topology, random);
    await sleep(topology.renewMs + HEARD_MS);
  }),
];

export class ClockedRedis extends Standalone {
  name = 'clock';
  faults = CLOCK_FAULTS;
  renewMs = SECOND_MS;
  settings = { CHAOS_RENEW_MS: String(this.renewMs) };
  /** One process waits. What a refusal reveals about the clock reaches the store as well. */
  pace = { ...REDIS_PACE, processCount: REDIS_PACE.processCount + 1 };

  constructor(/** @type {string} */ folder) {
    super(folder);
    this.clock = new WallClock(join(folder, 'clock'));
    this.node.env = this.clock.env;
  }

  async start() {
    const support = await super.start();
    this.clock.set(FAR_MS);
    const [seconds] = await this.node.admin.time();
    this.clock.set(0);
    if (seconds * 1000 > Date.now() + FAR_MS / 2) return support;
    throw new Error('The clock of Redis cannot be set here.');
  }
}

/**
 * Processes that renew rarely, as by default. Without a window of that length, a new process could
 * come before their next renewal.
 */
export class SeldomRenewed extends ClockedRedis {
  name = 'clock-seldom';
  renewMs = 2 * SECOND_MS;
  settings = { CHAOS_RENEW_MS: String(this.renewMs) };
  quarantineMs = this.renewMs + SECOND_MS;
  pace = { ...STORE_PACE, grantMs: 2 * this.quarantineMs };

  async start() {
    return `${await super.start()}&failoverWindowMs=${this.quarantineMs}`;
  }
}
