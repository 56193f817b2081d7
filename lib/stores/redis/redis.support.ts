/**
 * Worker IDs leased from a registry in Redis. Options and support share one file, because each
 * option becomes a fact about the support.
 *
 * Guarantee: each operation reads and writes rows of one key, with the clock of Redis. The support
 * opens and closes its own connection, and never uses or closes a given client.
 */
import type { SnowflakeError } from '../../errors.js';
import {
  later,
  readOptions,
  refuse,
  typed,
  whole,
  windowFaults,
  WINDOW_MS_MAX,
  type OptionTable,
} from '../../options.js';
import { RegistrySupport } from '../../registry/registry-support.js';
import type { GivenClient } from './redis-client.js';
import {
  connectionTo,
  keyFaults,
  prefixFaults,
  textOf,
  type KeptWrites,
  type Statement,
} from './redis-options.js';
import { RedisRows } from './redis-rows.js';
import { optionsOfUrl } from './redis-url.js';

/** Options of redisSupport(). */
export interface RedisSupportOptions extends KeptWrites {
  /** A client of your application, whose settings are used, or a URL. */
  readonly redis: GivenClient | string;
  /**
   * One ID space: processes with the same namespace never generate the same ID. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** The key's part before the namespace. Default 'snowflake:'. */
  readonly prefix?: string | undefined;
  /**
   * How long an old master may continue to respond after a failover. Default 0 for a single Redis,
   * 15,000 for Sentinel and Cluster.
   */
  readonly failoverWindowMs?: number | undefined;
  /**
   * The maximum difference between the clocks of two servers. Default 0, or 1,000 for Sentinel and
   * Cluster.
   */
  readonly clockDifferenceMs?: number | undefined;
  /**
   * States that a failover or restart of this Redis loses no acknowledged write older than this, in
   * ms. A grant is used only once it is older than the sum of this and the two windows above. For a
   * Redis that does not report its server to scripts (INFO), as an alternative to `keepsWrites`.
   * Default: not stated.
   */
  readonly keepsWritesAfterMs?: number | undefined;
}

const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;

/**
 * Worker IDs leased from Redis, for the option `support`; redisSupport() creates one. The registry
 * is one hash, which exists, moves and disappears as a whole.
 */
export class RedisSupport extends RegistrySupport {
  /** The registry: one hash. The braces keep it in one Cluster slot. */
  readonly key: string;
  readonly statement: string | undefined;

  constructor(options: RedisSupportOptions) {
    const parts = checkedParts(options);
    super(new RedisRows(parts));
    this.key = parts.key;
    this.statement = textOf(parts.statement);
  }
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkedParts(options: RedisSupportOptions) {
  const { terms, faults } = readOptions(options, REDIS, 'redisSupport()');
  const { namespace, prefix, keepsWrites, keepsWritesAfterMs } = terms;
  if (keepsWrites === true && keepsWritesAfterMs !== undefined) {
    faults.push('Expected one of `keepsWrites` and `keepsWritesAfterMs`, got both.');
  }
  refuse(faults, 'The Redis support is misconfigured. ');
  const isKeptLater = keepsWritesAfterMs !== undefined;
  const statement: Statement = isKeptLater ? { keepsWritesAfterMs } : keepsWrites;
  const connection = connectionTo(options.redis);
  const isReplicated = connection.kind !== 'standalone';
  // An old server may continue to respond for this long, by any clock.
  const lossWindowMs =
    (terms.failoverWindowMs ?? (isReplicated ? FAILOVER_WINDOW_MS : 0)) +
    (terms.clockDifferenceMs ?? (isReplicated ? CLOCK_DIFFERENCE_MS : 0));
  return {
    connection,
    namespace,
    key: `${prefix}{${namespace}}:registry`,
    lossWindowMs,
    statement,
    keepsAfterMs: isKeptLater ? lossWindowMs + keepsWritesAfterMs : undefined,
    evicted,
    unread,
  };
}

/**
 * Worker IDs leased from Redis, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for an invalid URL, name or window.
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { redisSupport } from 'nestjs-snowflake/redis';
 *
 * const redis = new Redis('redis://localhost:6379', { lazyConnect: true });
 * SnowflakeModule.forRoot({ support: redisSupport({ redis, namespace: 'shop' }) });
 * ```
 */
export function redisSupport(options: RedisSupportOptions): RedisSupport {
  return new RedisSupport(options);
}

export const REDIS = {
  redis: [later],
  namespace: [keyFaults, 'default', 'text'],
  prefix: [prefixFaults, 'snowflake:', 'text'],
  failoverWindowMs: [windowFaults, undefined, 'number'],
  clockDifferenceMs: [windowFaults, undefined, 'number'],
  keepsWrites: [typed('boolean'), false, 'flag'],
  keepsWritesAfterMs: [whole(1, WINDOW_MS_MAX), undefined, 'number'],
} satisfies OptionTable<RedisSupportOptions>;

/** The support of a URL, e.g. redis://localhost:6379/0?namespace=shop. */
export function supportFromUrl(url: string): RedisSupport {
  return new RedisSupport(supportOptionsOfUrl(url));
}

export const supportOptionsOfUrl = (url: string) => optionsOfUrl<RedisSupportOptions>(url, REDIS);

/*
 * Advice for a Redis that is not ideal for worker IDs: the consequence for IDs, and the remedy.
 */

function evicted(policy: string): string {
  return (
    `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including the ` +
    `registry of worker ids. Ids stay unique, but run ahead for a while after each loss. Use ` +
    `volatile-lru or noeviction.`
  );
}

function unread({ message, details }: SnowflakeError): string {
  if (details['refusal'] === 'permission') {
    return (
      'This user may not run INFO, without which nothing is leased: nobody would notice that a ' +
      'failover of Redis forgot what it granted. Allow it: ACL SETUSER <user> +info. Where that ' +
      'cannot be, and this Redis never loses a part of its writes, say so: `keepsWrites`.'
    );
  }
  return `The settings of Redis could not be read. ${message}`;
}
