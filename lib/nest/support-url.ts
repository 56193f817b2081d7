/**
 * From the option `support` to the support itself.
 *
 * Promise: a backend is loaded only when its URL is used, so that this package runs without the
 * clients of the others. An unknown URL is refused with the ones that are known, and what is
 * given in place of a support is never printed: URLs, clients and options hold passwords.
 */
import { isSharedLease } from '../core/seat/shared-lease.js';
import { SnowflakeError } from '../errors.js';
import { shownUrl } from '../shown.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { JoinedSupport } from '../lease/joined.support.js';
import { StaticSupport } from '../lease/static.support.js';
import { fromOwnScheme, isSupport, type OwnSupports } from './own-supports.js';

const REDIS = /^rediss?(\+sentinel|\+cluster)?:\/\//i;
const STATIC = /^static:(\d{1,10})$/i;

/**
 * @param own what the application makes of URLs of its own
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function toSupport(support: unknown, own: OwnSupports): Promise<IDistributedSupport> {
  if (isSupport(support)) return support;
  if (isSharedLease(support)) return new JoinedSupport(support);
  if (typeof support === 'string')
    return (await fromOwnScheme(support, own)) ?? fromUrl(support, own);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`support\` to be a URL or an object with getNextWorkId and refreshAlive, got ` +
      `${kindOf(support)}.`,
  );
}

/** Not the value: it may be a client or its options. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return `a value of type ${typeof value}`;
  if (value instanceof URL) return 'a URL object; give its text, url.href';
  if (typeof (value as { duplicate?: unknown }).duplicate === 'function') {
    return 'a client; write redisSupport({ redis: client }), from nestjs-snowflake/redis';
  }
  return Array.isArray(value) ? 'an array' : 'an object without them';
}

async function fromUrl(url: string, own: OwnSupports): Promise<IDistributedSupport> {
  const workerId = STATIC.exec(url)?.[1];
  if (workerId !== undefined) return new StaticSupport(Number(workerId));
  if (REDIS.test(url)) {
    const { supportFromUrl } = await import('../backends/redis/index.js');
    return supportFromUrl(url);
  }
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `The support is of no known kind: it was ${shownUrl(url)}. Known are static:7, ` +
      `redis://host:6379/0?namespace=shop, rediss://, redis+sentinel:// and redis+cluster://` +
      `${listOf(own)}.`,
  );
}

/** The schemes of the application, so that a misspelt one is seen at once. */
function listOf(own: OwnSupports): string {
  const schemes = [...own.keys()].map((scheme) => `${scheme}:`);
  return schemes.length === 0 ? '' : `; of this application ${schemes.join(', ')}`;
}
