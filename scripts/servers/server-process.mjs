// A server as a child process in a folder of its own.
//
// Guarantee: it is gone, folder and all, after stop(), and also when this process ends in any way
// it can notice. Servers that refuse to run as root run as an unprivileged user.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** For a server that never comes; a busy machine may take long. */
const START_MS_MAX = 120_000;

/** @type {Set<() => void>} */
const running = new Set();
process.on('exit', () => {
  for (const kill of running) kill();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => process.exit(1));
}

/** uid and gid to run as when we are root; PostgreSQL refuses root. */
export function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag) => Number(spawnSync('id', [flag, 'nobody']).stdout);
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A new folder that the server's user may write. */
export function serverFolder(name, user = {}) {
  const folder = mkdtempSync(join(tmpdir(), `snowflake-${name}-`));
  chmodSync(folder, 0o755);
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** A global of Node that a context of Jest lacks on Node 20. */
const DISPOSE = /** @type {typeof Symbol.asyncDispose} */ (
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
);

/**
 * Stopped by `await using` too, also after an assertion has failed.
 * @typedef {AsyncDisposable & { stop: () => Promise<void> }} Stoppable
 * @param {() => Promise<void>} stop
 * @returns {Stoppable}
 */
export const stoppable = (stop) => ({ stop, [DISPOSE]: stop });

/** @typedef {{ url: string, port: number, pid: number } & Stoppable} Server */

/**
 * Starts a server and waits until `isReady` says yes.
 * @typedef {{ command: string, args: string[], folder: string }} Started
 * @typedef {{ under: (server: { command: string, args: string[] }) => typeof server }} Disk
 * @typedef {Started & { user?: object, env?: NodeJS.ProcessEnv, disk?: Disk }} ServerParts
 * @param {ServerParts & { isReady: () => Promise<boolean> }} parts
 * @returns {Promise<{ pid: number } & Stoppable>}
 */
export async function startProcess({ folder, user = {}, env, disk, isReady, ...server }) {
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'pipe']);
  const { command, args } = disk === undefined ? server : disk.under(server);
  const child = spawn(command, args, { cwd: folder, stdio, ...(env && { env }), ...user });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => (output = (output + text).slice(-4000)));
  }
  const clean = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const kill = () => {
    child.kill('SIGKILL');
    clean();
  };
  running.add(kill);
  const stop = async () => {
    running.delete(kill);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    clean();
  };
  for (const deadline = Date.now() + START_MS_MAX; !(await isReady()); await sleep(25)) {
    if (child.exitCode === null && Date.now() < deadline) continue;
    await stop();
    throw new Error(`${server.command} did not start:\n${output}`);
  }
  return { pid: child.pid, ...stoppable(stop) };
}
