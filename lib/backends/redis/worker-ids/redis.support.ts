/**
 * Worker ids leased from a registry in Redis; options and support in one file, since each option is
 * a fact that the support states.
 *
 * Promise: each operation is one atomic script on one key, by Redis' own clock. The connection is
 * our own, even if a client is given, and is closed by us; the given client never is.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../../../errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
  WorkerRecord,
} from '../../../lease/distributed-support.js';
import { windowFaults } from '../../../registry/loss-window.js';
import { leaseAnswer } from './redis-answer.js';
import { readRegistry } from './redis-view.js';
import { clientFromUrl, duplicateClient, type GivenClient } from '../connection/redis-client.js';
import { RedisConnection, type Script } from '../connection/redis-connection.js';
import { placeOfClient, placeOfUrl } from '../connection/redis-place.js';
import { parseRedisUrl, refuseQuery, type RedisUrl } from '../connection/redis-url.js';
import { SCRIPTS } from '../scripts.generated.js';

export interface RedisSupportOptions {
  /** An ioredis client (Redis or Cluster), whose settings are used, or a URL. */
  readonly redis: GivenClient | string;
  /** One id space: processes with the same namespace never make the same id. Default 'default'. */
  readonly namespace?: string;
  /** Before the namespace in the key. Default 'snowflake:'. */
  readonly prefix?: string;
  /**
   * How long an old master may go on answering after a failover. Default 0 for a single Redis,
   * 15,000 for Sentinel and Cluster.
   */
  readonly failoverWindowMs?: number;
  /** How far the clocks of two servers may differ. Default 0, or 1,000 for Sentinel and Cluster. */
  readonly clockDifferenceMs?: number;
}

const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;
const NAME = /^[^{}\s]{1,128}$/;

export class RedisSupport implements IDistributedSupport {
  readonly lossWindowMs: number;
  /** The registry: one hash. The braces keep it in one Cluster slot. */
  readonly key: string;
  readonly place: string;
  readonly #connection: RedisConnection;

  constructor(options: RedisSupportOptions) {
    const { namespace = 'default', prefix = 'snowflake:' } = options;
    const url = typeof options.redis === 'string' ? parseRedisUrl(options.redis) : undefined;
    const isReplicated = url ? url.kind !== 'standalone' : isReplicatedClient(options.redis);
    const failoverWindowMs = options.failoverWindowMs ?? (isReplicated ? FAILOVER_WINDOW_MS : 0);
    const clockDifferenceMs = options.clockDifferenceMs ?? (isReplicated ? CLOCK_DIFFERENCE_MS : 0);
    const faults = [
      ...nameFaults('namespace', namespace),
      ...(prefix === '' ? [] : nameFaults('prefix', prefix)),
      ...windowFaults('failoverWindowMs', failoverWindowMs),
      ...windowFaults('clockDifferenceMs', clockDifferenceMs),
    ];
    if (faults.length > 0) {
      const message = `The Redis support is misconfigured. ${faults.join(' ')}`;
      throw new SnowflakeError('CONFIG_INVALID', message, { details: { faults } });
    }
    this.lossWindowMs = failoverWindowMs + clockDifferenceMs;
    this.key = `${prefix}{${namespace}}:registry`;
    this.#connection = url ? fromUrl(url) : fromClient(options.redis);
    this.place = `Redis at ${this.#connection.where}, ${this.key}`;
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { token, nonce, workerIdMin, workerIdMax, minRangeMs, holder } = request;
    // A keeper of an older copy of this package asks without it.
    const haveMs = request.haveMs ?? 0;
    const asked = [token, nonce, workerIdMin, workerIdMax, minRangeMs, haveMs];
    const args = [...asked, JSON.stringify(holder), request.takesOver === true ? 1 : 0];
    return leaseAnswer(await this.run(SCRIPTS.acquire, request, args));
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const { token, nonce, nonceNext, workerId, haveMs, mark, minRangeMs } = lease;
    const { incarnation, server, operations } = mark;
    const seen = [haveMs, incarnation, server, operations, minRangeMs];
    return leaseAnswer(
      await this.run(SCRIPTS.renew, lease, [token, nonce, nonceNext, workerId, ...seen]),
    );
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    const { token, nonce, nonceNext, workerId } = lease;
    const usedMs = lastIssuedMs === undefined ? 0 : lastIssuedMs + 1;
    await this.run(SCRIPTS.release, lease, [token, nonce, nonceNext, workerId, usedMs]);
  }

  async workers(countMax?: number): Promise<WorkerRecord[]> {
    const { workers } = await readRegistry(this.#connection, this.key, countMax);
    return workers.slice(0, countMax);
  }

  async advice(): Promise<string[]> {
    let memory: string;
    try {
      memory = await this.#connection.info('memory');
    } catch (error) {
      return [settingsUnread(error as SnowflakeError)];
    }
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? '';
    if (!policy.startsWith('allkeys')) return [];
    return [
      `Redis evicts any key when memory is short (maxmemory-policy ${policy}), also the registry ` +
        `of worker ids. Ids stay unique, but run ahead for a while after each loss. Use ` +
        `volatile-lru or noeviction.`,
    ];
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  private run(
    script: Script,
    terms: LeaseTerms,
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    // Whoever leases closes as well, so that an application may follow one that has closed it.
    this.#connection.reopen();
    const { fingerprint, ttlMs, quarantineMs } = terms;
    // Whoever knew a longer quarantine than its own brings it to a registry that forgot it.
    const lossWindowMs = Math.max(this.lossWindowMs, (quarantineMs ?? 0) - ttlMs);
    const first = [fingerprint, ttlMs, lossWindowMs, randomUUID()];
    return this.#connection.run(script, this.key, [...first, ...args]);
  }
}

/**
 * Worker ids leased from Redis, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID for a URL, name or window that cannot be used.
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

const QUERY_NAMES = ['namespace', 'prefix', 'failoverWindowMs', 'clockDifferenceMs'] as const;

/** The support a URL names, e.g. redis://localhost:6379/0?namespace=shop. */
export function supportFromUrl(url: string): RedisSupport {
  const parsed = parseRedisUrl(url);
  refuseQuery(parsed, url, QUERY_NAMES);
  const { query } = parsed;
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  return new RedisSupport({
    redis: url,
    namespace: query.get('namespace'),
    prefix: query.get('prefix'),
    failoverWindowMs: number('failoverWindowMs'),
    clockDifferenceMs: number('clockDifferenceMs'),
  });
}

function fromUrl(url: RedisUrl): RedisConnection {
  return new RedisConnection(() => clientFromUrl(url), placeOfUrl(url));
}

function fromClient(client: RedisSupportOptions['redis']): RedisConnection {
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

function settingsUnread({ message, details }: SnowflakeError): string {
  if (details['refusal'] === 'permission') {
    return (
      'This user may not run INFO, so a restart or failover of Redis that loses data is noticed ' +
      'only when a process renews a lease that was lost. Allow it: ACL SETUSER <user> +info.'
    );
  }
  return `The settings of Redis could not be read. ${message}`;
}

function isReplicatedClient(client: RedisSupportOptions['redis']): boolean {
  if (typeof client !== 'object' || client === null) return false;
  return (
    client.isCluster === true ||
    Boolean((client.options as { sentinels?: unknown } | undefined)?.sentinels)
  );
}

function nameFaults(name: string, value: unknown): string[] {
  if (typeof value === 'string' && NAME.test(value)) return [];
  const expected = `Expected \`${name}\` to be 1 to 128 characters without braces or spaces`;
  if (typeof value !== 'string') return [`${expected}, got ${typeof value}.`];
  // Not the whole text: it may go on with a password that was meant for another place.
  const at = value.search(/[{}\s]/);
  const fault = at < 0 ? '' : `, number ${at + 1} of them is ${JSON.stringify(value[at])}`;
  return [`${expected}, got ${value.length}${fault}.`];
}
