/**
 * What a fault is, and what those of several stores have in common: their shape and pace, a bad
 * network, orders of what comes back, and the worst moment to forget.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';

// How fast a topology is attacked, and by how many processes its registry is used.

/**
 * @typedef {object} Pace
 * @property {number} processCount as many as there are worker ids, so that each goes to the next
 *   process as soon as it is free
 * @property {number} workerBits
 * @property {number} callTimeoutMs of a call of the registry
 * @property {{ process: number, store: number }} pauseMs a process that is told to stop, or
 *   killed, leaves the rest some time to live on
 * @property {number} grantMs so long one waits for a worker id to be leased after a fault of the
 *   store, or the end of a process, at most; 0 where the next one may come at once
 */

/** Faults of Redis are over in a moment: they follow each other closely. @type {Pace} */
export const REDIS_PACE = {
  processCount: 8,
  workerBits: 3,
  callTimeoutMs: 500,
  pauseMs: { process: 600, store: 300 },
  grantMs: 0,
};

/** Other servers take seconds to come back, and an attack on nobody proves nothing. @type {Pace} */
export const STORE_PACE = {
  processCount: 4,
  workerBits: 2,
  callTimeoutMs: 1500,
  pauseMs: { process: 800, store: 300 },
  grantMs: 30_000,
};

// What a fault is, and the world that it befalls.

/**
 * @typedef {object} World
 * @property {import('./fleet.mjs').Fleet} fleet
 * @property {any} topology
 * @property {() => number} random
 *
 * @typedef {object} Fault
 * @property {string} name
 * @property {'process' | 'store'} level
 * @property {string} [gap] the stretch without ids that it causes in its process, by its error
 * @property {number} [cardCount] how often it is in the deck: restarts are what happens most
 * @property {boolean} [changesServer] new ranges then begin behind the quarantine
 * @property {boolean} [setsOneClock] of one process, and not of the others
 * @property {boolean} [ofTwoBuilds] of a fleet in which two builds run
 * @property {'network' | 'packets' | 'disk' | 'clock'} [beside] of what it is, where it may befall
 *   a store beside another fault that is not of that: it lasts for a moment, and ends by itself
 * @property {readonly string[]} [only] topologies that can have it; default all
 * @property {(world: World) => unknown} apply answers the process it befell, if it is one, and
 *   false where it could not happen
 */

/** @param {() => Promise<unknown>} isSo errors count as no */
export async function until(isSo, spanMs = 15_000) {
  for (const endMs = performance.now() + spanMs; performance.now() < endMs; await sleep(50)) {
    if (await isSo().catch(() => false)) return;
  }
  throw new Error(`Waited ${spanMs / 1000} s in vain for: ${isSo.toString()}`);
}

// The shape that the faults of all stores have, and what most of them need.

/**
 * @param {string} name
 * @param {(topology: any, world: World) => unknown} apply answers false
 *   where it could not happen
 * @returns {Fault}
 */
export const storeFault = (name, apply) => ({
  name,
  level: 'store',
  apply: (world) => apply(world.topology, world),
});

/** What was dumped is loaded again, while the server runs, at the worst moment of the topology. */
export const loadDump = (/** @type {any} */ { node, table, forgetful }, /** @type {any} */ world) =>
  forgetful(world, { keep: () => node.dump(table), forget: () => node.load() });

/** How long processes may take to write what is then deleted. */
const WRITE_MS_MAX = 10_000;

/** @param {() => Promise<number>} remove @returns whether it removed anything, once there was */
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
 * An operator takes rights away while all run, one after the other, and gives each back.
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
 * Runs a command to its end. Not at once: what it connects to may be a proxy of this process.
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
 * As a snapshot of a disk is put back.
 * @param {string} from @param {string} to @param {any} user
 */
export function copyFolder(from, to, { uid, gid }) {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  if (uid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, to]);
  spawnSync('chmod', ['700', to]);
}

// What befalls the network between the processes and a store that is reached through one proxy.

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

// Clients are led to another server and back to the first one, which was never restarted: it shows
// no sign of what the other one granted in between.

/** @typedef {import('./fleet.mjs').Member} Member */

/** How long a process may take to be granted something, on a busy machine. */
const GRANT_MS_MAX = 30_000;
/** Longer than any process stands still that was told to before. */
const AWAY_MS = 11_000;
/** All have asked once by then. */
const ASKED_MS = 3000;

/**
 * @param {World} world
 * @param {boolean} newcomerFirst whether all that were answered by the other server stand still
 *   while one that was never answered asks the first; else nobody is new
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

/** Of every topology that can lead `away` and `back`. */
export const SURVIVORS_FIRST = storeFault('there and back, survivors first', (_, world) =>
  thereAndBack(world, false),
);
/** Where nothing but whoever was answered by the other server can tell, no rule helps. */
export const NEWCOMER_FIRST = storeFault('there and back, newcomer first', (_, world) =>
  thereAndBack(world, true),
);
export const THERE_AND_BACK = [SURVIVORS_FIRST, NEWCOMER_FIRST];

// The worst moment to put a store back to an older copy, or to let a standby take over: a worker id
// was leased since, its holder stands still, so that it tells nobody, and another process comes
// which finds that worker id free.

/** How long a process may take to lease, on a busy machine. */
const LEASE_MS_MAX = 60_000;
/** Shorter than a lease, so that the holder goes on in its range. */
const STILL_MS = 7000;

/**
 * @typedef {object} Steps
 * @property {() => unknown} keep makes the copy
 * @property {() => unknown} forget brings it back
 * @property {boolean} [goesOn] whether the old server goes on answering beside the new one
 *
 * @param {World} world
 * @param {Steps} steps
 * @returns {Promise<boolean>} false where nothing was leased in between
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

/** One that stands still until it may lease. @param {import('./fleet.mjs').Fleet} fleet */
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

// The worst moment for a store of counters to forget: segments were granted since, all who were
// answered stand still, so that nobody tells the store what it granted, and the first to ask is a
// process that was never answered anything.

/** Two of each process. */
const GRANT_COUNT = 8;
const GRANTS_MS_MAX = 10_000;
const NEWCOMER_MS_MAX = 20_000;
/** Enough for a grant to be used, and far less than a loss window. */
const USED_MS = 300;

/**
 * @param {World} world
 * @param {object} steps
 * @param {() => unknown} steps.keep what is granted from here on is forgotten
 * @param {() => unknown} [steps.hold] nobody writes from here on
 * @param {() => unknown} steps.forget
 * @param {() => Promise<void>} [steps.asked] until somebody asked the store that forgot: then it
 *   forgets again at once, with all that it made of the loss
 * @param {boolean} [steps.goesOn] whether the old server goes on answering: nobody then stands
 *   still
 * @param {number} [steps.grantCount] how many grants are forgotten
 * @returns {Promise<boolean>} false where nothing was granted in between
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
    // The newcomer is its successor.
    fleet.any(random)?.kill('SIGKILL');
    return granted;
  };
  // Nothing is granted for a window after a move: what it left behind would be older than one.
  if (await topology.gather?.()) await someGranted(fleet, grantCount, GRANTS_MS_MAX);
  await keep();
  // Half a window, since the old server may go on for the rest; no more than one may be lost.
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
 * A server of the chaos with its data in a folder: it can be killed, and started again with these
 * data or with an older copy of them.
 */

/** @abstract */
export class DiskNode {
  port = 0;
  user = unprivileged();
  /** Settings of its own, the last ones. @type {readonly string[]} */
  more = [];
  /** In which it runs. @type {NodeJS.ProcessEnv | undefined} */
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

  /** On its port, with the data that there are. @returns {Promise<void>} */
  async start() {
    throw new Error(`${this.constructor.name} does not say how it starts.`);
  }

  /** kill -9 */
  async kill() {
    await this.server?.stop();
    this.server = undefined;
  }

  /** A copy that was made while nothing ran, as a snapshot of a disk is. */
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
