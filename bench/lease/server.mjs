// The redis-server of a benchmark and what it says about itself.
//
// Guarantee: each server is new, ours alone and gone at the end; figures come from INFO, so that
// they are the server's own and hold nothing of our clients or of the network.
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { startRedis } from '../../scripts/servers/start-redis.mjs';

/** Connections of the benchmark's own, and what Redis keeps for itself. */
const SPARE_CONNECTIONS = 8;

/**
 * @template T
 * @param {(server: { url: string, admin: Redis }) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withRedis(use) {
  const server = await startRedis();
  const admin = new Redis(server.url);
  try {
    return await use({ url: server.url, admin });
  } finally {
    admin.disconnect();
    await server.stop();
  }
}

/** CPU time the server has used since it started, in ms, all its threads together. */
export async function cpuMs(admin) {
  const info = await admin.info('cpu');
  const secondsOf = (name) => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)[1]);
  return 1000 * (secondsOf('used_cpu_user') + secondsOf('used_cpu_sys'));
}

/** One number of INFO. */
export async function infoNumber(admin, section, name) {
  return Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(await admin.info(section))[1]);
}

/** Makes a registry as it is long after it was created: what is given back is free at once. */
export async function settleRegistry(admin, key) {
  const told = `${await admin.info('server')}\n${await admin.info('replication')}`;
  const field = (name) => new RegExp(`${name}:(\\w+)`).exec(told)[1];
  const server = `${field('run_id')}:${field('master_replid')}`;
  const lastTimeMs = Date.now();
  const begun = { version: '2', fingerprint: '', incarnation: 'bench', server, lastTimeMs };
  const counts = { slewMs: 0, quarantineMs: 0, safeFloorMs: 0, era: 1, operations: 0, blocks: [] };
  const header = `1|${lastTimeMs}|\n${JSON.stringify({ ...begun, ...counts })}`;
  await admin.hset(key, { version: 2, lastTime: lastTimeMs, server, epoch: 0, 'r:|': header });
}

/** Forgets what commands took so far; scriptUs() counts from here. */
export async function resetScriptUs(admin) {
  await admin.config('RESETSTAT');
}

/**
 * Time in scripts since then, all calls together, each of which may be several pages; loud where
 * other calls than ours are in it.
 */
export async function scriptUs(admin, callCount) {
  const info = await admin.info('commandstats');
  const found = /^cmdstat_evalsha:calls=(\d+),usec=(\d+).*failed_calls=(\d+)/m.exec(info);
  const [calls, us, failed] = (found ?? []).slice(1).map(Number);
  if (!(calls > 0 && calls % callCount === 0) || failed !== 0) {
    throw new Error(`Expected ${callCount} scripts to have run, Redis counted:\n${info}`);
  }
  return us;
}

/** Undefined where `count` connections fit, else why not. The limit is not raised by us. */
export async function connectionFault(admin, count) {
  const [, text] = await admin.config('GET', 'maxclients');
  const free = Number(text) - SPARE_CONNECTIONS;
  if (free >= count) return undefined;
  return `not measured: this redis-server takes ${text} connections (ulimit -n of the machine)`;
}

// CPU time of a server and of the processes that it started, as Linux counts it.
//
// Guarantee: children that have ended count as well, and other processes never.

/** Of the kernel's clock for user space, on every architecture that Node runs on. */
const TICK_MS = 10;

/** In ms, since the server was started. */
export function processCpuMs(/** @type {number} */ pid) {
  const [, , user, system, endedUser, endedSystem] = fieldsOf(pid);
  return (user + system + endedUser + endedSystem) * TICK_MS + childrenCpuMs(pid);
}

/** What was done, with the CPU time that the server used meanwhile. */
export async function measuredCpu(pid, act) {
  const [cpuBefore, startedAt] = [processCpuMs(pid), performance.now()];
  const answer = await act();
  const elapsedMs = performance.now() - startedAt;
  return { answer, elapsedMs, cpuMs: processCpuMs(pid) - cpuBefore };
}

function childrenCpuMs(pid) {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const children = list === '' ? [] : list.split(' ').map(Number);
  return children.reduce((sum, child) => sum + cpuMsIfThere(child), 0);
}

function cpuMsIfThere(pid) {
  try {
    return processCpuMs(pid);
  } catch (error) {
    // It ended since it was listed.
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0;
    throw error;
  }
}

/** Fields 12 to 17; the name before them may hold anything. */
function fieldsOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(9, 15)
    .map(Number);
}
