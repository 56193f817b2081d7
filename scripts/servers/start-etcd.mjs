// An etcd of our own, one member or three: fresh data, loopback, free ports, no waiting for the
// disk unless asked for.
import { join } from 'node:path';
import { requireServers } from './binaries.mjs';
import { freePort, firstReply } from './ports.mjs';
import { serverFolder, startProcess, stoppable, unprivileged } from './server-process.mjs';

/**
 * A member of a cluster, before it runs.
 * @typedef {{ name: string, port: number, peerPort: number }} EtcdMember
 */

/** @returns {Promise<EtcdMember[]>} */
export async function etcdMembers(memberCount = 1) {
  const members = [];
  for (let number = 0; number < memberCount; number++) {
    members.push({ name: `m${number}`, port: await freePort(), peerPort: await freePort() });
  }
  return members;
}

/** What the members of a cluster have to be told about each other. */
export function initialCluster(/** @type {readonly EtcdMember[]} */ members) {
  return members.map(({ name, peerPort }) => `${name}=http://127.0.0.1:${peerPort}`).join(',');
}

/** The arguments that every member of a cluster has. */
function argumentsOf(member, members, { scheme, data, token }) {
  const client = `${scheme}://127.0.0.1:${member.port}`;
  const peer = `http://127.0.0.1:${member.peerPort}`;
  const options = {
    name: member.name,
    'data-dir': data,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': initialCluster(members),
    'initial-cluster-token': token,
  };
  return Object.entries(options).map(([name, value]) => `--${name}=${value}`);
}

/**
 * One member, which waits for those it is told of.
 * @param {EtcdMember} member
 * @param {readonly EtcdMember[]} members it among them
 * @param {{ data?: string, token?: string, args?: readonly string[], isTls?: boolean,
 *   isDurable?: boolean, disk?: import('./server-process.mjs').Disk }} options
 *   `data` is a folder that outlives the server
 */
export async function startEtcdMember(member, members, options = {}) {
  const { data, token = 'snowflake', args = [], isTls = false, isDurable = false, disk } = options;
  const { etcd } = requireServers(['etcd']);
  const user = unprivileged();
  const folder = serverFolder('etcd', user);
  const scheme = isTls ? 'https' : 'http';
  const base = argumentsOf(member, members, { scheme, data: data ?? join(folder, 'data'), token });
  const server = await startProcess({
    command: etcd,
    args: [...base, ...(isDurable ? [] : ['--unsafe-no-fsync']), ...args],
    folder,
    user,
    ...(disk && { disk }),
    // Who speaks TLS to its clients alone answers its peers in the clear.
    isReady: async () => (await firstReply(isTls ? member.peerPort : member.port, HEALTH)) !== '',
  });
  return {
    ...server,
    port: member.port,
    url: `etcd${isTls ? 's' : ''}://127.0.0.1:${member.port}`,
  };
}

/** Answered by whoever listens, also while there is no leader yet. */
const HEALTH = 'GET /version HTTP/1.0\r\n\r\n';
/**
 * @param {{ memberCount?: number, args?: readonly string[], isTls?: boolean }} options
 * @returns {Promise<import('./server-process.mjs').Server>}
 */
export async function startEtcd({ memberCount = 1, ...options } = {}) {
  const members = await etcdMembers(memberCount);
  const running = await Promise.all(
    members.map((member) => startEtcdMember(member, members, options)),
  );
  const [{ pid, port }] = running;
  const hosts = members.map((member) => `127.0.0.1:${member.port}`).join(',');
  return {
    url: `etcd${options.isTls ? 's' : ''}://${hosts}`,
    port,
    pid,
    ...stoppable(async () => void (await Promise.all(running.map(({ stop }) => stop())))),
  };
}
