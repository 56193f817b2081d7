/**
 * The options of our client of ioredis or iovalkey, after a given client or after a URL.
 */
import { format } from '../../../messages.js';
import type { RedisUrl } from '../redis-url.js';
import {
  backoffMs,
  databaseOf,
  invalidClient,
  isUnknownScript,
  locationOf,
  type Login,
  type RedisLocation,
  refuseDatabase,
} from './redis-client.js';

/** Our connection answers at once or fails: the keeper repeats calls, the client must not queue. */
const OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  // Two services with different prefixes would keep two registries for one id space.
  keyPrefix: '',
} as const;

const NODE_OPTIONS = {
  ...OPTIONS,
  maxRetriesPerRequest: 1,
  // ioredis swallows what a server says against its SELECT, and goes on in database 0.
  db: 0,
  readOnly: false,
  monitor: false,
  // Telling its name comes first and hears the refusal of a server that is full, then keeps it.
  disableClientInfo: true,
  stringNumbers: false,
  // ioredis 6 may give a map as an object.
  replyMapping: 'legacy',
} as const;

const CONNECTION_OPTIONS = {
  ...NODE_OPTIONS,
  role: 'master',
  retryStrategy: backoffMs,
  // Otherwise a Sentinel that refuses would be asked for ever, and its reason never be seen.
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

/** The arguments of the constructor of a Cluster, or of the other one. */
export function optionsOfUrl(
  url: RedisUrl,
): [options: object] | [hosts: object[], options: object] {
  const { username, password, sentinelUsername, sentinelPassword } = url;
  const login = { username, password, ...(url.isTls && { tls: {} }) };
  if (url.kind === 'cluster') {
    const redisOptions = { ...login, ...NODE_OPTIONS };
    return [[...url.hosts], { ...CLUSTER_OPTIONS, redisOptions }];
  }
  const ours = { ...CONNECTION_OPTIONS, ...login };
  if (url.kind === 'standalone') return [{ ...ours, ...url.hosts[0] }];
  // Without these ioredis would talk to both in the clear, whatever `tls` says.
  const tls = url.isTls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {};
  const sentinels = { sentinels: [...url.hosts], sentinelUsername, sentinelPassword, ...tls };
  return [{ ...ours, ...sentinels, name: url.masterName }];
}

/** The arguments by which a given client makes ours. */
export function overridesOf({ isCluster, options = {} }: GivenIoredis): readonly unknown[] {
  const { redisOptions } = options;
  if (!isCluster) return [{ ...CONNECTION_OPTIONS, ...reconnecting(options) }];
  // Given redisOptions replace these as a whole, and with them password and TLS.
  const ofNodes = { ...redisOptions, ...NODE_OPTIONS, ...reconnecting(redisOptions) };
  return [[], { ...CLUSTER_OPTIONS, redisOptions: ofNodes }];
}

/** For a connection to one Sentinel, made after one to the master. */
export function optionsOfSentinel({ host, port = 26_379 }: Login, given: GivenOptions): object {
  const { sentinelUsername: username, sentinelPassword: password, sentinelTLS: tls } = given;
  const login = { username: username ?? null, password: password ?? null, tls };
  const only = { sentinels: null, enableReadyCheck: false, retryStrategy: () => null };
  return { host, port, ...login, ...only };
}

/**
 * A script that the server does not know yet is no reason to connect again: it would never be
 * heard of. Nor is a command sent again, since what refuses it once may refuse it for ever.
 */
function reconnecting({ reconnectOnError }: NodeOptions = {}): NodeOptions {
  if (typeof reconnectOnError !== 'function') return {};
  const isReason = (error: Error) => !isUnknownScript(error) && Boolean(reconnectOnError(error));
  return { reconnectOnError: isReason };
}

/*
 * A given client of ioredis or iovalkey by its shape: its options, and where it leads.
 */

interface NodeOptions extends Login {
  readonly db?: unknown;
  readonly tls?: unknown;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/** The options of a client; those of a Cluster contain the options of its nodes. */
interface GivenOptions extends NodeOptions {
  readonly path?: unknown;
  readonly redisOptions?: NodeOptions;
  readonly sentinels?: readonly Login[] | null;
  readonly name?: string;
  readonly sentinelUsername?: string | null;
  readonly sentinelPassword?: string | null;
  readonly sentinelTLS?: object;
}

/** A client that an application gives, by shape. */
export interface GivenIoredis {
  readonly isCluster?: boolean;
  readonly options?: GivenOptions;
  /** Only a Cluster has them. */
  readonly startupNodes?: readonly Login[];
  /** The state of a connection, also while it connects again. */
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly condition?: { readonly select?: unknown } | null;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenIoredis): RedisLocation {
  const { options = {}, startupNodes = [] } = client;
  const logins: (Login | undefined)[] = [options, options.redisOptions, ...startupNodes];
  const secrets = [...logins.map((login) => login?.password), options.sentinelPassword];
  if (client.isCluster) {
    refuseDatabase('redisOptions.db', options.redisOptions?.db);
    return locationOf(startupNodes, undefined, secrets);
  }
  const db = databaseOf('db', options.db);
  const selected = (client.prevCondition ?? client.condition)?.select ?? db;
  if (selected !== db) {
    throw invalidClient(
      `it was configured with database ${db} and then switched to ${format(selected)} ` +
        `by select(), which other processes and its own next connection need not follow; write ` +
        `the number as its option \`db\``,
    );
  }
  const { sentinels, path } = options;
  const isSocket = typeof path === 'string' && path !== '';
  return locationOf(isSocket ? path : (sentinels ?? [options]), db, secrets);
}
