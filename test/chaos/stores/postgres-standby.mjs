/**
 * A registry in a PostgreSQL with a standby, which takes over without writes that the primary had
 * acknowledged. Processes reach whichever is the primary through one address, as by a DNS name.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS } from '../network-faults.mjs';
import { STORE_PACE } from '../pace.mjs';
import { Proxy } from '../proxy.mjs';
import { PostgresNode } from './postgres-node.mjs';
import { forgetLease } from './forgotten-lease.mjs';
import { CREATE } from './postgres.mjs';
import { storeFault } from './store-fault.mjs';
import { NEWCOMER_FIRST, SURVIVORS_FIRST } from '../there-and-back.mjs';
import { until } from '../until.mjs';

/** So long the old primary may go on, and be ahead by its clock, as processes are told. */
const [FAILOVER_MS, CLOCK_MS] = [3500, 500];
/** Of those, so long it does. */
const GOES_ON_MS = 2000;

const promoted =
  (/** @type {boolean} */ goesOn) =>
  (/** @type {PostgresStandby} */ topology, /** @type {import('../fault.mjs').World} */ world) =>
    topology.failOver(goesOn, world);

export const STANDBY_FAULTS = [
  {
    ...storeFault('postgres standby promoted, primary killed', promoted(false)),
    changesServer: true,
  },
  {
    ...storeFault('postgres standby promoted, primary goes on', promoted(true)),
    changesServer: true,
  },
];

/** Led back to the old primary, of which nobody tells that it was left. */
export const ofLedBack = (/** @type {new (folder: string) => any} */ Server) =>
  class extends Server {
    faults = [NEWCOMER_FIRST];
    toleratesTwice = true;
  };

export class PostgresStandby {
  name = 'postgres-standby';
  create = CREATE;
  quarantineMs = FAILOVER_MS + CLOCK_MS;
  pace = STORE_PACE;
  faults = [...STANDBY_FAULTS, SURVIVORS_FIRST, ...NETWORK_FAULTS];
  /** Brings the worst moment about. @type {typeof forgetLease} */
  forgetful = forgetLease;
  /** Between the processes and the primary. */
  proxy = new Proxy();
  /** Between the primary and its standby. */
  replication = new Proxy();
  /** The first is the primary. */
  nodes = [new PostgresNode(), new PostgresNode()];

  get node() {
    return /** @type {PostgresNode} */ (this.nodes[0]);
  }

  async start() {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    await primary.create();
    await primary.sql(this.create);
    await this.proxy.listen(() => this.node.port);
    await this.replication.listen(() => this.node.port);
    await standby.follow(this.replication.port);
    const query = `namespace=chaos&failoverWindowMs=${FAILOVER_MS}&clockDifferenceMs=${CLOCK_MS}`;
    return `postgres://postgres@127.0.0.1:${this.proxy.port}/postgres?${query}`;
  }

  /** @param {boolean} goesOn whether the old primary does, for a while */
  async failOver(goesOn, /** @type {import('../fault.mjs').World} */ world) {
    const isLost = await this.forgetful(world, {
      // From here on the standby hears nothing.
      keep: () => this.replication.set('cut'),
      forget: () => this.#promote(goesOn),
      goesOn,
    });
    await this.#rejoin();
    return isLost;
  }

  async #promote(/** @type {boolean} */ goesOn) {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    if (!goesOn) await primary.kill();
    await standby.sql('SELECT pg_promote()');
    // From here on whoever connects is led to the new one.
    this.nodes = [standby, primary];
    if (!goesOn) return;
    this.proxy.dropHalf();
    await sleep(GOES_ON_MS);
    await primary.kill();
  }

  /** Clients are led to the standby, which is promoted; the primary goes on, and nobody asks it. */
  async away() {
    await until(async () => {
      const [{ count }] = await this.node.sql('SELECT count(*) FROM pg_stat_replication');
      return count === '1';
    });
    await /** @type {PostgresNode} */ (this.nodes[1]).sql('SELECT pg_promote()');
    this.#lead();
  }

  /** And back, as by an address that names the old primary again. */
  async back() {
    this.#lead();
    await /** @type {PostgresNode} */ (this.nodes[1]).follow(this.replication.port);
  }

  #lead() {
    this.nodes.reverse();
    this.proxy.set('cut');
    this.proxy.set('open');
  }

  /** The old primary becomes the standby of the new one. */
  async #rejoin() {
    const [primary, standby] = /** @type {[PostgresNode, PostgresNode]} */ (this.nodes);
    this.replication.set('open');
    await until(() => primary.sql('CHECKPOINT'));
    await standby.follow(this.replication.port);
  }

  async stop() {
    this.proxy.close();
    this.replication.close();
    for (const node of this.nodes) await node.stop();
  }
}
