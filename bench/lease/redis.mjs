// The redis-server of a benchmark and what it says about itself.
//
// Guarantee: each server is new, ours alone and gone at the end; figures come from INFO, so that
// they are the server's own and hold nothing of our clients or of the network.
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

/** Forgets what commands took so far; scriptUs() counts from here. */
export async function resetScriptUs(admin) {
  await admin.config('RESETSTAT');
}

/** Time in scripts since then, all calls together; loud where other calls than ours are in it. */
export async function scriptUs(admin, callCount) {
  const info = await admin.info('commandstats');
  const found = /^cmdstat_evalsha:calls=(\d+),usec=(\d+).*failed_calls=(\d+)/m.exec(info);
  const [calls, us, failed] = (found ?? []).slice(1).map(Number);
  if (calls !== callCount || failed !== 0) {
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
