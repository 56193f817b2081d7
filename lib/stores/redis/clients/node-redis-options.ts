/**
 * How our client of node-redis is made, after a given client or after a URL, and where a given one
 * leads. A URL is read as the options of an application that would name the same.
 */
import type { RedisUrl } from '../redis-url.js';
import {
  type GivenNodeRedis,
  type GivenOptions,
  impatient,
  kindOf,
  loginOf,
  type Node,
  type NodeOptions,
  type NodeRedis,
  optionsOf,
  type Socket,
} from './node-redis-shape.js';
import {
  backoffMs,
  databaseOf,
  locationOf,
  type Login,
  type RedisLocation,
  refuseDatabase,
} from './redis-client.js';

/** Our client, and the options after which it was made. */
type Made = readonly [ours: NodeRedis, given: GivenOptions];

/** @throws SnowflakeError CONFIG_INVALID */
export function madeBy(client: GivenNodeRedis): Made {
  const given = optionsOf(client);
  return [(client as Node).duplicate(overridesOf(kindOf(client), given)), given];
}

const FACTORIES = {
  standalone: 'createClient',
  sentinel: 'createSentinel',
  cluster: 'createCluster',
};

export function madeFor(url: RedisUrl, loaded: unknown): Made {
  const given = givenBy(url);
  const make = (loaded as Record<string, (options: object) => NodeRedis>)[FACTORIES[url.kind]]!;
  return [make({ ...given, ...overridesOf(url.kind, given) }), given];
}

function givenBy({ kind, hosts, isTls, masterName, ...logins }: RedisUrl): GivenOptions {
  const { username, password, sentinelUsername, sentinelPassword } = logins;
  const socket: Socket = isTls ? { tls: true } : {};
  const node = { username, password, socket };
  switch (kind) {
    case 'standalone':
      return { ...node, socket: { ...socket, ...hosts[0] } };
    case 'sentinel': {
      const own = { username: sentinelUsername, password: sentinelPassword, socket };
      const sentinels = { sentinelRootNodes: hosts, sentinelClientOptions: own };
      return { name: masterName!, nodeClientOptions: node, ...sentinels };
    }
    case 'cluster': {
      const rootNodes = hosts.map((host) => ({ socket: { ...host, ...socket } }));
      return { rootNodes, defaults: node };
    }
  }
}

/** The end that a client leads to, and the options in place of its own by which it makes ours. */
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
    const roots = rootNodes.map((node) => impatient(node));
    const ours = { useReplicas: false, defaults: nodeOptions(defaults), rootNodes: roots };
    return { servers, db: undefined, logins: [defaults, ...rootNodes, ...servers], ours };
  },
};

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenNodeRedis): RedisLocation {
  const { servers, db, logins } = WAYS[kindOf(client)](optionsOf(client));
  const secrets = logins.map((login) => login?.password);
  return locationOf(servers, db, secrets);
}

function overridesOf(kind: RedisUrl['kind'], given: GivenOptions): GivenOptions {
  return { ...WAYS[kind](given).ours, commandOptions: commandOptionsOf(given) };
}

/** Our connection answers at once or fails; what a script answers is given as it comes. */
function nodeOptions(given: NodeOptions = {}): NodeOptions {
  // An application's own strategy may give up for good, or wait for long.
  const reconnectStrategy = (retries: number) => backoffMs(retries + 1);
  return {
    ...given,
    ...NODE_OPTIONS,
    socket: { ...given.socket, reconnectStrategy },
    commandOptions: commandOptionsOf(given),
  };
}

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

/**
 * The application's limit of a command; no other of its options of commands. Without one there is
 * none, which has to be said: that of node-redis 6 takes ten times as long as the command itself.
 */
function commandOptionsOf({ commandOptions }: NodeOptions): NodeOptions['commandOptions'] {
  return { timeout: commandOptions?.timeout };
}

/** For a connection to one Sentinel, made after one to the master. */
export function optionsOfSentinel({ host, port }: Login, given: GivenOptions): NodeOptions {
  const { sentinelClientOptions: own } = given;
  const login = { username: undefined, password: undefined, credentialsProvider: undefined };
  const socket = { ...own?.socket, host, port, reconnectStrategy: false };
  return { ...nodeOptions({ ...login, ...own }), socket };
}
