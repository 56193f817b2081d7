/**
 * A bad machine below a store, whichever it is: each fsync takes longer, the disk is full, the
 * clock steps, packets get lost and overtake each other, and the server stands still. What it
 * acknowledges is on its disk, so that nothing is lost whenever it is killed.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BadDisk } from '../../scripts/servers/bad-disk.mjs';
import { BadWire } from '../../scripts/servers/bad-wire.mjs';
import { WallClock } from '../../scripts/servers/wall-clock.mjs';
import { NETWORK_FAULTS, STORE_PACE, storeFault, until } from './fault.mjs';
import { FAULTS } from './faults.mjs';
import { ETCD_FAULTS, EtcdCluster } from './stores/etcd.mjs';
import { MARIADB_FAULTS, MariadbNode } from './stores/mariadb.mjs';
import { POSTGRES_FAULTS, PostgresNode } from './stores/postgres.mjs';
import { RedisNode } from './topologies.mjs';

/** @import { Fault } from './fault.mjs' */

/** Longer than a renewal takes by far, and shorter than a lease. */
const SPAN_MS = 4000;
/** Of each fsync; an etcd without one for a second elects another leader. */
const FSYNC_MS = [50, 300, 900];
const PACKETS = 1000;
/** A server that has refused to write may have ended. */
const ALIVE_MS_MAX = 3000;
const MINUTE_MS = 60_000;
/** Far longer than a lease, which is 10 s. */
const STEPS_MS = [-5 * MINUTE_MS, -4000, 4000, 5 * MINUTE_MS];
/** Backwards, one after the other. */
const BACK_MS = [1000, 10_000, MINUTE_MS];

const oneOf = (/** @type {readonly number[]} */ list, /** @type {() => number} */ random) =>
  list[Math.floor(random() * list.length)] ?? 0;

const beside = (/** @type {Fault['beside']} */ what, /** @type {Fault} */ fault) => ({
  ...fault,
  beside: what,
});

const DISK = [
  beside(
    'disk',
    storeFault('fsync delayed', async ({ machine: { disk } }, { random }) => {
      disk.slow(oneOf(FSYNC_MS, random));
      await sleep(SPAN_MS);
      disk.slow(0);
    }),
  ),
  storeFault('disk of the store full', async ({ machine }) => {
    machine.disk.fill(true);
    await sleep(SPAN_MS);
    machine.disk.fill(false);
    // Whatever could not write may have ended, and an operator starts it again.
    await until(() => machine.isAlive(), ALIVE_MS_MAX).catch(() => machine.begin());
    await until(() => machine.isAlive(), MINUTE_MS);
  }),
];

const STEPS = beside(
  'clock',
  storeFault('clock of the store steps', async ({ machine: { clock } }, { random }) => {
    clock.set(oneOf(STEPS_MS, random));
    await sleep(SPAN_MS);
    clock.set(0);
  }),
);

/** A released lock is free again once the clock, of which a part is not stored, is where it was. */
const BEHIND_MS = 12_000;

/** And is never set right: a lock would end early by a step forward, which nobody promises. */
const STEPS_BACK = beside(
  'clock',
  storeFault('clock of the store set back', async ({ machine }, { random }) => {
    machine.backMs += oneOf(BACK_MS, random);
    const fromMs = Number(process.hrtime.bigint()) / 1e6;
    const back = { kind: 'back', fromMs, toMs: fromMs + BEHIND_MS };
    appendFileSync(join(machine.files, 'clock.events'), `${JSON.stringify(back)}\n`);
    machine.clock.set(-machine.backMs);
    await sleep(SPAN_MS);
  }),
);

const ofPackets =
  (/** @type {'lost' | 'late'} */ what) =>
  async (
    /** @type {any} */ { machine: { wire } },
    /** @type {{ random: () => number }} */ world,
  ) => {
    wire.set({ [what]: Math.round((0.1 + 0.4 * world.random()) * PACKETS) });
    await sleep(SPAN_MS);
    wire.set({});
  };
const WIRE = [
  beside('packets', storeFault('packets lost', ofPackets('lost'))),
  beside('packets', storeFault('packets overtake each other', ofPackets('late'))),
];

export const MACHINE_FAULTS = [...DISK, STEPS, STEPS_BACK, ...WIRE];

const named = (/** @type {readonly Fault[]} */ faults, /** @type {string[]} */ ...names) =>
  faults.filter(({ name }) => names.includes(name));

/** In what a store differs from the others: by its server. */
const OF_SERVERS = {
  redis: {
    faults: named(FAULTS, 'redis restarted with data', 'redis SIGSTOP'),
    nowMs: async (/** @type {any} */ node) => Number((await node.admin.time())[0]) * 1000,
    isAlive: async (/** @type {any} */ node) => (await node.admin.ping()) === 'PONG',
  },
  postgres: {
    faults: named(POSTGRES_FAULTS, 'postgres kill -9', 'postgres SIGSTOP'),
    more: ['fsync=on', 'synchronous_commit=on'],
    nowMs: async (/** @type {any} */ node) =>
      Number((await node.sql('SELECT extract(epoch FROM clock_timestamp()) AS s'))[0].s) * 1000,
    isAlive: (/** @type {any} */ node) => node.sql('SELECT 1').then(Boolean),
  },
  mariadb: {
    faults: named(MARIADB_FAULTS, 'mariadb kill -9', 'mariadb SIGSTOP'),
    more: ['--innodb-flush-log-at-trx-commit=1'],
    nowMs: async (/** @type {any} */ node) =>
      Number((await node.sql('SELECT UNIX_TIMESTAMP(SYSDATE(6)) AS s'))[0].s) * 1000,
    isAlive: (/** @type {any} */ node) => node.sql('SELECT 1').then(Boolean),
  },
};

function serverOf(/** @type {any} */ node) {
  if (node instanceof RedisNode) return OF_SERVERS.redis;
  if (node instanceof PostgresNode) return OF_SERVERS.postgres;
  return node instanceof MariadbNode ? OF_SERVERS.mariadb : undefined;
}

/** One server, which is told the time by a file. */
function machineOfNode(/** @type {any} */ node, /** @type {string} */ folder) {
  const server = serverOf(node);
  if (server === undefined) return undefined;
  // The user of the server reads them.
  const own = node instanceof RedisNode ? folder : node.folder;
  const clock = new WallClock(join(own, 'wall-clock'));
  const disk = new BadDisk(join(own, 'bad-disk'), node.data ?? node.folder);
  Object.assign(node, { disk, env: clock.env, more: 'more' in server ? server.more : [] });
  return {
    disk,
    clock,
    backMs: 0,
    faults: server.faults,
    isAlive: () => server.isAlive(node),
    async begin() {
      await node.kill();
      await node.start();
    },
    /** Whether its clock can be set, or faults of it would prove nothing. */
    async check() {
      clock.set(5 * MINUTE_MS);
      const aheadMs = (await server.nowMs(node)) - Date.now();
      clock.set(0);
      if (Math.abs(aheadMs - 5 * MINUTE_MS) > MINUTE_MS)
        throw new Error(`The clock of ${node.constructor.name} cannot be set here.`);
    },
  };
}

/** Its members ask no clock of the C library; what they tell of theirs is changed on its way. */
function machineOfEtcd(/** @type {EtcdCluster} */ cluster) {
  cluster.disk = new BadDisk(join(cluster.folder, 'bad-disk'), join(cluster.folder, 'm'));
  const names = ['etcd leader killed', 'etcd leader SIGSTOP', 'etcd all members killed'];
  return {
    disk: cluster.disk,
    clock: undefined,
    backMs: 0,
    faults: [
      ...named(ETCD_FAULTS, ...names),
      ...named(ETCD_FAULTS, 'etcd clock of a member wrong').map((it) => beside('clock', it)),
    ],
    isAlive: () => cluster.revision().then(Boolean),
    async begin() {
      await cluster.killAll();
      await cluster.startAll();
    },
    check: async () => undefined,
  };
}

/**
 * Puts a topology of one server, or of etcd, on a bad machine.
 * @param {any} topology @param {string} folder
 * @returns the topology, or undefined for one that has no such machine
 */
export function onBadMachine(topology, folder) {
  const { cluster, node, nodes, proxy, name } = topology;
  const isAlone = nodes === undefined && proxy !== undefined;
  const isEtcd = cluster instanceof EtcdCluster;
  const machine = isEtcd
    ? machineOfEtcd(cluster)
    : isAlone
      ? machineOfNode(node, folder)
      : undefined;
  if (machine === undefined) return undefined;
  mkdirSync(folder, { recursive: true });
  const wire = new BadWire(join(folder, 'bad-wire'));
  const isOfLocks = topology.worker === 'lock-worker.mjs' || topology.worker === 'cron-worker.mjs';
  const steps = machine.clock === undefined ? [] : [isOfLocks ? STEPS_BACK : STEPS];
  const own = [...DISK, ...steps, ...machine.faults, ...NETWORK_FAULTS];
  const [start, stop] = [topology.start.bind(topology), topology.stop.bind(topology)];
  return Object.assign(topology, {
    name: `${name} on a bad machine`,
    machine: { ...machine, wire },
    pace: topology.pace ?? STORE_PACE,
    faults: own,
    async start(/** @type {{ files: string }} */ place) {
      topology.machine.files = place.files;
      const isWired = await wire.start();
      proxy.host = wire.near;
      if (isWired) topology.faults = [...own, ...WIRE];
      else topology.note = 'packets: none is lost, since no TUN device may be made here';
      const support = await start(place);
      await machine.check();
      return support.replaceAll(/127\.0\.0\.1(?=:\d)/g, wire.far);
    },
    async stop() {
      await stop();
      wire.stop();
    },
  });
}
