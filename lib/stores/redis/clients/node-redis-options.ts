/**
 * Creates the library's own node-redis client from a given client or a URL, and finds the location
 * of a given one. A URL is converted to the equivalent options of an application.
 */
import type { RedisUrl } from '../redis-url.js';
import {
  type GivenOptions,
  impatient,
  kindOf,
  loginOf,
  type NodeOptions,
  type NodeRedis,
  optionsOf,
} from './node-redis-shape.js';
import { backoffMs, locationOf, type Login, type RedisLocation } from './redis-client.js';

/** The library's own client, and the options that it is based on. */
type Made = readonly [ours: NodeRedis, given: GivenOptions];

/** @throws SnowflakeError CONFIG_INVALID */
export function madeBy(client: NodeRedis): Made {
  const given = optionsOf(client);
  return [client.duplicate!(overridesOf(kindOf(client), given)), given];
}

const FACTORIES = {
  standalone: 'createClient',
  sentinel: 'createSentinel',
  cluster: 'createCluster',
};

export function madeFor(url: RedisUrl, loaded: unknown): Made {
  const given = givenByUrl(url);
  const make = (loaded as Record<string, (options: object) => NodeRedis>)[FACTORIES[url.kind]]!;
  return [make({ ...given, ...overridesOf(url.kind, given) }), given];
}

/** The equivalent options of an application. */
function givenByUrl({ kind, hosts, isTls, masterName, ...logins }: RedisUrl): GivenOptions {
  const { username, password, sentinelUsername, sentinelPassword } = logins;
  const socket = isTls ? { tls: true } : {};
  const node = { username, password, socket };
  switch (kind) {
    case 'standalone':
      return { ...node, socket: { ...socket, ...hosts[0] } };
    case 'sentinel': {
      const own = { username: sentinelUsername, password: sentinelPassword, socket };
      const sentinels = { sentinelRootNodes: hosts, sentinelClientOptions: own };
      return { name: masterName, nodeClientOptions: node, ...sentinels };
    }
    case 'cluster': {
      const rootNodes = hosts.map((host) => ({ socket: { ...host, ...socket } }));
      return { rootNodes, defaults: node };
    }
  }
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: NodeRedis): RedisLocation {
  const kind = kindOf(client);
  const given = optionsOf(client);
  const { socket, nodeClientOptions: node, defaults } = given;
  switch (kind) {
    case 'standalone': {
      const servers = socket?.path ?? [{ host: 'localhost', ...socket }];
      return locationOf({ kind, servers, database: ['database', given.database], logins: [given] });
    }
    case 'sentinel': {
      const servers = given.sentinelRootNodes!;
      const database = ['nodeClientOptions.database', node?.database] as const;
      return locationOf({ kind, servers, database, logins: [node, given.sentinelClientOptions] });
    }
    case 'cluster': {
      const { rootNodes = [] } = given;
      const servers = rootNodes.map(({ socket: own, url }) => own ?? loginOf(url));
      const database = ['defaults.database', defaults?.database] as const;
      return locationOf({ kind, servers, database, logins: [defaults, ...rootNodes, ...servers] });
    }
  }
}

/** The options that replace the given ones in the library's own client. */
function overridesOf(kind: RedisUrl['kind'], given: GivenOptions): object {
  const { nodeClientOptions, defaults, rootNodes = [] } = given;
  const ours = {
    standalone: nodeOptions(given),
    sentinel: { replicaPoolSize: 0, nodeClientOptions: nodeOptions(nodeClientOptions) },
    cluster: {
      useReplicas: false,
      defaults: nodeOptions(defaults),
      rootNodes: rootNodes.map(impatient),
    },
  };
  return { ...ours[kind], commandOptions: commandOptionsOf(given) };
}

/** The connection responds at once or fails; a script's reply is returned unchanged. */
function nodeOptions(given: NodeOptions = {}): object {
  // An application's own strategy may give up permanently, or wait for long.
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
 * The application's time limit of a command; none of its other command options. Without one, the
 * limit must be turned off explicitly, because that of node-redis 6 takes ten times as long as the
 * command.
 */
function commandOptionsOf({ commandOptions }: NodeOptions): NodeOptions['commandOptions'] {
  return { timeout: commandOptions?.timeout };
}

/** For a connection to one Sentinel, derived from the options for the master. */
export function optionsOfSentinel({ host, port }: Login, given: GivenOptions): object {
  const { sentinelClientOptions: own } = given;
  const login = { username: undefined, password: undefined, credentialsProvider: undefined };
  const socket = { ...own?.socket, host, port, reconnectStrategy: false };
  return { ...nodeOptions({ ...login, ...own }), socket };
}
