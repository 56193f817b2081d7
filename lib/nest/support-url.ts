/**
 * From the option `support` to the support itself. What is given in place of one is never printed:
 * URLs, clients and options hold passwords.
 */
import { isSupport, supportOf, type OwnSupports } from '../backends/schemes.js';
import { isSharedLease } from '../core/seat/shared-lease.js';
import { SnowflakeError } from '../errors.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { JoinedSupport } from '../lease/joined.support.js';

/**
 * @param own what the application makes of URLs of its own
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function toSupport(support: unknown, own: OwnSupports): Promise<IDistributedSupport> {
  if (isSupport(support)) return support;
  if (isSharedLease(support)) return new JoinedSupport(support);
  if (typeof support === 'string') return supportOf(support, own);
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
