/**
 * A bad machine below any store. Each fsync takes longer, the disk is full, the clock steps,
 * packets get lost and overtake each other, and the server pauses. Acknowledged data is on its
 * disk, so a kill loses nothing.
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

/** Far longer than a renewal, and shorter than a lease. */
const SPAN_MS = 4000;
/** The delay of each fsync. If an fsync takes a second, etcd elects another leader. */
const FSYNC_MS = [50, 300, 900];
const PACKETS = 1000;
const ALIVE_MS_MAX = 3000;
const MINUTE_MS = 60_000;
/** Far longer than a lease of 10 s. */
const STEPS_MS = [-5 * MINUTE_MS, -4000, 4000, 5 * MINUTE_MS];
/** Far longer than any lock of these processes. */
const FORWARD_MS = [MINUTE_MS, 5 * MINUTE_MS];
const BACK_MS = [1000, 10_000, MINUTE_MS];

/** @template T @param {readonly T[]} list @param {() => number} random @returns {T} */
const oneOf = (list, random) => /** @type {T} */ (list[Math.floor(random() * list.length)]);

const beside = (/** @type {Fault['beside']} */ what, /** @type {Fault} */ fault) => ({
  ...fault,
  beside: what,
});

/**
 * A server may end if it could not write, or followed its clock. This step restarts it as an
 * operator does.
 */
async function restarted(/** @type {any} */ machine) {
  await until(() => machine.isAlive(), ALIVE_MS_MAX).catch(() => machine.begin());
  await until(() => machine.isAlive(), MINUTE_MS);
}

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
    await restarted(machine);
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

/** How long a lock may outlast its time if the store holds it back. */
const HELD_BACK_MS = 12_000;
/** Single steps forward, and steps backward that add up. */
const STEPS_OF_LOCKS = [
  ...FORWARD_MS.map((ms) => ({ forwardMs: ms, backMs: 0 })),
  ...BACK_MS.map((ms) => ({ forwardMs: 0, backMs: ms })),
];

/**
 * A step forward ends no lock. After each step, the store may refuse a released lock for a while.
 */
const LOCK_STEPS = beside(
  'clock',
  storeFault('clock of locks steps', async ({ machine }, { random }) => {
    const { forwardMs, backMs } = oneOf(STEPS_OF_LOCKS, random);
    machine.backMs += backMs;
    const fromMs = Number(process.hrtime.bigint()) / 1e6;
    const overMs = fromMs + SPAN_MS;
    const step = { kind: 'step', fromMs, toMs: overMs + HELD_BACK_MS };
    const ahead = forwardMs > 0 && { aheadToMs: overMs };
    appendFileSync(
      join(machine.files, 'clock.events'),
      `${JSON.stringify({ ...step, ...ahead })}\n`,
    );
    machine.clock.set(forwardMs - machine.backMs);
    await sleep(SPAN_MS);
    machine.clock.set(-machine.backMs);
    await restarted(machine);
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

const named = (/** @type {readonly Fault[]} */ faults, /** @type {string[]} */ ...names) =>
  faults.filter(({ name }) => names.includes(name));

/** What differs between the stores, by server. */
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

/** A single server, which reads its time from a file. */
function machineOfNode(/** @type {any} */ node, /** @type {string} */ folder) {
  const server = serverOf(node);
  if (server === undefined) return undefined;
  // The user of the server must be able to read these files.
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
    /** Checks that the clock can be set. Otherwise its faults would prove nothing. */
    async check() {
      clock.set(5 * MINUTE_MS);
      const aheadMs = (await server.nowMs(node)) - Date.now();
      clock.set(0);
      if (Math.abs(aheadMs - 5 * MINUTE_MS) > MINUTE_MS)
        throw new Error(`The clock of ${node.constructor.name} cannot be set here.`);
    },
  };
}

/** Its members bypass the clock of the C library, so a proxy changes their times. */
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
 * Puts a topology on a bad machine.
 * @param {any} topology a single server or an etcd cluster @param {string} folder
 * @returns the topology, or undefined if it does not support such a machine
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
  const steps = machine.clock === undefined ? [] : [isOfLocks ? LOCK_STEPS : STEPS];
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
