/**
 * The ways Redis is run, each as small as it can be, and the faults that only it has.
 *
 * Guarantee: the address the processes are given stays the same, whatever happens behind it.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFileSync } from 'node:fs';
import calculateSlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { NETWORK_FAULTS } from './network-faults.mjs';
import { forgetLease } from './stores/forgotten-lease.mjs';
import { Proxy } from './proxy.mjs';
import { RedisNode } from './redis-node.mjs';
import { until } from './until.mjs';

export const NAMESPACE = 'chaos';
export const REGISTRY = `snowflake:{${NAMESPACE}}:registry`;

/** How long the old server may go on, and how far its clock may be ahead, as processes are told. */
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

  constructor(/** @type {string} */ folder) {
    this.node = new RedisNode(join(folder, 'redis'));
  }

  get key() {
    return REGISTRY;
  }

  async start() {
    await this.node.start();
    await this.proxy.listen(() => this.node.port);
    return `redis://127.0.0.1:${this.proxy.port}?namespace=${NAMESPACE}`;
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

  /** The master dies with writes that it had acknowledged and its replica never saw. */
  async failOver() {
    await this.cut();
    await sleep(1500);
    await this.takeOver();
  }

  /** From here on the replica hears nothing. */
  async cut() {
    // Sentinel may have acted on its own, when a fault kept the master silent for too long.
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

  /** The master stands still, and its replica is promoted. */
  async away() {
    if (!(await this.#isMaster(this.node))) this.nodes.reverse();
    const [master, replica] = /** @type {[RedisNode, RedisNode]} */ (this.nodes);
    await until(async () => (await replica.admin.info('replication')).includes('link_status:up'));
    await until(() => this.#knows('flags', 'slave', 'master-link-status', 'ok'));
    process.kill(master.pid, 'SIGSTOP');
    await until(() => this.#isMaster(replica));
  }

  /** The new one dies, so that Sentinel names the old one again, which only stood still. */
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

  /** Whether Sentinel sees a replica of which all that is true. */
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
  quarantineMs = WINDOW_MS;
  slot = calculateSlot(REGISTRY);

  constructor(/** @type {string} */ folder) {
    /** The first two are a master and its replica, by turns; the registry's slot is theirs. */
    this.nodes = ['one', 'two', 'three', 'four'].map((name) => new RedisNode(join(folder, name)));
  }

  get node() {
    return /** @type {RedisNode} */ (this.isMovedAway ? this.nodes[2] : this.nodes[0]);
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
    // The registry's slot lies with the first master, the rest with the other two.
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

  /** The registry's slot goes to another master and, the next time, comes back. */
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
    await from?.admin.call('MIGRATE', '127.0.0.1', to?.port, REGISTRY, 0, 1000);
    await sleep(200);
    for (const node of [to, from]) await setSlot(node, 'NODE', toId);
    this.isMovedAway = !this.isMovedAway;
  }

  /** The replica takes over without the writes it never saw. */
  async failOver() {
    await this.cut();
    await sleep(1500);
    await this.takeOver();
  }

  /** From here on the replica hears nothing. */
  async cut() {
    if (this.isMovedAway) await this.moveSlot();
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

  /** The owner stands still, and its replica takes over. */
  async away() {
    if (this.isMovedAway) await this.moveSlot();
    const [owner, replica] = /** @type {RedisNode[]} */ (this.nodes);
    await until(async () => (await replica?.admin.info('replication'))?.includes('link_status:up'));
    process.kill(/** @type {RedisNode} */ (owner).pid, 'SIGSTOP');
    await replica?.admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
  }

  /** The new one dies, and the old one, which only stood still, takes its slots again. */
  async back() {
    const [owner, replica] = /** @type {RedisNode[]} */ (this.nodes);
    await replica?.kill();
    process.kill(/** @type {RedisNode} */ (owner).pid, 'SIGCONT');
    // It follows the dead one as soon as the others tell, and has to be made a master again.
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

/** From first to last, without one. */
function slotRanges(/** @type {number} */ first, /** @type {number} */ last, without) {
  if (without < first || without > last) return [[first, last]];
  return [
    [first, without - 1],
    [without + 1, last],
  ].filter(([from, to]) => from <= to);
}
