/**
 * The URL or client that an application passes, and its names.
 *
 * Guarantee: the connection is the library's own. A given client is neither used nor closed. Users
 * with the same server and settings, or with the same given client, share one connection.
 */
import { randomUUID } from 'node:crypto';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { formatName } from '../../messages.js';
import {
  checkedOptions,
  later,
  nameFaults,
  typed,
  windowFaults,
  type Check,
  type OptionTable,
} from '../../options.js';
import { sharedClients } from './client-life.js';
import { fieldOf } from './clients/redis-client.js';
import { clientFromUrl, libraryOf, locationOfUrl, type GivenClient } from './redis-client.js';
import { RedisConnection, RedisMessages, type Script } from './redis-connection.js';
import { optionsOfUrl, parseRedisUrl } from './redis-url.js';
import { SCRIPTS } from './scripts.generated.js';

export type GivenRedis = GivenClient | string;

/** @throws SnowflakeError CONFIG_INVALID */
export function connectionTo(redis: GivenRedis): RedisConnection {
  const { key, build, location } = wayTo(redis);
  return new RedisConnection(() => sharedClients.join(key, build), location);
}

/** @throws SnowflakeError CONFIG_INVALID */
export function messagesFrom(redis: GivenRedis): RedisMessages {
  const { build, location } = wayTo(redis);
  return new RedisMessages(build, location);
}

/** Users with an equal key share a client. */
function wayTo(redis: GivenRedis) {
  if (typeof redis === 'string') {
    const url = parseRedisUrl(redis);
    // A script selects its database itself, and the query does not affect the server.
    const { db: _db, query: _query, ...server } = url;
    const build = () => clientFromUrl(url);
    return { key: JSON.stringify(server), build, location: locationOfUrl(url) };
  }
  const library = libraryOf(redis);
  if (library !== undefined) {
    const location = library.locate(redis);
    const build = async () => {
      library.locate(redis); // which may be another one since
      return library.duplicate(redis);
    };
    return { key: redis, build, location };
  }
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'Expected `redis` to be a URL or a client of ioredis, redis (node-redis), iovalkey or ' +
      `@valkey/valkey-glide, got ${typeof redis}.`,
  );
}

/** Braces would move a key to another slot of a Cluster. */
export function keyFaults(name: string, value: unknown): string[] {
  const of = 'characters without braces or spaces';
  return nameFaults(name, value, { of, without: /[{}\s]/u });
}

/** Like keyFaults(), but a prefix may be empty. */
export const prefixFaults: Check = (name, value) => (value === '' ? [] : keyFaults(name, value));

/** Advice that applies to any hash. */
interface Adviser {
  readonly key: string;
  readonly statement: Statement;
  /** The advice for a policy that allows Redis to evict the hash. */
  readonly evicted: (policy: string) => string;
}

/** Advice for any hash in Redis: about its eviction, and about the statement on its writes. */
export async function adviceOf(
  connection: RedisConnection,
  { key, statement, evicted }: Adviser,
): Promise<string[]> {
  const asked = connection.info('memory').catch((error: unknown) => {
    // Without the permission to read it, the policy is unknown.
    if (statement && isSnowflakeError(error) && !error.retryable) return '';
    throw error;
  });
  const reported = statement ? connection.run(SCRIPTS.facts, key, []) : undefined;
  const [memory, facts] = await Promise.all([asked, reported]);
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? '';
  return [
    ...(facts === undefined ? [] : keepsWritesAdvice(facts.join('\n'), statement)),
    ...(policy.startsWith('allkeys') ? [evicted(policy)] : []),
  ];
}

export function locationOf(where: string, key: string, statement: Statement): string {
  return [`Redis at ${where}`, key, textOf(statement) ?? []].flat().join(', ');
}

/*
 * The application's statement about a Redis that does not report its server to scripts.
 *
 * Guarantee: the server's own report overrides the statement.
 */

/** The option with the statement. */
export interface KeptWrites {
  /**
   * States that after each restart and failover, this Redis has either every acknowledged write or
   * none, and that no old server continues next to a new one. It is trusted only if scripts cannot
   * read which server runs them (INFO). There, nothing is granted without it. Default false.
   */
  readonly keepsWrites?: boolean | undefined;
}

/**
 * The statement about the writes: none is lost, or none older than a limit is lost. False states
 * nothing.
 */
export type Statement = boolean | { readonly keepsWritesAfterMs: number };

export function textOf(statement: Statement): string | undefined {
  if (typeof statement === 'boolean') return statement ? 'keepsWrites' : undefined;
  return `keepsWritesAfterMs=${statement.keepsWritesAfterMs}`;
}

/** The last argument of a script that writes, if the application makes the statement. */
export const keepsWritesArgument = (statement: Statement) => (statement ? ['keepsWrites'] : []);

export const BELIEVED =
  'Scripts cannot read which server runs them, so the library relies on `keepsWrites`. If this ' +
  'Redis comes back with only a part of its acknowledged writes, no process notices in time, and ' +
  'the same may be granted twice.';

export const BELIEVED_LATER =
  'Scripts cannot read which server runs them, so the library relies on `keepsWritesAfterMs`. If ' +
  'this Redis loses an older acknowledged write, or an old server continues for longer than ' +
  '`failoverWindowMs`, no process notices in time, and the same may be granted twice.';

/** Advice that compares the server's report to scripts with the application's statement. */
function keepsWritesAdvice(facts: string, statement: Statement): string[] {
  const isLater = typeof statement === 'object';
  if (!/^run_id:\w/m.test(facts) || !/^master_replid:\w/m.test(facts)) {
    return [isLater ? BELIEVED_LATER : BELIEVED];
  }
  if (isLater) {
    return [
      'Scripts are told which server runs them, so that each loss of data is noticed. Leave out ' +
        '`keepsWritesAfterMs`, by which each start waits for longer.',
    ];
  }
  const doubts = [
    ...(/^aof_enabled:0/m.test(facts)
      ? ['without its append-only file an older save may come back']
      : []),
    ...(/^connected_slaves:[1-9]/m.test(facts)
      ? ['it has replicas, for which no write waits']
      : []),
  ];
  if (doubts.length === 0) return [];
  return [
    `\`keepsWrites\` says that this Redis loses no part of its writes, but ` +
      `${doubts.join(', and ')}. Nothing rests on the option as long as ` +
      `scripts are told which server runs them: leave it out.`,
  ];
}

/*
 * One hash of a namespace, in which scripts keep counters or locks.
 *
 * Guarantee: a hash of another protocol version is not changed. The braces in the key keep it in
 * one slot of a Cluster.
 */

export interface RedisHashOptions extends KeptWrites {
  /** A client of your application, whose settings are used, or a URL. */
  readonly redis: GivenRedis;
  /** Separates data of the same name. Default 'default'. */
  readonly namespace?: string | undefined;
  /** The key's part before the namespace. Default 'snowflake:'. */
  readonly prefix?: string | undefined;
  readonly lossWindowMs?: number | undefined;
}

type Value = string | number | bigint;

/** A restart loses unsynced writes; an old master may continue to respond for a while. */
const RESTART_MS = 2000;
const FAILOVER_MS = 16_000;

export class RedisHash {
  readonly key: string;
  readonly location: string;
  readonly lossWindowMs: number;
  readonly #content: string;
  readonly #keepsWrites: boolean;
  readonly #connection: RedisConnection;

  /**
   * @param content the kind of data in it
   * @throws SnowflakeError CONFIG_INVALID with every error
   */
  constructor(content: 'counters' | 'locks', options: RedisHashOptions) {
    const whose = content === 'locks' ? 'redisLocks()' : 'redisCounters()';
    const before = `The Redis ${content} are misconfigured. `;
    const terms = checkedOptions(options, HASH, whose, before);
    const { namespace, prefix, keepsWrites, lossWindowMs } = terms;
    this.#content = content;
    this.#keepsWrites = keepsWrites;
    this.key = `${prefix}{${namespace}}:${content}`;
    this.#connection = connectionTo(options.redis);
    const windowMs = RESTART_MS + (this.#connection.kind === 'standalone' ? 0 : FAILOVER_MS);
    this.lossWindowMs = lossWindowMs ?? windowMs;
    this.location = locationOf(this.#connection.where, this.key, keepsWrites);
  }

  /** Runs a script on one name in the hash, with the clock of Redis. */
  change(script: Script, name: string, args: readonly Value[]): Promise<unknown[]> {
    // A counter script needs a random name for its grant; a lock script has the name of its
    // attempt.
    const random = this.#content === 'counters' ? [randomUUID()] : [];
    const own = [name, this.lossWindowMs, ...random, ...args];
    const asked = [...own, ...keepsWritesArgument(this.#keepsWrites)];
    return this.read(script, asked).then((reply) => this.#ofOurVersion(reply));
  }

  #ofOurVersion(reply: unknown[]): unknown[] {
    if (reply[0] !== 'other-version') return reply;
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `${this.location} is kept by version ${formatName(reply[1])} of the protocol, and this ` +
        `package knows version 1. Nothing was changed. Use one version of nestjs-snowflake for ` +
        `these ${this.#content}.`,
      { retryable: false },
    );
  }

  /** Runs a read-only script. */
  read(script: Script, args: readonly Value[] = []): Promise<unknown[]> {
    this.#connection.reopen();
    return this.#connection.run(script, this.key, args.map(String));
  }

  /** Reads page by page until there are no more. */
  async readPages<Page extends { readonly cursor: string }>(
    script: Script,
    pageOf: (reply: readonly unknown[]) => Page,
    more: readonly string[] = [],
  ): Promise<Page[]> {
    const pages = [pageOf(await this.read(script, ['0', ...more]))];
    for (let { cursor } = pages[0]!; cursor !== '0'; cursor = pages.at(-1)!.cursor) {
      pages.push(pageOf(await this.read(script, [cursor, ...more])));
    }
    return pages;
  }

  advice(evicted: (policy: string) => string): Promise<string[]> {
    this.#connection.reopen();
    const { key } = this;
    return adviceOf(this.#connection, { key, statement: this.#keepsWrites, evicted });
  }

  /** Reads a setting with CONFIG; not in a Cluster, where any node could reply. */
  async setting(name: string): Promise<string | undefined> {
    this.#connection.reopen();
    if (this.#connection.kind === 'cluster') return undefined;
    const asked = this.#connection.ask((client) => client.call(['config', 'get', name]));
    return fieldOf(await asked, name);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

export const HASH = {
  redis: [later],
  namespace: [keyFaults, 'default', 'text'],
  prefix: [prefixFaults, 'snowflake:', 'text'],
  lossWindowMs: [windowFaults, undefined, 'number'],
  keepsWrites: [typed('boolean'), false, 'flag'],
} satisfies OptionTable<RedisHashOptions>;

/** Reads the options of a hash from a URL, redis://localhost:6379/0?namespace=shop. */
export const hashOptionsOf = (url: string) => optionsOfUrl<RedisHashOptions>(url, HASH);
