/**
 * One Redis whose clock is set while all run, and which then loses its data: what it granted by the
 * time it had is known to those alone who were told it.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WallClock } from '../../scripts/servers/wall-clock.mjs';
import { Standalone } from './topologies.mjs';
import { STORE_PACE } from './pace.mjs';
import { storeFault } from './fault.mjs';

const SECOND_MS = 1000;
/** Far longer than a lease, which is 10 s. */
const FAR_MS = 300 * SECOND_MS;
/** Beyond what is followed without a witness. */
const SOME_MS = 8 * SECOND_MS;
/** So much longer than the time between two renewals. */
const HEARD_MS = 2 * SECOND_MS;

/** Everything is lost. */
async function lost({ node }, /** @type {() => number} */ random) {
  if (random() < 0.5) return node.admin.flushall();
  await node.kill();
  node.forget();
  await node.start();
}

export const CLOCK_FAULTS = [
  storeFault('redis clock set back, then all is lost', async (topology, { random }) => {
    topology.clock.set(FAR_MS);
    // A step is followed where data may be lost: from here on ids are of that time.
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
 * Processes that renew seldom, as by default: who is new would come before what they have to tell,
 * but for a window as long as that.
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
