/**
 * The store of a process: a URL, for which the library finds the installed Redis client, or a
 * client. Every second process passes a client, so both ways share one registry.
 */
import { etcdLocks } from 'nestjs-snowflake/etcd';
import { redisLocks } from 'nestjs-snowflake/redis';
import { sqlLocks } from 'nestjs-snowflake/sql';

const { CHAOS_CLIENT = '', CHAOS_PLACE = '0', CHAOS_SUPPORT = '' } = process.env;
const [ADDRESS = ''] = CHAOS_SUPPORT.split('?');

/** Like the client of an application, which sends nothing by itself here. */
const LAZY = { lazyConnect: true };

const ofIoredis = ({ Redis, Cluster }, { kind, nodes, login, name }) => {
  if (kind === 'cluster') return new Cluster(nodes, LAZY);
  if (kind === 'sentinel') return new Redis({ sentinels: nodes, name, ...LAZY });
  return new Redis({ ...nodes[0], ...login, ...LAZY });
};
const ofNodeRedis = ({ createClient, createCluster, createSentinel }, place) => {
  const { kind, nodes, login, name } = place;
  if (kind === 'cluster') return createCluster({ rootNodes: nodes.map((socket) => ({ socket })) });
  if (kind !== 'sentinel') return createClient({ socket: nodes[0], ...login });
  const client = createSentinel({ name, sentinelRootNodes: nodes });
  // The library refuses the sentinel client of node-redis 5, which cannot open a second connection.
  return client.duplicate === undefined ? undefined : client;
};
const ofGlide = ({ GlideClient, GlideClusterClient }, { kind, nodes, login }) =>
  (kind === 'cluster' ? GlideClusterClient : GlideClient).createClient({
    addresses: nodes,
    ...(login && { credentials: login }),
    ...LAZY,
  });

const MAKERS = {
  ioredis: ofIoredis,
  redis: ofNodeRedis,
  iovalkey: ofIoredis,
  '@valkey/valkey-glide': ofGlide,
};

const REDIS = /^redis(?:\+(?<kind>\w+))?:\/\/(?:(\w+):(\w+)@)?(?<hosts>[^/]+)\/?(?<name>\w*)$/;

async function madeClient() {
  const found = REDIS.exec(ADDRESS);
  if (found === null || Number(CHAOS_PLACE) % 2 === 0) return undefined;
  const [, , username, password] = found;
  const { kind, hosts = '', name } = found.groups ?? {};
  const nodes = hosts.split(',').map((text) => {
    const [host, port] = text.split(':');
    return { host, port: Number(port) };
  });
  const login = username && { username, password };
  const made = MAKERS[CHAOS_CLIENT](await import(CHAOS_CLIENT), { kind, nodes, login, name });
  const client = await made;
  client?.on?.('error', () => undefined);
  return client;
}

/** Undefined if the process passes the URL. */
export const givenClient = await madeClient();

/** Turns the query of a URL into options for a client. */
export const optionsOf = (/** @type {string} */ query) =>
  Object.fromEntries(
    [...new URLSearchParams(query)].map(([name, value]) => [
      name,
      /^(\d+|true|false)$/.test(value) ? JSON.parse(value) : value,
    ]),
  );

/** The store of locks, by client or by URL. */
export function givenLocks() {
  const { CHAOS_QUERY, CHAOS_SUPPORT: support = '' } = process.env;
  const [address = '', ownQuery = ''] = support.split('?');
  const query = CHAOS_QUERY ?? ownQuery;
  if (address.startsWith('redis')) {
    return redisLocks({ redis: givenClient ?? address, ...optionsOf(query) });
  }
  const url = `${address}?${query}`;
  return address.startsWith('etcd') ? etcdLocks({ url }) : sqlLocks({ url });
}
