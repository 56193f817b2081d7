/**
 * The options of the library's own ioredis or iovalkey client, from a given client or from a URL.
 */
import { format } from '../../../messages.js';
import type { RedisUrl } from '../redis-url.js';
import {
  backoffMs,
  invalidClient,
  isUnknownScript,
  locationOf,
  type Login,
  type RedisLocation,
} from './redis-client.js';

/**
 * The connection responds at once or fails: the keeper repeats calls, so the client must not queue.
 */
const OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  // Two services with different prefixes would keep two registries for one ID space.
  keyPrefix: '',
} as const;

const NODE_OPTIONS = {
  ...OPTIONS,
  maxRetriesPerRequest: 1,
  // If the server rejects its SELECT, ioredis ignores the error and continues in database 0.
  db: 0,
  readOnly: false,
  monitor: false,
  // CLIENT SETINFO would come first, receive the error of a full server, and not report it.
  disableClientInfo: true,
  stringNumbers: false,
  // ioredis 6 may return a map as an object.
  replyMapping: 'legacy',
} as const;

const CONNECTION_OPTIONS = {
  ...NODE_OPTIONS,
  role: 'master',
  retryStrategy: backoffMs,
  // Otherwise, ioredis would retry a Sentinel that rejects the login forever, and hide the reason.
  sentinelRetryStrategy: () => null,
} as const;

const CLUSTER_OPTIONS = {
  ...OPTIONS,
  scaleReads: 'master',
  clusterRetryStrategy: backoffMs,
  clusterNodeRetryStrategy: null,
  retryDelayOnMoved: 0,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  retryDelayOnTryAgain: 100,
} as const;

/** The equivalent options of an application; those of a Cluster without its hosts. */
export function givenByUrl(url: RedisUrl): GivenOptions {
  const { kind, hosts, masterName: name, username, password } = url;
  const { sentinelUsername, sentinelPassword } = url;
  // Without the last two, ioredis would connect to both without encryption, whatever `tls` is.
  const tls = url.isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {};
  const login = { username, password, ...tls };
  if (kind === 'cluster') return { redisOptions: login };
  if (kind === 'standalone') return { ...login, ...hosts[0] };
  return { ...login, sentinels: [...hosts], name, sentinelUsername, sentinelPassword };
}

/** The options that replace the given ones in the library's own client. */
export function overridesOf(isCluster: boolean, given: GivenOptions): object {
  if (!isCluster) return { ...CONNECTION_OPTIONS, ...reconnecting(given) };
  // Given redisOptions replace these as a whole, including password and TLS.
  const { redisOptions } = given;
  const ofNodes = { ...redisOptions, ...NODE_OPTIONS, ...reconnecting(redisOptions) };
  return { ...CLUSTER_OPTIONS, redisOptions: ofNodes };
}

/** For a connection to one Sentinel, derived from the options for the master. */
export function optionsOfSentinel({ host, port = 26_379 }: Login, given: GivenOptions): object {
  const { sentinelUsername: username, sentinelPassword: password, sentinelTLS: tls } = given;
  const login = { username: username ?? null, password: password ?? null, tls };
  const only = { sentinels: null, enableReadyCheck: false, retryStrategy: () => null };
  return { host, port, ...login, ...only };
}

/**
 * An unknown script is no reason to reconnect, because then no caller would see the error. A
 * command is not sent again either, because its error may be permanent.
 */
function reconnecting({ reconnectOnError }: NodeOptions = {}): NodeOptions {
  if (typeof reconnectOnError !== 'function') return {};
  const isReason = (error: Error) => !isUnknownScript(error) && Boolean(reconnectOnError(error));
  return { reconnectOnError: isReason };
}

/*
 * Recognizes a given client of ioredis or iovalkey by its structure, and reads its options and its
 * location.
 */

interface NodeOptions extends Login {
  readonly db?: unknown;
  readonly tls?: unknown;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/** The options of a client; those of a Cluster contain the options of its nodes. */
export interface GivenOptions extends NodeOptions {
  readonly path?: string | null;
  readonly redisOptions?: NodeOptions;
  readonly sentinels?: readonly Login[] | null;
  readonly name?: string | undefined;
  readonly sentinelUsername?: string | null | undefined;
  readonly sentinelPassword?: string | null | undefined;
  readonly sentinelTLS?: object;
}

/** A client that an application passes, by its structure. */
export interface GivenIoredis {
  readonly isCluster?: boolean;
  readonly options?: GivenOptions;
  /** Only a Cluster has them. */
  readonly startupNodes?: readonly Login[];
  /** The state of a connection, including a reconnection. */
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly condition?: { readonly select?: unknown } | null;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenIoredis): RedisLocation {
  const { isCluster, options = {}, startupNodes = [] } = client;
  const { redisOptions: node, sentinels, path } = options;
  const logins = [options, node, ...startupNodes, { password: options.sentinelPassword }];
  if (isCluster) {
    const database = ['redisOptions.db', node?.db] as const;
    return locationOf({ kind: 'cluster', servers: startupNodes, database, logins });
  }
  const kind = sentinels ? 'sentinel' : 'standalone';
  const servers = path || (sentinels ?? [options]);
  const location = locationOf({ kind, servers, database: ['db', options.db], logins });
  const { db } = location;
  const selected = (client.prevCondition ?? client.condition)?.select ?? db;
  if (selected === db) return location;
  throw invalidClient(
    `it was configured with database ${db} and then switched to ${format(selected)} ` +
      `by select(), which other processes and its own next connection need not follow. Write ` +
      `the number as its option \`db\``,
  );
}
