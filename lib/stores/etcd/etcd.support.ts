/**
 * Worker IDs leased from a registry in etcd, and counters in it.
 *
 * Guarantee: the full contract of a support, over the JSON gateway of etcd and without a
 * third-party client. The store opens and closes its own connections.
 */
import { RowCounters } from '../../counters/row-counters.js';
import { RegistrySupport } from '../../registry/registry-support.js';
import { RowInspector } from '../../registry/row-inspector.js';
import type { RegistryInspector } from '../../registry/snapshot.js';
import { EtcdClient } from './etcd-client.js';
import { optionsOfUrl, settingsOf } from './etcd-options.js';
import type { EtcdRowKind } from './etcd-rows.js';
import { EtcdStore } from './etcd-store.js';
import type { EtcdTls } from './http-request.js';

/** Options of etcdSupport(). */
export interface EtcdSupportOptions {
  /** The members, e.g. `https://etcd-0:2379`; the default port is 2379. */
  readonly endpoints: readonly string[];
  /**
   * One ID space: processes with the same namespace never generate the same ID. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** The user of etcd; its role needs readwrite on the prefix `snowflake/<namespace>/`. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Certificates for https. Default: the authorities of Node, and no client certificate. */
  readonly tls?: EtcdTls | undefined;
  /** How long an old cluster may continue to respond after a restored one does. Default 0. */
  readonly failoverWindowMs?: number | undefined;
  /**
   * The maximum difference between the clocks of two members. Default 1,000; rounded up to whole
   * seconds.
   */
  readonly clockDifferenceMs?: number | undefined;
  /** How long to wait for one member before the next one gets the request. Default 1,000. */
  readonly requestTimeoutMs?: number | undefined;
}

/**
 * Worker IDs leased from etcd, for the option `support`.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error in the options.
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { etcdSupport } from 'nestjs-snowflake/etcd';
 *
 * const endpoints = ['https://etcd-0:2379', 'https://etcd-1:2379', 'https://etcd-2:2379'];
 * const tls = { ca: readFileSync('/etc/etcd/ca.pem') };
 * SnowflakeModule.forRoot({ support: etcdSupport({ endpoints, tls, namespace: 'shop' }) });
 * ```
 */
export function etcdSupport(options: EtcdSupportOptions): RegistrySupport {
  return new RegistrySupport(etcdStore(options));
}

/** The support of a URL, e.g. etcd://user:password@a:2379,b:2379,c:2379?namespace=shop. */
export function supportFromUrl(url: string): RegistrySupport {
  return new RegistrySupport(storeFromUrl(url));
}

function storeFromUrl(url: string): EtcdStore {
  return etcdStore(optionsOfUrl(url));
}

function etcdStore(options: unknown, kind?: EtcdRowKind): EtcdStore {
  const settings = settingsOf(options);
  return new EtcdStore(settings, new EtcdClient(settings), kind);
}

/** Options of etcdCounters(). Counters and worker IDs may share a namespace. */
export type EtcdCounterOptions = EtcdSupportOptions;

/**
 * Counters in etcd, for segments and series.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error in the options.
 * @example
 * ```ts
 * import { etcdCounters } from 'nestjs-snowflake/etcd';
 * import { SegmentsModule } from 'nestjs-snowflake/segments';
 *
 * const endpoints = ['http://etcd-0:2379', 'http://etcd-1:2379', 'http://etcd-2:2379'];
 * const store = etcdCounters({ endpoints, namespace: 'shop' });
 * const imports = [SegmentsModule.forRoot({ store, counter: 'order' })];
 * ```
 */
export function etcdCounters(options: EtcdCounterOptions): RowCounters {
  return new RowCounters(etcdStore(options, 'counters'));
}

/** The counters of a URL, e.g. etcd://a:2379,b:2379,c:2379?namespace=shop. */
export function countersFromUrl(url: string): RowCounters {
  return new RowCounters(etcdStore(optionsOfUrl(url), 'counters'));
}

/*
 * A registry in etcd, opened for an operator by its URL.
 *
 * Guarantee: read() and findings() change nothing.
 */

/** @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  const store = storeFromUrl(url);
  return new RowInspector(store, store.where, store.prefix);
}
