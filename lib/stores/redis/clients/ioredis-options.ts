/**
 * What our client of ioredis or iovalkey is made with, after a given one or after a URL.
 */
import type { RedisUrl } from '../redis-url.js';
import type { GivenIoredis, NodeOptions } from './ioredis-given.js';
import { isUnknownScript } from './replies.js';

/** Our connection answers at once or fails: the keeper repeats calls, the client must not queue. */
const NODE_OPTIONS = {
  maxRetriesPerRequest: 1,
  // Two services with different prefixes would keep two registries for one id space.
  keyPrefix: '',
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
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  role: 'master',
  // Otherwise a Sentinel that refuses would be asked for ever, and its reason never be seen.
  sentinelRetryStrategy: () => null,
} as const;

const CLUSTER_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  keyPrefix: '',
  scaleReads: 'master',
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

/** The arguments by which a client makes ours. */
export function overridesOf({ isCluster, options = {} }: GivenIoredis): readonly unknown[] {
  const { redisOptions } = options;
  if (!isCluster) return [{ ...CONNECTION_OPTIONS, ...reconnecting(options) }];
  // Given redisOptions replace these as a whole, and with them password and TLS.
  const ofNodes = { ...redisOptions, ...NODE_OPTIONS, ...reconnecting(redisOptions) };
  return [[], { ...CLUSTER_OPTIONS, redisOptions: ofNodes }];
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
