/**
 * The shape that the faults of all stores have, and what most of them need.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';

/**
 * @param {string} name
 * @param {(topology: any, world: import('../faults.mjs').World) => unknown} apply answers false
 *   where it could not happen
 * @returns {import('../faults.mjs').Fault}
 */
export const storeFault = (name, apply) => ({
  name,
  level: 'store',
  apply: (world) => apply(world.topology, world),
});

/** As a snapshot of a disk is put back. @param {string} from @param {string} to @param {any} user */
export function copyFolder(from, to, { uid, gid }) {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  if (uid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, to]);
  spawnSync('chmod', ['700', to]);
}
