/**
 * A Redis that does not reveal its identity to scripts. The processes state its durability: all
 * acknowledged writes, or nothing. This is true in the first topology and false in the next ones.
 * In the last one, it is all writes acknowledged some seconds ago.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS, newcomerOf, STORE_PACE, storeFault, until } from './fault.mjs';
import { RedisNode, Standalone } from './topologies.mjs';

const ALLOWED_MS = 2000;

const KILLED = storeFault('redis killed, its data kept', async ({ node }) => {
  await node.kill();
  await node.start();
});

/** An absent hash counts as lost for every caller. */
const EMPTIED = storeFault('redis killed, all its data lost', async ({ node }) => {
  await node.kill();
  node.forget();
  await node.start();
});

export const ALLOWED = storeFault('INFO allowed for a while', async ({ node }) => {
  await node.admin.call('ACL', 'SETUSER', 'app', '+info');
  await sleep(ALLOWED_MS);
  await node.admin.call('ACL', 'SETUSER', 'app', '-info');
});

/** Like the takeover by a replica that lacks the last writes. */
const LAST_WRITES_LOST = storeFault('redis comes back without its last writes', (topology, world) =>
  topology.forgetful(world, {
    keep: () => topology.node.backup(),
    forget: () => topology.node.restore(),
  }),
);

/**
 * Its processes have all rights except to ask for the server's identity.
 * @param {new (folder: string) => any} Server
 */
export const ofUntold = (Server) =>
  class extends Server {
    login = 'app:pw@';
    terms = '&keepsWrites=true';
    right = '-info';

    /** @param {unknown} [location] */
    start(location) {
      this.node.args = ['--user', 'app', 'on', '>pw', '~*', '&*', '+@all', this.right];
      return super.start(location);
    }
  };

export class Untold extends ofUntold(Standalone) {
  name = 'untold';
  faults = [...NETWORK_FAULTS, KILLED, EMPTIED, ALLOWED];
}

/** The statement is false, and the processes trust it. */
export class UntoldLost extends Untold {
  name = 'untold-lost';
  faults = [LAST_WRITES_LOST];
  toleratesTwice = true;
}

/** The statement is false, but the server reveals its identity, so nothing relies on it. */
export class ToldLost extends Untold {
  name = 'told-lost';
  faults = [LAST_WRITES_LOST];
  right = '+info';
}

/** The statement of the processes: no failover loses an older write. */
const KEPT_AFTER_MS = 2000;
/** How long the old server may continue, as configured. */
const OLD_SERVER_MS = 600;
/** How long the replica lacks acknowledged writes. This leaves some time to promote it. */
const LACKS_MS = 800;
/** Shorter than a lease, so that the holder continues in its range. */
const STILL_MS = 7000;

/**
 * The worst moment for a failover. A grant exists on the old server alone, and its holder is
 * paused. The first call to the new server comes from a process without any grant.
 * @param {number} oldServerMs how long the old server continues
 */
const lastWritesLacked =
  (oldServerMs) =>
  async (/** @type {any} */ topology, /** @type {import('./fault.mjs').World} */ world) => {
    const { fleet, random } = world;
    const holder = await newcomerOf(fleet, undefined, random);
    const newcomer = await newcomerOf(fleet, holder, random);
    const sinceMs = performance.now();
    await topology.cut();
    const granted = fleet.next('lease', LACKS_MS);
    holder?.kill('SIGCONT');
    await granted;
    holder?.kill('SIGSTOP');
    const goesOn = setTimeout(() => holder?.kill('SIGCONT'), STILL_MS);
    const isPromoted = await topology.takeOver(sinceMs, oldServerMs);
    const next = fleet.next('lease', STILL_MS);
    newcomer?.kill('SIGCONT');
    await next;
    clearTimeout(goesOn);
    holder?.kill('SIGCONT');
    return isPromoted;
  };

const PROMOTED_FAULTS = [
  storeFault('redis replica promoted, primary killed', lastWritesLacked(0)),
  storeFault('redis replica promoted, primary goes on', lastWritesLacked(OLD_SERVER_MS / 2)),
];

/**
 * The processes reach the primary by one address, which leads to its replica after the promotion.
 */
export class UntoldReplica extends Untold {
  name = 'untold-replica';
  terms =
    `&keepsWritesAfterMs=${KEPT_AFTER_MS}&failoverWindowMs=${OLD_SERVER_MS}` +
    '&clockDifferenceMs=0';
  // A grant takes seconds, and the entry of an ended process stays for a lease.
  pace = { ...STORE_PACE, workerBits: 3, grantMs: 10_000 };
  faults = [...NETWORK_FAULTS, ...PROMOTED_FAULTS];

  constructor(/** @type {string} */ folder) {
    super(folder);
    this.replica = new RedisNode(join(folder, 'replica'));
  }

  async start() {
    const url = await super.start();
    await this.follow();
    return url;
  }

  /** Starts the replica, and waits until it has all data of the primary. */
  async follow() {
    const { node, replica } = this;
    replica.args = node.args;
    replica.forget();
    await replica.start(['--replicaof', '127.0.0.1', String(node.port)]);
    await until(async () => (await replica.admin.info('replication')).includes('link_status:up'));
  }

  cut() {
    return this.node.cutReplicas();
  }

  /** @returns {Promise<boolean>} false if the replica lacks more than the statement allows */
  async takeOver(/** @type {number} */ sinceMs, /** @type {number} */ oldServerMs) {
    const old = this.node;
    const isLate = () => performance.now() - sinceMs > KEPT_AFTER_MS;
    if (oldServerMs === 0) await old.kill();
    if (isLate()) {
      if (oldServerMs === 0) await old.start();
      await old.allowReplicas();
      return false;
    }
    await this.replica.admin.call('REPLICAOF', 'NO', 'ONE');
    [this.node, this.replica] = [this.replica, old];
    await sleep(oldServerMs);
    await old.kill();
    await this.follow();
    return true;
  }

  async stop() {
    await super.stop();
    await this.replica.kill();
  }
}
