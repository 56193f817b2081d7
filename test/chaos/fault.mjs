/**
 * The shape of a fault, and the faults of several stores: a bad network, the order of failbacks,
 * and the worst moment to lose data.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';

// The pace of an attack, and the count of processes that share the registry.

/**
 * @typedef {object} Pace
 * @property {number} processCount as many as worker IDs, so that the next process gets each ID as
 * soon as it is free
 * @property {number} workerBits
 * @property {number} callTimeoutMs time limit of a registry call
 * @property {{ process: number, store: number }} pauseMs the pause after a process is stopped or
 * killed, and after a fault of the store
 * @property {number} grantMs the longest wait for a lease after a fault of the store or the end of
 * a process; 0 if the next fault may follow at once
 */

/** Faults of Redis take a moment, so they follow each other closely. @type {Pace} */
export const REDIS_PACE = {
  processCount: 8,
  workerBits: 3,
  callTimeoutMs: 500,
  pauseMs: { process: 600, store: 300 },
  grantMs: 0,
};

/**
 * Other servers take seconds to come back, and an attack on an empty fleet proves nothing. @type
 * {Pace}
 */
export const STORE_PACE = {
  processCount: 4,
  workerBits: 2,
  callTimeoutMs: 1500,
  pauseMs: { process: 800, store: 300 },
  grantMs: 30_000,
};

// A fault, and the world that it hits.

/**
 * @typedef {object} World
 * @property {import('./fleet.mjs').Fleet} fleet
 * @property {any} topology
 * @property {() => number} random
 *
 * @typedef {object} Fault
 * @property {string} name
 * @property {'process' | 'store'} level
 * @property {string} [gap] the error during the gap without IDs that it causes in its process
 * @property {number} [cardCount] its count in the deck: restarts are the most frequent fault
 * @property {boolean} [changesServer] whether new ranges then begin after the quarantine
 * @property {boolean} [setsOneClock] whether it sets the clock of one process only
 * @property {boolean} [ofTwoBuilds] whether it needs a fleet with two builds
 * @property {'network' | 'packets' | 'disk' | 'clock'} [beside] its kind, if it may overlap a store
 * fault of another kind: it lasts a moment and ends by itself
 * @property {readonly string[]} [only] topologies that have it; default all
 * @property {(world: World) => unknown} apply returns the process that it hit, if any, and false if
 * it could not happen
 */

/** @param {() => Promise<unknown>} isSo an error counts as false */
export async function until(isSo, spanMs = 15_000) {
  for (const endMs = performance.now() + spanMs; performance.now() < endMs; await sleep(50)) {
    if (await isSo().catch(() => false)) return;
  }
  throw new Error(`Waited ${spanMs / 1000} s in vain for: ${isSo.toString()}`);
}

// The shape and the common needs of store faults.

/**
 * @param {string} name
 * @param {(topology: any, world: World) => unknown} apply returns false if it could not happen
 * @returns {Fault}
 */
export const storeFault = (name, apply) => ({
  name,
  level: 'store',
  apply: (world) => apply(world.topology, world),
});

/** Restores a dump while the server runs, at the worst moment of the topology. */
export const loadDump = (/** @type {any} */ { node, table, forgetful }, /** @type {any} */ world) =>
  forgetful(world, { keep: () => node.dump(table), forget: () => node.load() });

/** How long processes may take to write the data that the fault deletes. */
const WRITE_MS_MAX = 10_000;

/** @param {() => Promise<number>} remove @returns whether it removed anything, once data existed */
export async function isRemoved(remove) {
  const endMs = performance.now() + WRITE_MS_MAX;
  while (performance.now() < endMs) {
    if ((await remove()) > 0) return true;
    await sleep(100);
  }
  return false;
}

/** Longer than any call, and far shorter than a lease. */
const TAKEN_MS = 1500;

/**
 * An operator revokes rights one after the other while all processes run, and grants each again.
 * @param {{ sql: (text: string) => Promise<unknown> }} node
 * @param {readonly (readonly [taken: string, given: string])[]} rights
 */
export async function rightsTaken(node, rights) {
  for (const statements of rights) {
    for (const text of statements) {
      await node.sql(text);
      await sleep(TAKEN_MS);
    }
  }
}

/**
 * Runs a command to its end. It is asynchronous, since its target may be a proxy in this process.
 * @param {string} command @param {string[]} args @param {object} options
 */
export async function ran(command, args, options = {}) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (text) => (output += text));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}:\n${output}`);
}

/**
 * Restores a copy, like a disk snapshot.
 * @param {string} from @param {string} to @param {any} user
 */
export function copyFolder(from, to, { uid, gid }) {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  if (uid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, to]);
  spawnSync('chmod', ['700', to]);
}

// Faults of the network between the processes and a store behind one proxy.

const SPAN_MS = 1200;

/** @param {import('./proxy.mjs').Mode} mode */
const network =
  (mode) =>
  async (/** @type {World} */ { topology }) => {
    topology.proxy.set(mode);
    await sleep(SPAN_MS);
    topology.proxy.set('open');
  };

/** @type {readonly Fault[]} */
export const NETWORK_FAULTS = [
  { name: 'network cut', level: 'store', beside: 'network', apply: network('cut') },
  { name: 'network half-open', level: 'store', beside: 'network', apply: network('half-open') },
  { name: 'replies lost', level: 'store', beside: 'network', apply: network('replies lost') },
  { name: 'network slow', level: 'store', beside: 'network', apply: network('slow') },
  {
    name: 'connections go dead',
    level: 'store',
    beside: 'network',
    async apply({ topology: { proxy } }) {
      if (proxy.deaden() === 0) return false;
      await sleep(SPAN_MS);
      return true;
    },
  },
];

// Clients fail over to another server and back to the first one, which never restarted. The first
// server shows no sign of the other one's grants.

/** @typedef {import('./fleet.mjs').Member} Member */

/** How long a process may wait for a grant on a busy machine. */
const GRANT_MS_MAX = 30_000;
/** Longer than any earlier pause of a process lasts. */
const AWAY_MS = 11_000;
/** All processes have called the store by then. */
const ASKED_MS = 3000;

/**
 * @param {World} world
 * @param {boolean} newcomerFirst whether the clients of the other server are paused while a new
 * process makes the first call; otherwise no process is new
 */
async function thereAndBack({ fleet, topology, random }, newcomerFirst) {
  topology.isCalm = true;
  /** @type {Member[]} */
  let still = [];
  try {
    await sleep(AWAY_MS);
    await topology.away();
    const granted = fleet.next('lease', GRANT_MS_MAX);
    fleet.any(random)?.kill('SIGKILL');
    if ((await granted) === undefined) return false;
    await sleep(ASKED_MS);
    if (newcomerFirst) still = [...fleet.members];
    for (const member of still) member.kill('SIGSTOP');
    await topology.back();
    const newcomer = fleet.next('lease', GRANT_MS_MAX);
    if (newcomerFirst) still[Math.floor(random() * still.length)]?.kill('SIGKILL');
    await (newcomerFirst ? Promise.race([newcomer, sleep(AWAY_MS)]) : undefined);
    for (const member of still) member.kill('SIGCONT');
    await sleep(ASKED_MS);
    return true;
  } finally {
    for (const member of still) member.kill('SIGCONT');
    topology.isCalm = false;
  }
}

/** For every topology with `away` and `back`. */
export const SURVIVORS_FIRST = storeFault('there and back, survivors first', (_, world) =>
  thereAndBack(world, false),
);
/** If only the clients of the other server have proof, no rule helps. */
export const NEWCOMER_FIRST = storeFault('there and back, newcomer first', (_, world) =>
  thereAndBack(world, true),
);
export const THERE_AND_BACK = [SURVIVORS_FIRST, NEWCOMER_FIRST];

// The worst moment to restore an older copy, or to promote a standby. A worker ID was leased since
// the copy. Its holder is paused, and another process comes that finds the worker ID free.

/** How long a process may take to lease on a busy machine. */
const LEASE_MS_MAX = 60_000;
/** Shorter than a lease, so that the holder continues in its range. */
const STILL_MS = 7000;

/**
 * @typedef {object} Steps
 * @property {() => unknown} keep makes the copy
 * @property {() => unknown} forget restores it
 * @property {boolean} [goesOn] whether the old server continues next to the new one
 *
 * @param {World} world
 * @param {Steps} steps
 * @returns {Promise<boolean>} false if no process leased in between
 */
export async function forgetLease({ fleet, random }, { keep, forget }) {
  const first = fleet.any(random);
  if (first === undefined) return false;
  await fleet.end(first);
  const leasing = fleet.next('lease', LEASE_MS_MAX);
  await keep();
  const holder = await leasing;
  if (holder === undefined) return false;
  const newcomer = await newcomerOf(fleet, holder, random);
  holder.kill('SIGSTOP');
  const goesOn = setTimeout(() => holder.kill('SIGCONT'), STILL_MS);
  await forget();
  const next = fleet.next('lease', STILL_MS);
  newcomer?.kill('SIGCONT');
  await next;
  clearTimeout(goesOn);
  holder.kill('SIGCONT');
  return true;
}

/** A new process, paused until it may lease. @param {import('./fleet.mjs').Fleet} fleet */
export async function newcomerOf(
  fleet,
  /** @type {unknown} */ holder,
  /** @type {() => number} */ random,
) {
  const others = [...fleet.members].filter((member) => member !== holder);
  const other = others[Math.floor(random() * others.length)];
  const coming = fleet.next('up', LEASE_MS_MAX);
  if (other !== undefined) await fleet.end(other);
  const newcomer = await coming;
  newcomer?.kill('SIGSTOP');
  return newcomer;
}

// The worst moment for a store of counters to lose data. Segments were granted since, and all their
// holders are paused. The first call comes from a new process.

/** Two for each process. */
const GRANT_COUNT = 8;
const GRANTS_MS_MAX = 10_000;
const NEWCOMER_MS_MAX = 20_000;
/** Enough to use a grant, and far less than a loss window. */
const USED_MS = 300;

/**
 * @param {World} world
 * @param {object} steps
 * @param {() => unknown} steps.keep grants from here on will be lost
 * @param {() => unknown} [steps.hold] writes stop here
 * @param {() => unknown} steps.forget
 * @param {() => Promise<void>} [steps.asked] waits for a call to the store after its loss; the
 * store then loses its data again, with all that it did about the first loss
 * @param {boolean} [steps.goesOn] whether the old server continues, in which case no process is
 * paused
 * @param {number} [steps.grantCount] how many grants are lost
 * @returns {Promise<boolean>} false if nothing was granted in between
 */
export async function forgetGrants(
  { fleet, topology, random },
  { keep, hold, forget, asked, goesOn = false, grantCount = GRANT_COUNT },
) {
  /** @type {Set<import('./fleet.mjs').Member>} */
  const holders = new Set();
  const stopAll = () => {
    for (const member of goesOn ? [] : fleet.members) {
      member.kill('SIGSTOP');
      holders.add(member);
    }
  };
  const newcomer = () => {
    const granted = fleet.next('lease', NEWCOMER_MS_MAX);
    // The successor of the killed process is the new one.
    fleet.any(random)?.kill('SIGKILL');
    return granted;
  };
  // Wait for grants first. After a move, lost grants would be older than a window.
  if (await topology.gather?.()) await someGranted(fleet, grantCount, GRANTS_MS_MAX);
  await keep();
  // Half a window. The old server may use the other half, and a loss may not exceed one window.
  const spanMs = topology.quarantineMs > 0 ? topology.quarantineMs / 2 : GRANTS_MS_MAX;
  const isGranted = await someGranted(fleet, grantCount, spanMs);
  await hold?.();
  stopAll();
  try {
    await forget();
    if (asked !== undefined) {
      const granted = newcomer();
      await asked();
      await Promise.race([granted, sleep(USED_MS)]);
      await sleep(USED_MS);
      stopAll();
      await forget();
    }
    await newcomer();
  } finally {
    for (const holder of holders) holder.kill('SIGCONT');
  }
  return isGranted;
}

/**
 * @param {import('./fleet.mjs').Fleet} fleet
 * @param {number} grantCount
 * @param {number} spanMs
 */
function someGranted(fleet, grantCount, spanMs) {
  const goal = fleet.leaseCount + grantCount;
  return until(async () => fleet.leaseCount >= goal, spanMs).then(
    () => true,
    () => false,
  );
}

/*
 * A server of the chaos with its data in a folder. It can be killed, and restarted with these data
 * or an older copy.
 */

/** @abstract */
export class DiskNode {
  port = 0;
  user = unprivileged();
  /** More settings, appended last. @type {readonly string[]} */
  more = [];
  /** The environment of the server. @type {NodeJS.ProcessEnv | undefined} */
  env;
  /** @type {import('../../scripts/servers/bad-disk.mjs').BadDisk | undefined} */
  disk;
  /** @type {{ pid: number, stop: () => Promise<void> } | undefined} */
  server;

  constructor(/** @type {string} */ name) {
    this.folder = serverFolder(`chaos-${name}`, this.user);
    this.data = join(this.folder, 'data');
  }

  get pid() {
    return /** @type {number} */ (this.server?.pid);
  }

  /** Starts on its port, with the data in the folder. @returns {Promise<void>} */
  async start() {
    throw new Error(`${this.constructor.name} does not say how it starts.`);
  }

  /** kill -9 */
  async kill() {
    await this.server?.stop();
    this.server = undefined;
  }

  /** A copy made while the server is down, like a disk snapshot. */
  async backup() {
    await this.kill();
    copyFolder(this.data, `${this.data}.old`, this.user);
    await this.start();
  }

  async restore() {
    await this.kill();
    copyFolder(`${this.data}.old`, this.data, this.user);
    await this.start();
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
