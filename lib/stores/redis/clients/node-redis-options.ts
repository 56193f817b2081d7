/**
 * Where a client of node-redis leads, and what ours is made with after it, or after a URL.
 */
import type { RedisUrl } from '../redis-url.js';
import {
  databaseOf,
  locationOf,
  refuseDatabase,
  type Login,
  type RedisLocation,
} from './location.js';
import {
  kindOf,
  loginOf,
  optionsOf,
  type GivenNodeRedis,
  type GivenOptions,
  type NodeOptions,
  type Socket,
} from './node-redis-given.js';

/** Our connection answers at once or fails; what a script answers is given as it comes. */
const NODE_OPTIONS = {
  url: undefined,
  database: 0,
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  readonly: false,
  disableClientInfo: true,
  clientSideCache: undefined,
  emitInvalidate: false,
};

/** An application's own strategy may give up for good, or wait for long. */
const reconnectStrategy = (retries: number) => Math.min(50 * (retries + 1), 2000);

function nodeOptions(given: NodeOptions = {}): NodeOptions {
  // The application's limit of a command; no other of its options of commands. Without one there is
  // none, which has to be said: that of node-redis 6 takes ten times as long as the command itself.
  const commandOptions = { timeout: given.commandOptions?.timeout };
  const socket = { ...given.socket, reconnectStrategy };
  return { ...given, ...NODE_OPTIONS, socket, commandOptions };
}

export function optionsOfUrl(url: RedisUrl): GivenOptions {
  const { username, password, sentinelUsername, sentinelPassword, hosts } = url;
  const socket: Socket = url.isTls ? { tls: true } : {};
  const node = nodeOptions({ username, password, socket });
  const { commandOptions } = node;
  switch (url.kind) {
    case 'standalone':
      return { ...node, socket: { ...node.socket, ...hosts[0] } };
    case 'sentinel': {
      const own = { username: sentinelUsername, password: sentinelPassword, socket };
      const sentinels = { sentinelRootNodes: hosts, sentinelClientOptions: own, commandOptions };
      return { name: url.masterName!, nodeClientOptions: node, ...sentinels };
    }
    case 'cluster':
      return {
        rootNodes: hosts.map((host) => ({ socket: { ...host, ...socket } })),
        defaults: node,
        commandOptions,
      };
  }
}

/** Where a client leads, and the options in place of its own by which it makes ours. */
interface Way {
  readonly servers: readonly Login[] | string;
  readonly db: number | undefined;
  readonly logins: readonly (Login | undefined)[];
  readonly ours: GivenOptions;
}

const WAYS: Readonly<Record<RedisUrl['kind'], (given: GivenOptions) => Way>> = {
  standalone: (options) => ({
    servers: options.socket?.path ?? [{ host: 'localhost', ...options.socket }],
    db: databaseOf('database', options.database),
    logins: [options],
    ours: nodeOptions(options),
  }),
  sentinel: ({ sentinelRootNodes = [], nodeClientOptions: node, sentinelClientOptions }) => ({
    servers: sentinelRootNodes,
    db: databaseOf('nodeClientOptions.database', node?.database),
    logins: [node, sentinelClientOptions],
    ours: { replicaPoolSize: 0, nodeClientOptions: nodeOptions(node) },
  }),
  cluster({ rootNodes = [], defaults }) {
    refuseDatabase('defaults.database', defaults?.database);
    const servers = rootNodes.map(({ socket, url }) => socket ?? loginOf(url));
    const ours = { useReplicas: false, defaults: nodeOptions(defaults) };
    return { servers, db: undefined, logins: [defaults, ...rootNodes, ...servers], ours };
  },
};

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenNodeRedis): RedisLocation {
  const { servers, db, logins } = WAYS[kindOf(client)](optionsOf(client));
  const secrets = logins.map((login) => login?.password);
  return locationOf(servers, db, secrets);
}

/** @throws SnowflakeError CONFIG_INVALID */
export function overridesOf(client: GivenNodeRedis): GivenOptions {
  const given = optionsOf(client);
  const { commandOptions = {} } = nodeOptions(given);
  return { ...WAYS[kindOf(client)](given).ours, commandOptions };
}

/** Our own connection to a Sentinel, made after one to the master. */
export function optionsOfSentinel(
  { host, port }: Login,
  { sentinelClientOptions: own }: GivenOptions,
): NodeOptions {
  const login = { username: undefined, password: undefined, credentialsProvider: undefined };
  const socket = { ...own?.socket, host, port, reconnectStrategy: false };
  return { ...nodeOptions({ ...login, ...own }), socket };
}
