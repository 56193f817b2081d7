/**
 * Counters in Redis: one hash for each namespace, one atomic script for each operation. The scripts
 * apply the rules of lib/counters with the clock of Redis.
 *
 * Guarantee: a Redis that may lose more than its loss window grants nothing, even if its settings
 * change later, unless the application states how much it may lose.
 */
import { checkNew, checkTake, denseForm, formOf } from '../../counters/counter-rules.js';
import {
  type CounterRecord,
  type CounterStore,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
  namedGrant,
} from '../../counters/counter-store.js';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { formatName } from '../../messages.js';
import { nowAt } from '../../rows/store-clock.js';
import { numberIn } from '../../rows/row-store.js';
import { hashOptionsOf, RedisHash, type RedisHashOptions } from './redis-options.js';
import { SCRIPTS } from './scripts.generated.js';

/** Options of redisCounters(). */
export interface RedisCountersOptions extends RedisHashOptions {
  /**
   * The maximum age of acknowledged writes that Redis may lose. Default 2,000, as with an
   * append-only file that is synced each second, and 18,000 for Sentinel and Cluster, where an old
   * master may continue to respond for a while. A given value is trusted, even without such a file.
   */
  readonly lossWindowMs?: number | undefined;
}

/** Counters in Redis, for segments and series(); redisCounters() creates them. */
export class RedisCounters implements CounterStore {
  readonly #hash: RedisHash;
  readonly #isBelieved: boolean;
  /**
   * True at first and after a rejection: a rejected grant would leave a gap, so the check comes
   * first.
   */
  #asksFirst = true;

  constructor(options: RedisCountersOptions) {
    this.#hash = new RedisHash('counters', options);
    this.#isBelieved = options.lossWindowMs !== undefined;
  }

  /** The counters: one hash. */
  get key(): string {
    return this.#hash.key;
  }

  get location(): string {
    return this.#hash.location;
  }

  get lossWindowMs(): number {
    return this.#hash.lossWindowMs;
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    checkTake(request);
    const { counter, count, have, era = 0 } = request;
    const script = this.#isBelieved ? SCRIPTS.takePositions : SCRIPTS.takeKeptPositions;
    const own =
      request.kind === 'dense'
        ? [request.lossGap, request.startAt ?? '', 0, era, 0]
        : [request.aheadMs, '', request.perMs, era, request.reckonedMs ?? 0];
    const asked = [formOf(request), count, have, ...own];
    const take = () => this.#hash.change(script, counter, asked);
    const reply = await (request.kind === 'dense' ? this.#synced(take) : take());
    return takeAnswer(reply, counter);
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    const named = namedGrant(grant);
    if (named === undefined || unused < 1n) return;
    const { counter, text, first } = named;
    await this.#hash.change(SCRIPTS.giveBackPositions, counter, [text, first, unused]);
  }

  async create(counter: NewCounter): Promise<boolean> {
    checkNew(counter);
    const script = this.#isBelieved ? SCRIPTS.createCounter : SCRIPTS.createKeptCounter;
    const asked = [denseForm(counter.stores), counter.start];
    const create = () => this.#hash.change(script, counter.counter, asked);
    const [status] = await this.#synced(create);
    return status === 'created';
  }

  async counters(): Promise<CounterRecord[]> {
    const pages = await this.#hash.readPages(SCRIPTS.counters, counterPage);
    const records = pages.flatMap((page) => page.records);
    // A page may repeat counters of an earlier one.
    const found = new Map(records.map((record) => [record.counter, record]));
    return [...found.values()].toSorted((a, b) => (a.counter < b.counter ? -1 : 1));
  }

  async advice(): Promise<string[]> {
    const facts = await this.#hash.read(SCRIPTS.facts);
    const isFileOff = /aof_enabled:0/.test(facts.join());
    const advice = isFileOff ? [withoutFile(this.lossWindowMs)] : [];
    return [...advice, ...(await this.#hash.advice(evicted))];
  }

  close(): Promise<void> {
    return this.#hash.close();
  }

  /**
   * A script cannot read how the file is synced, so a separate request reads it. The script's
   * result is returned only if the file was synced often enough after it.
   */
  async #synced<T>(change: () => Promise<T>): Promise<T> {
    if (this.#isBelieved) return change();
    if (this.#asksFirst) await this.#askSync();
    const [answer] = await Promise.all([change(), this.#askSync()]);
    return answer;
  }

  async #askSync(): Promise<void> {
    const fsync = await this.#hash.setting('appendfsync').catch((error: unknown) => {
      // Without the permission to read the setting, the file counts as synced.
      if (isSnowflakeError(error) && !error.retryable) return undefined;
      throw error;
    });
    this.#asksFirst = fsync === 'no';
    if (fsync === 'no') throw unsynced(this.location);
  }
}

/**
 * Counters in Redis, for segments, series and IDs that Redis generates.
 *
 * @throws SnowflakeError CONFIG_INVALID for an invalid URL, name or window.
 * @example
 * ```ts
 * import { redisCounters } from 'nestjs-snowflake/redis';
 *
 * const store = redisCounters({ redis: 'redis://localhost:6379', namespace: 'shop' });
 * await store.create({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 1000n, have: 0n, lossGap: 100_000n });
 * ```
 */
export function redisCounters(options: RedisCountersOptions): RedisCounters {
  return new RedisCounters(options);
}

/** The counters of a URL, redis://localhost:6379/0?namespace=shop; explicit options override it. */
export function countersFromUrl(
  url: string,
  given: Omit<RedisCountersOptions, 'redis'> = {},
): RedisCounters {
  const said = hashOptionsOf(url);
  const { namespace = said.namespace, prefix = said.prefix } = given;
  const { lossWindowMs = said.lossWindowMs, keepsWrites = said.keepsWrites } = given;
  return new RedisCounters({ redis: url, namespace, prefix, lossWindowMs, keepsWrites });
}

/*
 * Advice for a Redis that may lose counters: the consequence for numbers, and the remedy.
 */

function unsynced(location: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `${location}: appendfsync is no, so when its machine fails everything is lost that the ` +
      `system had not written by itself, often half a minute. No position is granted. Set ` +
      `appendfsync everysec, or set \`lossWindowMs\` to the age of the oldest write that can be ` +
      `lost.`,
    { retryable: false, details: { refusal: 'not-synced' } },
  );
}

function withoutFile(lossWindowMs: number): string {
  return (
    `The append-only file of Redis is off. A restart loses everything since the last save, and ` +
    `the counters rest on the promise that this is never older than ${lossWindowMs} ms. Set ` +
    `appendonly yes.`
  );
}

function evicted(policy: string): string {
  return (
    `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including ` +
    `counters, which are then refused as absent. Use volatile-lru or noeviction.`
  );
}

/*
 * The only place that turns the flat arrays of the counter scripts into answers.
 *
 * Guarantee: no other file of this store depends on the order of a script's reply.
 */

export function takeAnswer(reply: readonly unknown[], counter: string): TakeAnswer {
  const [status, first, end, grant, era, now] = reply.map(String);
  switch (status) {
    case 'ok':
      return {
        status,
        first: BigInt(first!),
        end: BigInt(end!),
        grant: `${grant}.${counter}`,
        era: Number(era),
        nowMs: Number(now),
      };
    case 'wait':
      return { status, waitMs: Number(first), nowMs: Number(end) };
    case 'mismatch':
      return { status, stored: formatName(first) };
    default:
      return { status: status as 'absent' | 'full' };
  }
}

const FIELDS = 3;

/** A counter with an unreadable line is omitted: it grants nothing either. */
export function counterPage(reply: readonly unknown[]) {
  const [time, cursor = '0', lastTime, slew, era, ...rest] = reply.map(String);
  const last = { lastTimeMs: Number(lastTime), slewMs: Number(slew) };
  const nowMs = nowAt(last, { timeMs: Number(time) });
  const records: CounterRecord[] = [];
  for (let at = 0; at < rest.length; at += FIELDS) {
    const [counter = '', next = '', line = ''] = rest.slice(at, at + FIELDS);
    const [form = '', , , readyAtMs = '0'] = line.split('|');
    const position = numberIn(next);
    if (position === undefined || line === '') continue;
    const waitMs = Math.max(0, Number(readyAtMs) - nowMs);
    records.push({ counter, form, next: position, era: Number(era), waitMs });
  }
  return { cursor, records };
}
