/**
 * The shape that the faults of all stores have, and what most of them need.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @param {string} name
 * @param {(topology: any, world: import('../fault.mjs').World) => unknown} apply answers false
 *   where it could not happen
 * @returns {import('../fault.mjs').Fault}
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
