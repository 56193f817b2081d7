/**
 * Locks in etcd: the front door. It uses the JSON gateway, so no client of etcd has to be
 * installed; its connections are closed by `close()`.
 */
import { SnowflakeError } from '../../../errors.js';
import type { LockStore } from '../../../lock/lock-store.js';
import { EtcdClient } from '../connection/etcd-client.js';
import { settingsOf } from '../connection/etcd-settings.js';
import { optionsOfUrl } from '../connection/etcd-url.js';
import type { EtcdSupportOptions } from '../worker-ids/etcd.support.js';
import { EtcdLocks } from './etcd-lock-store.js';

/** As of the support, but that clocks do not matter; or a URL with all of them in it. */
export type EtcdLockOptions =
  Omit<EtcdSupportOptions, 'clockDifferenceMs'> | { readonly url: string };

/**
 * Locks in etcd. Of a ttl the store makes whole seconds, and no less than it takes etcd to elect a
 * leader, 2 s by default: so long a lock stays where its holder was killed.
 *
 * @throws SnowflakeError CONFIG_INVALID with every fault of the options.
 * @example
 * ```ts
 * import { etcdLocks } from 'nestjs-snowflake/etcd';
 *
 * const endpoints = ['https://etcd-0:2379', 'https://etcd-1:2379', 'https://etcd-2:2379'];
 * const store = etcdLocks({ endpoints, namespace: 'shop' });
 * ```
 */
export function etcdLocks(options: EtcdLockOptions): LockStore {
  // A text in its place may be a URL with a password.
  if (!Object.hasOwn(Object(options), 'url')) return locksOf(options);
  const { url, ...more } = options as { readonly url: unknown };
  if (typeof url === 'string' && Object.keys(more).length === 0) return etcdLocksFromUrl(url);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'Expected `url` to be text, and all options to be in it: etcd://host:2379?namespace=shop.',
  );
}

/** The locks of a URL, e.g. etcd://user:password@a:2379,b:2379,c:2379?namespace=shop. */
export function etcdLocksFromUrl(url: string): LockStore {
  return locksOf(optionsOfUrl(url));
}

function locksOf(options: unknown): LockStore {
  const settings = settingsOf(options);
  const { namespace, failoverWindowMs } = settings;
  return new EtcdLocks(new EtcdClient(settings), namespace, failoverWindowMs);
}
