/**
 * Counters in Redis: one hash for each namespace, one atomic script for each operation.
 *
 * Promise: the rules of lib/counters by Redis' own clock. A Redis that may lose everything when it
 * restarts is refused, unless somebody says how much it may lose.
 */
import { randomUUID } from 'node:crypto';
import { checkNew, checkTake, denseForm, formOf } from '../../../counters/check-take.js';
import type {
  CounterRecord,
  CounterStore,
  NewCounter,
  TakeAnswer,
  TakeRequest,
} from '../../../counters/counter-store.js';
import { namedGrant } from '../../../counters/grant-text.js';
import { SnowflakeError } from '../../../errors.js';
import { windowFaults } from '../../../registry/loss-window.js';
import {
  connectionTo,
  evictionOf,
  isReplicatedRedis,
  nameFaults,
} from '../connection/given-redis.js';
import type { GivenClient } from '../connection/redis-client.js';
import type { RedisConnection, Script } from '../connection/redis-connection.js';
import { parseRedisUrl, refuseQuery } from '../connection/redis-url.js';
import { SCRIPTS } from '../scripts.generated.js';
import { evicted, notDurable, withoutFile } from './counter-advice.js';
import { counterPage, refuseOtherVersion, takeAnswer } from './counter-answer.js';

export interface RedisCountersOptions {
  /** An ioredis client (Redis or Cluster), whose settings are used, or a URL. */
  readonly redis: GivenClient | string;
  /** Counters of the same name in other namespaces are others. Default 'default'. */
  readonly namespace?: string | undefined;
  /** Before the namespace in the key. Default 'snowflake:'. */
  readonly prefix?: string | undefined;
  /**
   * How old the writes may be that Redis loses although it acknowledged them. Default 2,000, as
   * with an append-only file that is synced each second, and 18,000 for Sentinel and Cluster, where
   * an old master may go on answering for a while. Given, it is believed, also without such a file.
   */
  readonly lossWindowMs?: number | undefined;
}

const FSYNC_MS = 2000;
const FAILOVER_MS = 16_000;

export class RedisCounters implements CounterStore {
  readonly lossWindowMs: number;
  /** The counters: one hash. The braces keep it in one Cluster slot. */
  readonly key: string;
  readonly place: string;
  readonly #connection: RedisConnection;
  readonly #isBelieved: boolean;
  #isDurable: Promise<void> | undefined;

  constructor(options: RedisCountersOptions) {
    const { namespace = 'default', prefix = 'snowflake:', redis } = options;
    const windowMs = FSYNC_MS + (isReplicatedRedis(redis) ? FAILOVER_MS : 0);
    const { lossWindowMs = windowMs } = options;
    const faults = [
      ...nameFaults('namespace', namespace),
      ...(prefix === '' ? [] : nameFaults('prefix', prefix)),
      ...windowFaults('lossWindowMs', lossWindowMs),
    ];
    if (faults.length > 0) {
      const message = `The Redis counters are misconfigured. ${faults.join(' ')}`;
      throw new SnowflakeError('CONFIG_INVALID', message, { details: { faults } });
    }
    this.lossWindowMs = lossWindowMs;
    this.#isBelieved = options.lossWindowMs !== undefined;
    this.key = `${prefix}{${namespace}}:counters`;
    this.#connection = connectionTo(redis);
    this.place = `Redis at ${this.#connection.where}, ${this.key}`;
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    await (this.#isDurable ??= this.#durable());
    const { counter, count, have } = request;
    const own =
      request.kind === 'dense'
        ? [request.skip, request.startAt ?? '', 0]
        : [request.aheadMs, '', request.perMs];
    const asked = [formOf(request), count, have, ...own];
    return takeAnswer(await this.#run(SCRIPTS.takePositions, counter, asked), counter);
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named === undefined || unused < 1n) return;
    const { counter, text, first } = named;
    await this.#run(SCRIPTS.giveBackPositions, counter, [text, first, unused]);
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    await (this.#isDurable ??= this.#durable());
    const asked = [denseForm(counter.stores), counter.start];
    const [status] = await this.#run(SCRIPTS.createCounter, counter.counter, asked);
    return status === 'created';
  }

  async counters(): Promise<CounterRecord[]> {
    this.#connection.reopen();
    const found = new Map<string, CounterRecord>();
    let cursor = '0';
    do {
      const page = counterPage(await this.#connection.run(SCRIPTS.counters, this.key, [cursor]));
      for (const record of page.records) found.set(record.counter, record);
      cursor = page.cursor;
    } while (cursor !== '0');
    return [...found.values()].toSorted((a, b) => (a.counter < b.counter ? -1 : 1));
  }

  async advice(): Promise<string[]> {
    this.#connection.reopen();
    const advice = (await this.#keepsFile()) ? [] : [withoutFile(this.lossWindowMs)];
    const policy = evictionOf(await this.#connection.info('memory'));
    if (policy === undefined) return advice;
    return [...advice, evicted(policy)];
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #run(
    script: Script,
    counter: string,
    args: readonly (string | number | bigint)[],
  ): Promise<unknown[]> {
    this.#connection.reopen();
    const all = [counter, this.lossWindowMs, randomUUID(), ...args].map(String);
    return refuseOtherVersion(await this.#connection.run(script, this.key, all), this.place);
  }

  /** Asked once; again where it could not be asked. */
  async #durable(): Promise<void> {
    this.#connection.reopen();
    try {
      if (this.#isBelieved || (await this.#keepsFile())) return;
    } catch (error) {
      this.#isDurable = undefined;
      throw error;
    }
    this.#isDurable = undefined;
    throw notDurable(this.place);
  }

  async #keepsFile(): Promise<boolean> {
    const [told] = await this.#connection.run(SCRIPTS.durability, this.key, []);
    return !/aof_enabled:0/.test(String(told));
  }
}

/**
 * Counters in Redis, for segments, series and ids that are made there.
 *
 * @throws SnowflakeError CONFIG_INVALID for a URL, name or window that cannot be used.
 * @example
 * ```ts
 * import { redisCounters } from 'nestjs-snowflake/redis';
 *
 * const store = redisCounters({ redis: 'redis://localhost:6379', namespace: 'shop' });
 * await store.create({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 1000n, have: 0n, skip: 100_000n });
 * ```
 */
export function redisCounters(options: RedisCountersOptions): RedisCounters {
  return new RedisCounters(options);
}

const QUERY_NAMES = ['namespace', 'prefix', 'lossWindowMs'] as const;

/** The counters of a URL, redis://localhost:6379/0?namespace=shop; what is given counts more. */
export function countersFromUrl(
  url: string,
  given: Omit<RedisCountersOptions, 'redis'> = {},
): RedisCounters {
  const parsed = parseRedisUrl(url);
  refuseQuery(parsed, url, QUERY_NAMES);
  const { query } = parsed;
  return new RedisCounters({
    redis: url,
    namespace: given.namespace ?? query.get('namespace'),
    prefix: given.prefix ?? query.get('prefix'),
    lossWindowMs:
      given.lossWindowMs ??
      (query.has('lossWindowMs') ? Number(query.get('lossWindowMs')) : undefined),
  });
}
