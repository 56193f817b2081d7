/**
 * Finds the store of a URL, in one file: the store of each built-in scheme, and those that an
 * application adds with its option `supports`.
 *
 * Guarantee: a store is loaded only when its URL is used, so the clients of the others need not be
 * installed. A message shows no more of a URL than a well-known scheme.
 */
import type { CounterStore } from '../counters/counter-store.js';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { StaticSupport } from '../lease/static.support.js';
import type { LockStore } from '../lock/lock-store.js';
import { errorText, formatUrl, withoutSecrets } from '../messages.js';
import type { RegistryInspector, StorePreparation } from '../registry/snapshot.js';
import { kindOf, schemeOf, SCHEMES } from '../url-schemes.js';
import type { OperatedDatabase } from './sql/sql.support.js';

interface NamedStore {
  readonly name: 'static' | 'file' | 'redis' | 'etcd' | 'sql';
  /** The scheme in lower case, without the colon. */
  readonly schemes: readonly string[];
  /** The required text after the colon; the store reads the rest. */
  readonly form: RegExp;
  /** The same in words, for messages. */
  readonly follows: string;
  /** The example in messages. */
  readonly example: string;
  /** @throws SnowflakeError CONFIG_INVALID */
  support(url: string): Promise<IDistributedSupport>;
  /** Opens the registry for an operator, if worker IDs are leased from one. */
  readonly inspector?: (url: string) => Promise<RegistryInspector>;
  /** Opens the locks, if the store has any. */
  readonly locks?: (url: string) => Promise<LockStore>;
  /** Returns the statement that must run before the store can keep locks, if any. */
  readonly lockPreparation?: (url: string) => Promise<StorePreparation>;
  /** Opens the counters, if the store has any. */
  readonly counters?: (url: string) => Promise<CounterStore>;
}

const SQL = {
  name: 'sql',
  support: async (url: string) => (await import('./sql/sql.support.js')).supportFromUrl(url),
  inspector: async (url: string) => (await import('./sql/sql.support.js')).inspectorFromUrl(url),
  counters: async (url: string) =>
    (await import('./sql/counters-and-locks.js')).countersFromUrl(url),
  locks: async (url: string) => (await import('./sql/counters-and-locks.js')).locksFromUrl(url),
  lockPreparation: async (url: string) =>
    (await import('./sql/sql.support.js')).preparationFromUrl(url),
} as const;

const TWO_SLASHES = 'two slashes and a host';

const STORES: readonly NamedStore[] = [
  {
    name: 'static',
    schemes: SCHEMES.static,
    form: /^(0|[1-9]\d{0,9})$/,
    follows: 'a worker id in digits, such as 7',
    example: 'static:7',
    support: async (url) => new StaticSupport(Number(url.slice('static:'.length))),
  },
  {
    name: 'file',
    schemes: SCHEMES.file,
    form: /^[^?#]/,
    follows: 'the path of a folder',
    example: 'file:./var/snowflake',
    support: async (url) => (await import('./host/folder.support.js')).supportFromUrl(url),
    inspector: async (url) => (await import('./host/folder.support.js')).inspectorFromUrl(url),
  },
  {
    name: 'redis',
    schemes: SCHEMES.redis,
    form: /^\/\//,
    follows: TWO_SLASHES,
    example: 'redis://host:6379/0?namespace=shop',
    support: async (url) => (await import('./redis/redis.support.js')).supportFromUrl(url),
    inspector: async (url) => (await import('./redis/redis-inspector.js')).inspectorFromUrl(url),
    counters: async (url) => (await import('./redis/redis-counters.js')).countersFromUrl(url),
    locks: async (url) => (await import('./redis/redis-locks.js')).locksFromUrl(url),
  },
  {
    name: 'etcd',
    schemes: SCHEMES.etcd,
    form: /^\/\//,
    follows: TWO_SLASHES,
    example: 'etcd://a:2379,b:2379,c:2379?namespace=shop',
    support: async (url) => (await import('./etcd/etcd.support.js')).supportFromUrl(url),
    inspector: async (url) => (await import('./etcd/etcd.support.js')).inspectorFromUrl(url),
    counters: async (url) => (await import('./etcd/etcd.support.js')).countersFromUrl(url),
    locks: async (url) => (await import('./etcd/etcd-locks.js')).locksFromUrl(url),
  },
  {
    ...SQL,
    schemes: [...SCHEMES.postgres, ...SCHEMES.mysql],
    form: /^\/\//,
    follows: TWO_SLASHES,
    example: 'postgres://user@host:5432/database?namespace=shop, mysql://',
  },
  {
    ...SQL,
    schemes: SCHEMES.sqlite,
    form: /^./,
    follows: 'the path of a file',
    example: 'sqlite:./var/shop.db?namespace=shop',
  },
];

/** In the memory of a process, a URL opens only locks. */
const MEMORY = 'memory:';

export function isMemory(url: string): boolean {
  return kindOf(url) === 'memory' && url.length === MEMORY.length;
}

/** The store of a URL's scheme, whatever follows the scheme. */
export function storeOfScheme(scheme: string): NamedStore | undefined {
  return STORES.find(({ schemes }) => schemes.includes(scheme));
}

/** The store of a URL; undefined if only the scheme is right. */
export function storeOfUrl(url: string): NamedStore | undefined {
  const scheme = schemeOf(url);
  const store = storeOfScheme(scheme);
  return store?.form.test(url.slice(scheme.length + 1)) ? store : undefined;
}

/** Creates a support from a URL; the support's `close()` closes everything that it opens. */
export type SupportFromUrl = (url: string) => IDistributedSupport | Promise<IDistributedSupport>;

/** Supports by scheme. A Map has no inherited names, unlike an object. */
export type OwnSupports = ReadonlyMap<string, SupportFromUrl>;

/**
 * The support of a URL.
 *
 * @param own the application's functions for URLs of its own
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function supportOf(url: string, own: OwnSupports): Promise<IDistributedSupport> {
  const scheme = schemeOf(url);
  const make = own.get(scheme);
  if (make !== undefined) return ownSupport(scheme, url, make);
  const store = storeOfUrl(url);
  if (store === undefined) throw unknownUrl('support', url, formsOf(), own);
  return store.support(url);
}

/** The registry of a URL, for an operator. @throws SnowflakeError CONFIG_INVALID */
export async function inspectorOf(url: string): Promise<RegistryInspector> {
  const inspected = storeOfUrl(url)?.inspector?.(url);
  if (inspected !== undefined) return inspected;
  throw unknownUrl('support', url, formsOf('inspector'));
}

/** The counters of a URL. @throws SnowflakeError CONFIG_INVALID */
export async function countersOf(url: string): Promise<CounterStore> {
  const counted = storeOfUrl(url)?.counters?.(url);
  if (counted !== undefined) return counted;
  throw unknownUrl('counter store', url, formsOf('counters'));
}

/** The locks of a URL. @throws SnowflakeError CONFIG_INVALID */
export async function locksOf(url: string): Promise<LockStore> {
  if (isMemory(url)) return new (await import('./memory/index.js')).MemoryLocks();
  const locked = storeOfUrl(url)?.locks?.(url);
  if (locked !== undefined) return locked;
  throw unknownUrl('lock store', url, [...formsOf('locks'), MEMORY]);
}

/** Returns the table that a URL needs before it can keep locks; undefined if none. */
export async function lockPreparationOf(url: string): Promise<StorePreparation | undefined> {
  return storeOfUrl(url)?.lockPreparation?.(url);
}

/** The PostgreSQL or MariaDB database of a URL, for an operator's SQL. @throws SnowflakeError */
export async function databaseOf(url: string): Promise<OperatedDatabase> {
  if (kindOf(url) !== 'postgres' && kindOf(url) !== 'mysql') {
    const forms = [...SCHEMES.postgres, ...SCHEMES.mysql].map((scheme) => `${scheme}://`);
    throw unknownUrl('command on tables', url, forms);
  }
  return (await import('./sql/sql.support.js')).databaseFromUrl(url);
}

/** An example of each store with all of these features, and its other schemes. */
function formsOf(...offers: readonly (keyof NamedStore)[]): string[] {
  const offering = STORES.filter((store) => offers.every((offer) => offer in store));
  return offering.map(({ example }) => example);
}

/** Names all valid schemes, so that a misspelled one is obvious. */
function unknownUrl(
  whose: string,
  url: string,
  forms: readonly string[],
  own: OwnSupports = new Map(),
): SnowflakeError {
  const scheme = schemeOf(url);
  const store = storeOfScheme(scheme);
  const isCut = store?.form.test(url.slice(scheme.length + 1)) === false;
  const wanted = isCut ? ` After ${scheme}: follows ${store.follows}.` : '';
  // Otherwise, each process would lease the same worker IDs.
  const memory = kindOf(url) === 'memory' ? IN_MEMORY : '';
  const added = [...own.keys()].map((name) => `${name}:`);
  const ofApplication = added.length === 0 ? '' : `; of this application ${added.join(', ')}`;
  return new SnowflakeError(
    'CONFIG_INVALID',
    `No ${whose} handles this URL: ${formatUrl(url)}.${wanted}${memory} Supported forms: ` +
      `${forms.join(', ')}${ofApplication}.`,
  );
}

const IN_MEMORY =
  ' Only locks have a URL of memory, since no other process sees it. In tests give an object: ' +
  'MemorySupport or MemoryCounters.';

async function ownSupport(
  scheme: string,
  url: string,
  make: SupportFromUrl,
): Promise<IDistributedSupport> {
  let support: unknown;
  try {
    support = await make(url);
  } catch (error) {
    if (isSnowflakeError(error)) throw error;
    // Secrets that a message may repeat and a log must not: the URL, and its password.
    const password = URL.canParse(url) ? new URL(url).password : '';
    const safe = withoutSecrets(errorText(error), [url, password]);
    throw new SnowflakeError('CONFIG_INVALID', `\`supports.${scheme}\` failed: ${safe}`);
  }
  if (isSupport(support)) return support;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`supports.${scheme}\` to give an object with getNextWorkId and refreshAlive, got ` +
      `${typeof support}.`,
  );
}

/** True if a value can provide worker IDs, whatever its class. */
export function isSupport(value: unknown): value is IDistributedSupport {
  const candidate = value as Partial<IDistributedSupport> | null | undefined;
  return (
    typeof candidate === 'object' &&
    typeof candidate?.getNextWorkId === 'function' &&
    typeof candidate.refreshAlive === 'function'
  );
}
