/**
 * Creates the library's own client from a client or a URL, for any client library.
 *
 * Clients are recognized by structure, and a package is loaded only for a URL.
 */
import { SnowflakeError } from '../../errors.js';
import { GLIDE } from './clients/glide.js';
import { IOREDIS } from './clients/ioredis.js';
import { NODE_REDIS } from './clients/node-redis.js';
import {
  locationOf,
  type RedisLocation,
  type ClientLibrary,
  type LibraryName,
  type RedisClient,
} from './clients/redis-client.js';
import { absence, load } from '../packages.js';
import type { RedisUrl } from './redis-url.js';

/**
 * A client of ioredis or iovalkey, of node-redis, or of Valkey GLIDE, recognized by its structure.
 */
export type GivenClient =
  | { readonly status: string; duplicate(...args: never[]): unknown }
  | { readonly isOpen: boolean; connect(): Promise<unknown>; destroy(): unknown }
  | { customCommand(...args: never[]): Promise<unknown>; close(): void };

const LIBRARIES: readonly ClientLibrary[] = [IOREDIS, NODE_REDIS, GLIDE];

/**
 * A URL uses the first installed package. The export in the third column excludes older versions:
 * clients of node-redis before 5 cannot be ended, and GLIDE 1 has other texts for the server's
 * responses.
 */
const PACKAGES: readonly [LibraryName, ClientLibrary, since?: string][] = [
  ['ioredis', IOREDIS],
  ['redis', NODE_REDIS, 'createSentinel'],
  ['iovalkey', IOREDIS],
  ['@valkey/valkey-glide', GLIDE, 'Batch'],
];

/** The library of a client; undefined for anything else. */
export function libraryOf(value: unknown): ClientLibrary | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return LIBRARIES.find((library) => library.isClient(value));
}

export function locationOfUrl(url: RedisUrl): RedisLocation {
  const { kind, hosts: servers, db } = url;
  const logins = [url, { password: url.sentinelPassword }];
  return locationOf({ kind, servers, database: ['db', db], logins });
}

/**
 * Creates the client, not yet connected.
 *
 * @throws SnowflakeError CONFIG_INVALID if no usable package is installed
 */
export async function clientFromUrl(url: RedisUrl): Promise<RedisClient> {
  const older: LibraryName[] = [];
  for (const [name, library, since] of PACKAGES) {
    if (url.kind === 'sentinel' && !library.hasSentinel) continue;
    const loaded = (await load(name)) as object | undefined;
    if (loaded === undefined) continue;
    if (since === undefined || since in loaded) return library.build(url, loaded, name);
    older.push(name);
  }
  const why =
    older.length === 0
      ? absence(
          PACKAGES.map(([name]) => name),
          'ioredis@5',
        )
      : `None of them is installed, but an older version of ${older.join(' and ')}. ` +
        'Run: npm install ioredis@5';
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'A Redis URL needs a client: ioredis 5.4 or later, redis 5 or later, iovalkey or, but for ' +
      `Sentinel, @valkey/valkey-glide 2. ${why}`,
  );
}
