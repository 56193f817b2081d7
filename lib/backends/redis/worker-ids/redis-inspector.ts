/**
 * A registry in Redis, opened for an operator.
 *
 * Promise: it is read by the script that workers() uses, which changes nothing, and is changed by
 * the operations of the support alone. Both connections are closed.
 */
import type { WorkerLease } from '../../../lease/distributed-support.js';
import type { Finding, RegistryInspector, RegistryView } from '../../../registry/registry-view.js';
import { ClientLife } from '../connection/client-life.js';
import { clientFromUrl, type RedisClient } from '../connection/redis-client.js';
import { RedisConnection } from '../connection/redis-connection.js';
import { redisError } from '../connection/redis-error.js';
import { placeOfUrl, type RedisPlace } from '../connection/redis-place.js';
import { parseRedisUrl, type RedisUrl } from '../connection/redis-url.js';
import { counterPage } from '../counters/counter-answer.js';
import { SCRIPTS } from '../scripts.generated.js';
import { redisFindings } from './redis-findings.js';
import { readRegistry } from './redis-view.js';
import { supportFromUrl, type RedisSupport } from './redis.support.js';

/** The registry a URL names. @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  return new RedisInspector(url);
}

class RedisInspector implements RegistryInspector {
  readonly where: string;
  readonly key: string;
  readonly lossWindowMs: number;
  private readonly url: RedisUrl;
  private readonly place: RedisPlace;
  private readonly support: RedisSupport;
  private readonly reading: RedisConnection;
  private fault: Error | undefined;

  constructor(url: string) {
    this.support = supportFromUrl(url);
    this.url = parseRedisUrl(url);
    this.place = placeOfUrl(this.url);
    this.where = this.place.where;
    this.key = this.support.key;
    this.lossWindowMs = this.support.lossWindowMs;
    this.reading = new RedisConnection(() => new ClientLife(() => this.client()), this.place);
  }

  async read(countMax?: number): Promise<RegistryView> {
    const needed = { workerCountMax: countMax, isHeaderNeeded: true };
    return readRegistry(this.reading, this.key, needed);
  }

  async findings(): Promise<Finding[]> {
    // A user who may not ask is told so by the advice.
    const told = this.reading.info('default').catch(() => '');
    // Of a key that may not be read nothing is said.
    const counted = this.hasCounters().catch(() => false);
    const asked = [this.support.advice(), told, counted] as const;
    const [advice, info, hasCounters] = await Promise.all(asked);
    const { kind } = this.url;
    return redisFindings({ info, advice, kind, lossWindowMs: this.lossWindowMs, hasCounters });
  }

  lastFault(): Error | undefined {
    return this.fault;
  }

  release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    return this.support.release(lease, lastIssuedMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.support.close(), this.reading.close()]);
  }

  /** Of the same namespace. */
  private async hasCounters(): Promise<boolean> {
    const key = this.key.replace(/:registry$/, ':counters');
    const { records } = counterPage(await this.reading.run(SCRIPTS.counters, key, ['0']));
    return records.length > 0;
  }

  /** Where a call is still waiting, only the events tell of what went wrong so far. */
  private async client(): Promise<RedisClient> {
    const client = await clientFromUrl(this.url);
    client.on('error', (fault) => (this.fault = redisError(fault, this.place).cause as Error));
    return client;
  }
}
