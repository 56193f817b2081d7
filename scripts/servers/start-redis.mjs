// A redis-server or valkey-server of our own: loopback, free port, nothing written to disk unless
// asked for. REDIS_SERVER=valkey makes it the latter wherever none is named.
import { requireServers } from './binaries.mjs';
import { freePort, firstReply } from './ports.mjs';
import { serverFolder, startProcess } from './server-process.mjs';

/**
 * @typedef {'redis' | 'valkey'} Kind
 * @typedef {{ env?: NodeJS.ProcessEnv, disk?: import('./server-process.mjs').Disk }} Machine
 * @typedef {Machine & { port?: number, args?: string[], config?: string }} Options
 * @param {Options & { server?: Kind }} options
 *   `args` as on the command line of redis-server; with a `config`, a path, it runs as a Sentinel
 * @returns {Promise<import('./server-process.mjs').Server>}
 */
export async function startRedis({ port, args = [], config, env, disk, server = ofRun() } = {}) {
  const { [server]: command } = requireServers([server]);
  const chosen = port ?? (await freePort());
  const folder = serverFolder('redis');
  const base = ['--port', String(chosen), '--bind', '127.0.0.1', '--dir', folder];
  const store = [...base, ...(await busOf(args)), '--save', '', '--appendonly', 'no', ...args];
  const running = await startProcess({
    command,
    args: config === undefined ? store : [config, '--sentinel', ...base, ...args],
    folder,
    ...(env && { env }),
    ...(disk && { disk }),
    // A server that asks for a password is up as well.
    isReady: async () => /^(\+PONG|-NOAUTH)/.test(await firstReply(chosen, 'PING\r\n')),
  });
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, ...running };
}

/** What one who uses a server would disturb all the others by. */
const DISTURBING =
  'flushall flushdb swapdb shutdown replicaof slaveof failover config|set config|rewrite ' +
  'config|resetstat client|kill client|pause acl|setuser acl|deluser acl|load script|flush ' +
  'script|kill function|flush';

/**
 * A server that many use side by side: its users may do what they like to keys of their own, and
 * nothing that the others would notice.
 * @param {Kind} [server]
 */
export function startSharedRedis(server) {
  const rights = [
    'on',
    'nopass',
    '~*',
    '&*',
    '+@all',
    ...DISTURBING.replaceAll(/\S+/g, '-$&').split(' '),
  ];
  return startRedis({ ...(server && { server }), args: ['--user', 'default', ...rights] });
}

/** @returns {Kind} */
const ofRun = () => (process.env['REDIS_SERVER'] === 'valkey' ? 'valkey' : 'redis');

/**
 * The bus of a node in a Cluster: left out, it is 10,000 above the port, where connections without
 * a wish have theirs.
 * @param {readonly string[]} args
 */
async function busOf(args) {
  const isAlone = !args.includes('--cluster-enabled') || args.includes('--cluster-port');
  return isAlone ? [] : ['--cluster-port', String(await freePort())];
}
