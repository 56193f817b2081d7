/**
 * Worker ids leased from a registry in Redis; options and support in one file, since each option is
 * a fact that the support states.
 *
 * Guarantee: each operation is one atomic script on one key, by Redis' own clock. The connection is
 * our own, even if a client is given, and is closed by us; the given client never is.
 */
import { randomUUID } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import type {
  AnswerFacts,
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import { formatName } from '../../messages.js';
import {
  refuse,
  typeFaults,
  unknownNames,
  wholeFaults,
  windowFaults,
  WINDOW_MS_MAX,
} from '../../options.js';
import { digitsOf } from '../../url-schemes.js';
import type { GivenClient } from './redis-client.js';
import type { RedisConnection, Script } from './redis-connection.js';
import {
  adviceOf,
  connectionTo,
  isReplicatedRedis,
  keepsWritesArgument,
  keyFaults,
  locationOf,
  textOf,
  type KeptWrites,
  type Statement,
} from './redis-options.js';
import { flagIn, parseRedisUrl, refuseQuery } from './redis-url.js';
import { readRegistry } from './redis-view.js';
import { SCRIPTS } from './scripts.generated.js';

/** Options of redisSupport(). */
export interface RedisSupportOptions extends KeptWrites {
  /** A client of your application, whose settings are used, or a URL. */
  readonly redis: GivenClient | string;
  /** One id space: processes with the same namespace never make the same id. Default 'default'. */
  readonly namespace?: string | undefined;
  /** Stands before the namespace in the key. Default 'snowflake:'. */
  readonly prefix?: string | undefined;
  /**
   * How long an old master may go on answering after a failover. Default 0 for a single Redis,
   * 15,000 for Sentinel and Cluster.
   */
  readonly failoverWindowMs?: number | undefined;
  /** How far the clocks of two servers may differ. Default 0, or 1,000 for Sentinel and Cluster. */
  readonly clockDifferenceMs?: number | undefined;
  /**
   * States that a failover or restart of this Redis forgets no write that it acknowledged longer
   * ago than this, ms. Each grant is used only once it is older, by this and the two windows above.
   * It is for a Redis that does not tell scripts which server runs them (INFO), and stated in place
   * of `keepsWrites`. Default: not stated.
   */
  readonly keepsWritesAfterMs?: number | undefined;
}

const FAILOVER_WINDOW_MS = 15_000;
const CLOCK_DIFFERENCE_MS = 1000;

/**
 * Worker ids leased from Redis, for the option `support`; redisSupport() makes one. The registry is
 * one hash, which lives, moves and dies whole.
 */
export class RedisSupport implements IDistributedSupport {
  readonly lossWindowMs: number;
  /** The registry: one hash. The braces keep it in one Cluster slot. */
  readonly key: string;
  readonly statement: string | undefined;
  readonly #connection: RedisConnection;
  readonly #statement: Statement;
  /** How long an old server may go on answering, by any clock. */
  readonly #failoverMs: number;

  constructor(options: RedisSupportOptions) {
    const strangers = unknownNames(options, `redis, ${QUERY_NAMES.join(', ')}`, 'redisSupport()');
    const { namespace = 'default', prefix = 'snowflake:' } = options;
    const isReplicated = isReplicatedRedis(options.redis);
    const { failoverWindowMs = isReplicated ? FAILOVER_WINDOW_MS : 0 } = options;
    const { clockDifferenceMs = isReplicated ? CLOCK_DIFFERENCE_MS : 0 } = options;
    const { keepsWrites = false, keepsWritesAfterMs } = options;
    const faults = [
      ...strangers,
      ...keyFaults('namespace', namespace),
      ...(prefix === '' ? [] : keyFaults('prefix', prefix)),
      ...windowFaults('failoverWindowMs', failoverWindowMs),
      ...windowFaults('clockDifferenceMs', clockDifferenceMs),
      ...typeFaults('keepsWrites', keepsWrites, 'boolean'),
      ...keptAfterFaults(options),
    ];
    refuse(faults, 'The Redis support is misconfigured. ');
    this.#failoverMs = failoverWindowMs + clockDifferenceMs;
    // A range is granted so long after it was stored, and the next one as long after that.
    this.lossWindowMs =
      keepsWritesAfterMs === undefined
        ? this.#failoverMs
        : 2 * (this.#failoverMs + keepsWritesAfterMs);
    this.key = `${prefix}{${namespace}}:registry`;
    this.#connection = connectionTo(options.redis);
    this.#statement = keepsWritesAfterMs === undefined ? keepsWrites : { keepsWritesAfterMs };
    this.statement = textOf(this.#statement);
  }

  get location(): string {
    return locationOf(this.#connection.whereBy, this.key, this.#statement);
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { token, nonce, workerIdMin, workerIdMax, minRangeMs, holder } = request;
    // A keeper of an older copy of this package asks without it.
    const haveMs = request.haveMs ?? 0;
    const asked = [token, nonce, workerIdMin, workerIdMax, minRangeMs, haveMs];
    const { incarnation = '', server = '', era = 0, haveMs: seenMs = 0 } = request.seen ?? {};
    const own = [JSON.stringify(holder), request.takesOver === true ? 1 : 0];
    const args = [...asked, ...own, incarnation, server, era, seenMs];
    return leaseAnswer(await this.run(SCRIPTS.acquire, request, args));
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    const { token, nonce, nonceNext, workerId, haveMs, mark, minRangeMs } = lease;
    const { incarnation, server, operations, era = 0 } = mark;
    const seen = [
      haveMs,
      incarnation,
      server,
      operations,
      minRangeMs,
      era,
      lease.nonceBefore ?? '',
    ];
    return leaseAnswer(
      await this.run(SCRIPTS.renew, lease, [token, nonce, nonceNext, workerId, ...seen]),
    );
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    const { token, nonce, nonceNext, workerId, settles, move } = lease;
    const usedMs = lastIssuedMs === undefined ? 0 : lastIssuedMs + 1;
    const { text = '', byMs = 0, floorMs = 0 } = move ?? {};
    const orders = [settles === true ? 1 : 0, text, byMs, floorMs];
    const given = [token, nonce, nonceNext, workerId, usedMs, ...orders];
    await this.run(SCRIPTS.release, lease, given);
  }

  async workers(countMax?: number): Promise<WorkerRecord[]> {
    const { workers } = await readRegistry(this.#connection, this.key, {
      workerCountMax: countMax,
    });
    return workers.slice(0, countMax);
  }

  async advice(): Promise<string[]> {
    try {
      const [key, statement] = [this.key, this.#statement];
      return await adviceOf(this.#connection, { key, statement, evicted });
    } catch (error) {
      return [settingsUnread(error as SnowflakeError)];
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  private get keepsAfterMs(): number {
    if (typeof this.#statement === 'boolean') return 0;
    return this.#failoverMs + this.#statement.keepsWritesAfterMs;
  }

  private run(
    script: Script,
    terms: LeaseTerms,
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    // Each call opens it again, so that an application may follow one that has closed it.
    this.#connection.reopen();
    const { fingerprint, layouts = '', latestMs = '', ttlMs, quarantineMs } = terms;
    const { wallMs = '', reckoned } = terms;
    // A process that knew a longer quarantine than its own brings it to a registry that forgot it.
    const lossWindowMs = Math.max(this.#failoverMs, (quarantineMs ?? 0) - ttlMs);
    const { incarnation = '', server = '', nowMs = '', timeMs = '' } = reckoned ?? {};
    const own = [fingerprint, layouts, latestMs].join('\n');
    const windows = [lossWindowMs, this.keepsAfterMs, this.#failoverMs].join(' ');
    const first = [own, ttlMs, windows, randomUUID()];
    const clocks = [wallMs, incarnation, server, nowMs, timeMs];
    const given = [...first, ...clocks, ...args, ...keepsWritesArgument(this.#statement)];
    return this.#connection.run(script, this.key, given);
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

const QUERY_NAMES = [
  'namespace',
  'prefix',
  'failoverWindowMs',
  'clockDifferenceMs',
  'keepsWrites',
  'keepsWritesAfterMs',
] as const;

function keptAfterFaults({ keepsWrites, keepsWritesAfterMs }: RedisSupportOptions): string[] {
  if (keepsWritesAfterMs === undefined) return [];
  const both = 'Expected one of `keepsWrites` and `keepsWritesAfterMs`, got both.';
  return [
    ...wholeFaults('keepsWritesAfterMs', keepsWritesAfterMs, [1, WINDOW_MS_MAX]),
    ...(keepsWrites === true ? [both] : []),
  ];
}

/** The support a URL names, e.g. redis://localhost:6379/0?namespace=shop. */
export function supportFromUrl(url: string): RedisSupport {
  const parsed = parseRedisUrl(url);
  refuseQuery(parsed, url, QUERY_NAMES);
  const { query } = parsed;
  const number = (name: string) => (query.has(name) ? digitsOf(query.get(name)!) : undefined);
  return new RedisSupport({
    redis: url,
    namespace: query.get('namespace'),
    prefix: query.get('prefix'),
    failoverWindowMs: number('failoverWindowMs'),
    clockDifferenceMs: number('clockDifferenceMs'),
    keepsWrites: flagIn(parsed, url, 'keepsWrites'),
    keepsWritesAfterMs: number('keepsWritesAfterMs'),
  });
}

/*
 * The one place where the flat arrays of the scripts become answers.
 *
 * Guarantee: no other file of this store knows in which order a script answers.
 */

export function leaseAnswer(reply: readonly unknown[]): LeaseAnswer {
  const [status, first, second, third, ...facts] = reply as [LeaseAnswer['status'], ...unknown[]];
  return { ...answerBy(status, [first, second, third]), ...factsIn(facts) };
}

function answerBy(status: LeaseAnswer['status'], values: readonly unknown[]): LeaseAnswer {
  const [first, second, third] = values;
  switch (status) {
    case 'ok': {
      const range = { floorMs: Number(second), ceilingMs: Number(third) };
      return { status, workerId: Number(first), ...range };
    }
    case 'none-free':
      return { status, waitMs: Number(first) };
    case 'wait':
    case 'hold':
      return { status, waitMs: Number(first), ...(second === 'stored' && { isStored: true }) };
    case 'fenced':
      return { status, floorMs: Number(first) };
    case 'cloned':
      return { status, ...(first === 'left' && { isOverlap: true }) };
    case 'layout-mismatch':
      return { status, fingerprint: formatName(first) };
    case 'other-version':
      return { status, version: formatName(first) };
    default:
      return { status };
  }
}

function factsIn(facts: readonly unknown[]): AnswerFacts {
  if (facts.length === 0) return {};
  const [nowMs, incarnation, server, operations, quarantineMs, timeMs, ...rest] = facts;
  const [era, layouts = '', lineage = '', latestMs = 0] = rest;
  const name = {
    incarnation: String(incarnation),
    ...(lineage !== '' && { lineage: String(lineage) }),
    server: String(server),
  };
  const counts = { operations: Number(operations), era: Number(era) };
  return {
    nowMs: Number(nowMs),
    timeMs: Number(timeMs),
    mark: { ...name, ...counts },
    quarantineMs: Number(quarantineMs),
    ...(layouts !== '' && { layouts: String(layouts) }),
    ...(Number(latestMs) > 0 && { latestMs: Number(latestMs) }),
  };
}

/*
 * Advice for a Redis that serves worker ids less well than it could: what it means for ids, and
 * what to do about it.
 */

function evicted(policy: string): string {
  return (
    `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including the ` +
    `registry of worker ids. Ids stay unique, but run ahead for a while after each loss. Use ` +
    `volatile-lru or noeviction.`
  );
}

function settingsUnread({ message, details }: SnowflakeError): string {
  if (details['refusal'] === 'permission') {
    return (
      'This user may not run INFO, without which nothing is leased: nobody would notice that a ' +
      'failover of Redis forgot what it granted. Allow it: ACL SETUSER <user> +info. Where that ' +
      'cannot be, and this Redis never loses a part of its writes, say so: `keepsWrites`.'
    );
  }
  return `The settings of Redis could not be read. ${message}`;
}
