/**
 * What an application hands in, a URL or a client of ioredis, and the names that it gives.
 *
 * Promise: the connection is our own, also where a client is given, which is neither used nor
 * closed. It is one for all who name the same server in the same way, or give the same client.
 */
import { SnowflakeError } from '../../../errors.js';
import { clientFromUrl, duplicateClient } from './redis-client.js';
import type { GivenClient, RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { RedisMessages } from './redis-messages.js';
import { placeOfClient, placeOfUrl, type RedisPlace } from './redis-place.js';
import { parseRedisUrl } from './redis-url.js';
import { sharedClients } from './shared-clients.js';

export type GivenRedis = GivenClient | string;

const NAME = /^[^{}\s]{1,128}$/;

/** @throws SnowflakeError CONFIG_INVALID */
export function connectionTo(redis: GivenRedis): RedisConnection {
  const { key, build, place } = wayTo(redis);
  const join = () => {
    place(); // which may be another one since
    return sharedClients.join(key, build);
  };
  return new RedisConnection(join, place());
}

/** @throws SnowflakeError CONFIG_INVALID */
export function messagesFrom(redis: GivenRedis): RedisMessages {
  const { build, place } = wayTo(redis);
  const checked = async () => {
    place();
    return build();
  };
  return new RedisMessages(checked, place());
}

interface Way {
  /** Equal where one client serves. */
  readonly key: string | object;
  readonly build: () => Promise<RedisClient>;
  readonly place: () => RedisPlace;
}

function wayTo(redis: GivenRedis): Way {
  if (typeof redis === 'string') {
    const url = parseRedisUrl(redis);
    // A script chooses its database itself, and the query is not about the server.
    const { db: _db, query: _query, ...server } = url;
    const key = JSON.stringify(server);
    return { key, build: () => clientFromUrl(url), place: () => placeOfUrl(url) };
  }
  if (typeof redis === 'object' && typeof redis?.duplicate === 'function') {
    const place = () => placeOfClient(redis);
    return { key: redis, build: async () => duplicateClient(redis), place };
  }
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`redis\` to be an ioredis client or a URL, got ${typeof redis}.`,
  );
}

export function isReplicatedRedis(client: GivenRedis): boolean {
  if (typeof client === 'string') return parseRedisUrl(client).kind !== 'standalone';
  if (typeof client !== 'object' || client === null) return false;
  return (
    client.isCluster === true ||
    Boolean((client.options as { sentinels?: unknown } | undefined)?.sentinels)
  );
}

export function nameFaults(name: string, value: unknown): string[] {
  if (typeof value === 'string' && NAME.test(value)) return [];
  const expected = `Expected \`${name}\` to be 1 to 128 characters without braces or spaces`;
  if (typeof value !== 'string') return [`${expected}, got ${typeof value}.`];
  // Not the whole text: it may go on with a password that was meant for another place.
  const at = value.search(/[{}\s]/);
  const fault = at < 0 ? '' : `, number ${at + 1} of them is ${JSON.stringify(value[at])}`;
  return [`${expected}, got ${value.length}${fault}.`];
}

/** The policy by which Redis may evict any key, from the section memory of INFO. */
export function evictionOf(memory: string): string | undefined {
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? '';
  return policy.startsWith('allkeys') ? policy : undefined;
}
