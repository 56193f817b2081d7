// What is loaded into a server before the C library, and does some of its calls in another way.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { requireServers } from './binaries.mjs';

/**
 * Builds a library from a source of this folder.
 * @param {string} source its name
 * @param {string} library the path of what is built
 * @returns {NodeJS.ProcessEnv} of the server that is to have it
 */
export function preloaded(source, library) {
  const { cc } = requireServers(['cc']);
  const path = fileURLToPath(new URL(source, import.meta.url));
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, path];
  const built = spawnSync(cc, args, { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`${cc} failed:\n${built.stderr || built.error}`);
  return { ...process.env, LD_PRELOAD: library };
}
