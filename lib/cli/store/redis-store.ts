/**
 * A registry in Redis, opened for a command.
 *
 * Promise: it is read in one step by the script that workers() uses, which changes nothing, and is
 * changed by the operations of the support alone. Both connections are closed.
 */
import { workerRecords } from '../../backends/redis/redis-answer.js';
import { clientFromUrl, type RedisClient } from '../../backends/redis/redis-client.js';
import { RedisConnection } from '../../backends/redis/redis-connection.js';
import { redisError } from '../../backends/redis/redis-error.js';
import { placeOfUrl, type RedisPlace } from '../../backends/redis/redis-place.js';
import { supportFromUrl, type RedisSupport } from '../../backends/redis/redis.support.js';
import { parseRedisUrl, type RedisUrl } from '../../backends/redis/redis-url.js';
import { SCRIPTS } from '../../backends/redis/scripts.generated.js';
import type { WorkerLease } from '../../lease/distributed-support.js';
import { cutName } from '../../lease/printable.js';
import { redisFindings } from './redis-findings.js';
import type { Finding, HolderProof, RegistryFacts, RegistryView, Store } from './store.js';
import { within } from './within.js';

const SECTIONS = ['server', 'persistence', 'replication', 'memory', 'cluster'] as const;

export class RedisStore implements Store {
  readonly where: string;
  readonly key: string;
  readonly lossWindowMs: number;
  private readonly url: RedisUrl;
  private readonly place: RedisPlace;
  private readonly support: RedisSupport;
  private readonly reading: RedisConnection;
  private lastFault: Error | undefined;

  constructor(
    url: string,
    private readonly timeoutMs: number,
  ) {
    this.support = supportFromUrl(url);
    this.url = parseRedisUrl(url);
    this.place = placeOfUrl(this.url);
    this.where = this.place.where;
    this.key = this.support.key;
    this.lossWindowMs = this.support.lossWindowMs;
    this.reading = new RedisConnection(() => this.client(), this.place);
  }

  async read(): Promise<RegistryView> {
    return registryView(await this.limited(this.reading.run(SCRIPTS.workers, this.key, [])));
  }

  async findings(): Promise<Finding[]> {
    const advice = await this.limited(this.support.advice());
    const reports: Record<string, string> = {};
    for (const section of SECTIONS) {
      // A user who may not ask is told so by the advice.
      const told = this.limited(this.reading.info(section)).catch(() => '');
      for (const [name, value] of reportLines(await told)) reports[name] = value;
    }
    const { kind } = this.url;
    return redisFindings({ reports, advice, kind, lossWindowMs: this.lossWindowMs });
  }

  release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    return this.limited(this.support.release(lease, lastIssuedMs));
  }

  async close(): Promise<void> {
    await Promise.all([this.support.close(), this.reading.close()]);
  }

  /** Where a call is still waiting, only the events tell of what went wrong so far. */
  private async client(): Promise<RedisClient> {
    const client = await clientFromUrl(this.url);
    client.on('error', (fault) => (this.lastFault = redisError(fault, this.place).cause as Error));
    return client;
  }

  private limited<T>(asked: Promise<T>): Promise<T> {
    const { where } = this;
    return within(this.timeoutMs, asked, { where, lastFault: () => this.lastFault });
  }
}

/** token|nonce|floor|era|since|label */
const PROOF = /^([^|]*)\|([^|]*)\|/;

/** From the time and all fields of the registry, as docs/reference/keys.md lists them. */
export function registryView(reply: readonly unknown[]): RegistryView {
  const [time, ...pairs] = reply;
  const fields = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) fields.set(String(pairs[at]), String(pairs[at + 1]));
  const facts = registryFacts(fields);
  const storeMs = Number(time);
  return {
    storeMs,
    nowMs: storeMs + (facts?.slewMs ?? 0),
    ...(facts && { facts }),
    isUnfinished: facts === undefined && fields.size > 0,
    workers: workerRecords(reply),
    proofOf: (workerId) => proofIn(fields.get(`o${workerId}`)),
  };
}

function registryFacts(fields: ReadonlyMap<string, string>): RegistryFacts | undefined {
  // As the scripts have it: without this field a registry is absent.
  if (!fields.has('lastTime')) return undefined;
  // Whatever somebody wrote: names that are cut fit no layout, and a number is one.
  const text = (name: string) => cutName(fields.get(name) ?? '');
  const number = (name: string) => finite(Number(fields.get(name) ?? 0));
  return {
    version: text('version'),
    fingerprint: text('fingerprint'),
    incarnation: text('incarnation'),
    server: text('server'),
    slewMs: number('slew'),
    quarantineMs: number('quarantine'),
    safeFloorMs: number('safeFloor'),
    era: number('era'),
    operations: number('operations'),
  };
}

const finite = (number: number): number => (Number.isFinite(number) ? number : 0);

function proofIn(owner: string | undefined): HolderProof | undefined {
  const [, token, nonce] = PROOF.exec(owner ?? '') ?? [];
  return token === undefined || nonce === undefined ? undefined : { token, nonce };
}

/** The `name:value` lines of INFO. */
function reportLines(info: string): [name: string, value: string][] {
  return info.split(/\r?\n/).flatMap((line): [string, string][] => {
    const [, name, value] = /^(\w+):(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
}
