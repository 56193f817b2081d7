/**
 * The Redis of a URL.
 *
 *     redis://user:password@host:6379/0?namespace=shop        rediss:// for TLS
 *     redis+sentinel://:password@host:26379,host:26379/mymaster/0?sentinelPassword=password
 *     redis+cluster://host:7000,host:7001
 *     valkey:// and valkeys:// are the same
 */
import type { OptionTable } from '../../options.js';
import { schemeOf } from '../../url-schemes.js';
import { StoreUrl, type Address, type Login } from '../store-url.js';

export interface RedisUrl extends Login {
  readonly kind: 'standalone' | 'sentinel' | 'cluster';
  readonly isTls: boolean;
  readonly hosts: readonly Address[];
  /** Only URLs of Sentinel have it. */
  readonly masterName?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly db: number;
  /** For the support. */
  readonly query: StoreUrl;
}

const FORM = { kind: 'redis', example: 'redis://host:port/db?namespace=name' } as const;
const PORTS = { standalone: 6379, sentinel: 26_379, cluster: 6379 };
const MASTER_NAME = /^[\w.-]+$/;
const SENTINEL_LOGIN = ['sentinelUsername', 'sentinelPassword'] as const;
/** Likely mistakes that are not secret; a message names only these. */
const COMMON_STRANGERS =
  'name ns db database user username password ssl sslmode tls timeout ttl keyPrefix protocol ' +
  'ssl_cert_reqs ssl_ca_certs ssl_check_hostname virtual_host client_name addr lazyConnect ' +
  'connectTimeout commandTimeout maxRetriesPerRequest socket_timeout socket_connect_timeout ' +
  'retry_on_timeout health_check_interval max_connections decode_responses dial_timeout ' +
  'read_timeout write_timeout pool_size ' +
  SENTINEL_LOGIN.join(' ');

/** @throws SnowflakeError CONFIG_INVALID */
export function parseRedisUrl(text: string): RedisUrl {
  const url = readUrl(text);
  url.query.refuse();
  return url;
}

/** The query collects the errors. */
function readUrl(text: string): RedisUrl {
  const [scheme, kind = 'standalone'] = schemeOf(text).split('+') as [string, RedisUrl['kind']?];
  const url = new StoreUrl(text, { ...FORM, port: PORTS[kind] });
  const { hosts, login } = url;
  if (kind === 'standalone' && hosts.length > 1) {
    url.fault('it names several hosts; write redis+sentinel:// or redis+cluster://');
  }
  const isTls = scheme === 'rediss' || scheme === 'valkeys';
  return { kind, isTls, ...login, hosts, ...placeIn(url, kind), query: url };
}

/** The master and the database. */
function placeIn(url: StoreUrl, kind: RedisUrl['kind']) {
  const steps = url.path.split('/').filter((step) => step !== '');
  const masterName = kind === 'sentinel' ? steps.shift() : undefined;
  if (kind === 'sentinel' && !MASTER_NAME.test(masterName ?? '')) {
    url.fault('a Sentinel URL names its master: redis+sentinel://host:26379/mymaster');
  }
  const db = Number(steps[0] ?? 0);
  const isNumber = steps.length <= 1 && /^\d{1,9}$/.test(steps[0] ?? '0');
  if (!isNumber) url.fault('what follows its hosts is not the number of a database');
  else if (kind === 'cluster' && db !== 0) {
    url.fault(`a Cluster has only database 0, and it asks for ${db}`);
  }
  if (masterName === undefined) return { db };
  const login = SENTINEL_LOGIN.map((name) => [name, url.take(name)] as const);
  return { masterName, ...Object.fromEntries(login.filter(([, value]) => value)), db };
}

/** Reads the options. @throws SnowflakeError CONFIG_INVALID with every error in the URL */
export function optionsOfUrl<O>(redis: string, table: OptionTable<O>) {
  const { query } = readUrl(redis);
  // Without them, both address families are tried and the user name is read; some clients need them.
  for (const hint of ['family', 'allowUsernameInURI']) query.take(hint);
  const options = query.options(table, COMMON_STRANGERS);
  query.refuse();
  return { redis, ...options };
}
