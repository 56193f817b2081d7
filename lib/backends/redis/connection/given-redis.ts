/**
 * What an application hands in, a URL or a client of ioredis, and the names that it gives.
 *
 * Promise: the connection is our own, also where a client is given, which is neither used nor
 * closed.
 */
import { SnowflakeError } from '../../../errors.js';
import { clientFromUrl, duplicateClient, type GivenClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { placeOfClient, placeOfUrl } from './redis-place.js';
import { parseRedisUrl, type RedisUrl } from './redis-url.js';

export type GivenRedis = GivenClient | string;

const NAME = /^[^{}\s]{1,128}$/;

/** @throws SnowflakeError CONFIG_INVALID */
export function connectionTo(redis: GivenRedis): RedisConnection {
  return typeof redis === 'string' ? fromUrl(parseRedisUrl(redis)) : fromClient(redis);
}

function fromUrl(url: RedisUrl): RedisConnection {
  return new RedisConnection(() => clientFromUrl(url), placeOfUrl(url));
}

function fromClient(client: GivenRedis): RedisConnection {
  if (typeof client === 'object' && typeof client?.duplicate === 'function') {
    const open = async () => {
      placeOfClient(client); // which may have been switched since
      return duplicateClient(client);
    };
    return new RedisConnection(open, placeOfClient(client));
  }
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`redis\` to be an ioredis client or a URL, got ${typeof client}.`,
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
