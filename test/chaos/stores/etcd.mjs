/**
 * A registry in an etcd of three members under attack.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS } from '../network-faults.mjs';
import { STORE_PACE } from '../pace.mjs';
import { Proxy } from '../proxy.mjs';
import { until } from '../until.mjs';
import { EtcdCluster } from './etcd-cluster.mjs';
import { forgetLease } from './forgotten-lease.mjs';
import { isRemoved, storeFault } from './store-fault.mjs';

const PREFIX = 'snowflake/chaos/';
/** First after all that begin so. */
const END = 'snowflake/chaos0';
/** Longer than it takes the others to elect another leader. */
const STOPPED_MS = 3000;
/** Within the default of `clockDifferenceMs`. */
const APART_MS = [0, 1000, 0];
/** Beyond it, and beyond a lease. */
const WRONG_MS = 300_000;
const DATE = /(?<=\r\nDate: )[^\r]+/g;

/** A member tells its clock in this header alone, and no other clock of it is asked for. */
const moved = (/** @type {number} */ byMs) => (/** @type {Buffer} */ said) =>
  Buffer.from(
    said
      .toString('latin1')
      .replace(DATE, (date) => new Date(Date.parse(date) + byMs).toUTCString()),
    'latin1',
  );

export const ETCD_FAULTS = [
  storeFault('etcd leader killed', async ({ cluster }) => {
    const leader = await cluster.leader();
    await cluster.kill(leader);
    await sleep(2000);
    await cluster.start(leader);
  }),
  storeFault('etcd leader SIGSTOP', async ({ cluster }) => {
    const leader = await cluster.leader();
    const { pid } = cluster.running.get(leader.name);
    process.kill(pid, 'SIGSTOP');
    await sleep(STOPPED_MS);
    process.kill(pid, 'SIGCONT');
    // Its own word is not taken, since it may not know yet.
    await until(() => cluster.revision(), 60_000);
  }),
  storeFault('etcd all members killed', async ({ cluster }) => {
    await cluster.killAll();
    await cluster.startAll();
  }),
  storeFault('etcd restored with the same token', ({ cluster }, world) =>
    forgetLease(world, { keep: () => cluster.save(), forget: () => cluster.restore() }),
  ),
  storeFault('etcd folders put back', ({ cluster }, world) =>
    forgetLease(world, { keep: () => cluster.copyFolders(), forget: () => cluster.restore() }),
  ),
  storeFault('etcd settings changed', ({ cluster }) => cluster.changeSettings()),
  storeFault('etcd keys deleted', ({ cluster }) => isRemoved(() => cluster.deleted(PREFIX, END))),
  storeFault('etcd header deleted', ({ cluster }) =>
    isRemoved(() => cluster.deleted(`${PREFIX}header`)),
  ),
  storeFault('etcd workers deleted', ({ cluster }) =>
    isRemoved(() => cluster.deleted(`${PREFIX}w`, `${PREFIX}x`)),
  ),
  storeFault('etcd clock of a member wrong', async ({ proxies }, world) => {
    const at = Math.floor(world.random() * proxies.length);
    proxies[at].heard = moved(world.random() < 0.5 ? WRONG_MS : -WRONG_MS);
    await sleep(STOPPED_MS);
    proxies[at].heard = moved(APART_MS[at] ?? 0);
  }),
  storeFault('etcd compacted', ({ cluster }) => cluster.compact()),
];

export class Etcd {
  name = 'etcd';
  quarantineMs = 0;
  pace = STORE_PACE;
  faults = [...ETCD_FAULTS, ...NETWORK_FAULTS];
  cluster = new EtcdCluster();
  /** @type {Proxy[]} */
  proxies = [];
  /** All of them as one. */
  proxy = {
    set: (/** @type {import('../proxy.mjs').Mode} */ mode) => {
      for (const proxy of this.proxies) proxy.set(mode);
    },
  };

  async start() {
    await this.cluster.create();
    for (const [at, { port }] of this.cluster.members.entries()) {
      const proxy = new Proxy();
      proxy.heard = moved(APART_MS[at] ?? 0);
      await proxy.listen(() => port);
      this.proxies.push(proxy);
    }
    const hosts = this.proxies.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `etcd://${hosts}?namespace=chaos`;
  }

  async stop() {
    for (const proxy of this.proxies) proxy.close();
    await this.cluster.stop();
  }
}
