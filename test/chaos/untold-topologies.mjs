/**
 * A Redis that does not tell scripts which server it is, and whose processes state what it keeps:
 * all that it acknowledged, or nothing, which is true of the first topology and false of the next
 * ones; or, of the last one, all that it acknowledged some seconds ago.
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

/** An absent hash counts as a lost one, whoever asks. */
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

/** As a replica takes over that lacks the last writes. */
const LAST_WRITES_LOST = storeFault('redis comes back without its last writes', (topology, world) =>
  topology.forgetful(world, {
    keep: () => topology.node.backup(),
    forget: () => topology.node.restore(),
  }),
);

/**
 * Its processes may do all but ask who the server is.
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

/** The statement is false, and believed. */
export class UntoldLost extends Untold {
  name = 'untold-lost';
  faults = [LAST_WRITES_LOST];
  toleratesTwice = true;
}

/** It is as false, but the server says what it is, so that nothing rests on it. */
export class ToldLost extends Untold {
  name = 'told-lost';
  faults = [LAST_WRITES_LOST];
  right = '+info';
}

/** What the processes state: no failover forgets a write that is older. */
const KEPT_AFTER_MS = 2000;
/** How long the old server may go on, as they are told. */
const OLD_SERVER_MS = 600;
/** So long the replica lacks what is acknowledged, which leaves some time to promote it. */
const LACKS_MS = 800;
/** Shorter than a lease, so that the holder goes on in its range. */
const STILL_MS = 7000;

/**
 * The worst moment for a failover: what a process was answered lies on the old server alone, it
 * stands still, and another process asks the new server, which was never answered anything.
 * @param {number} oldServerMs how long the old server goes on answering
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

/** The processes reach the primary by one address, and its replica once that is promoted. */
export class UntoldReplica extends Untold {
  name = 'untold-replica';
  terms =
    `&keepsWritesAfterMs=${KEPT_AFTER_MS}&failoverWindowMs=${OLD_SERVER_MS}` +
    '&clockDifferenceMs=0';
  // A grant takes seconds, and what was stored for a process that ended is held for a lease.
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

  /** The replica has all that the primary has. */
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

  /** @returns {Promise<boolean>} false where the replica lacks more than the statement allows */
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
