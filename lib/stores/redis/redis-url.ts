/**
 * The Redis a URL names.
 *
 *     redis://user:password@host:6379/0?namespace=shop        rediss:// for TLS
 *     redis+sentinel://:password@host:26379,host:26379/mymaster/0?sentinelPassword=password
 *     redis+cluster://host:7000,host:7001
 *     valkey:// and valkeys:// are the same
 *
 * Guarantee: a URL that cannot be meant so is refused with its fault. Nothing of it is repeated.
 */
import { invalidUrl, parameterFault } from '../../options.js';
import { kindOf, loginIn, schemeOf } from '../../url-schemes.js';

export interface RedisUrl {
  readonly kind: 'standalone' | 'sentinel' | 'cluster';
  readonly isTls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** Only URLs of Sentinel have it. */
  readonly masterName?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly db: number;
  /** The query after `?`, for the support. */
  readonly query: ReadonlyMap<string, string>;
}

const URL_PARTS = /^[^:]+:\/\/(?:([^@/]*)@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const PORTS = { standalone: 6379, sentinel: 26_379, cluster: 6379 };
/** A name, an address, or an IPv6 address in brackets: never what a connection string holds. */
const HOST = /^([\p{L}\p{N}._-]+|\[[\da-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?$/iu;
const MASTER_NAME = /^[\w.-]+$/;
const SENTINEL_LOGIN = ['sentinelUsername', 'sentinelPassword'] as const;
/** Asked for by mistake, and no secret themselves: only these are named in a message. */
const COMMON_STRANGERS =
  'name ns db database user username password ssl tls timeout ttl family keyPrefix ' +
  SENTINEL_LOGIN.join(' ');

/** @throws SnowflakeError CONFIG_INVALID */
export function parseRedisUrl(url: string): RedisUrl {
  if (/[\s\p{C}]/u.test(url)) {
    throw invalidUrl(
      url,
      'it contains a space, a line break or another invisible character: take it out',
    );
  }
  if (/\/\/[^?]*[/@][^?]*@/.test(url)) {
    throw invalidUrl(url, 'a / or @ in its user or password must be written %2F or %40');
  }
  const parts = URL_PARTS.exec(url);
  if (parts === null || kindOf(url) !== 'redis')
    throw invalidUrl(url, 'it does not have the form redis://host:port/db?namespace=name');
  const [, login = '', hostList = '', path = '', query = ''] = parts;
  const [scheme, kind = 'standalone'] = schemeOf(url).split('+') as [string, RedisUrl['kind']?];
  const hosts = hostList.split(',').map((text, at) => parseHost(url, text, PORTS[kind], at + 1));
  if (kind === 'standalone' && hosts.length > 1) {
    throw invalidUrl(url, 'it names several hosts; write redis+sentinel:// or redis+cluster://');
  }
  const asked = parseQuery(url, query);
  return {
    kind,
    isTls: scheme === 'rediss' || scheme === 'valkeys',
    ...loginIn(login),
    hosts,
    ...parsePath(url, kind, path),
    ...(kind === 'sentinel' && sentinelLogin(asked)),
    query: asked,
  };
}

function parseHost(url: string, text: string, portDefault: number, number: number) {
  const [, host, digits] = HOST.exec(text) ?? [];
  const port = digits === undefined ? portDefault : Number(digits);
  if (host === undefined) {
    throw invalidUrl(url, `its host number ${number} is not written as host or host:port`);
  }
  if (port < 1 || port > 65_535) throw invalidUrl(url, `${port} is not a port from 1 to 65535`);
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

function parsePath(url: string, kind: RedisUrl['kind'], path: string) {
  const steps = path.split('/').filter((step) => step !== '');
  const masterName = kind === 'sentinel' ? steps.shift() : undefined;
  if (kind === 'sentinel' && !MASTER_NAME.test(masterName ?? '')) {
    throw invalidUrl(url, 'a Sentinel URL names its master: redis+sentinel://host:26379/mymaster');
  }
  const db = Number(steps[0] ?? 0);
  const isNumber = steps.length <= 1 && /^\d{1,9}$/.test(steps[0] ?? '0');
  if (!isNumber) throw invalidUrl(url, 'what follows its hosts is not the number of a database');
  if (kind === 'cluster' && db !== 0) {
    throw invalidUrl(url, `a Cluster has only database 0, and it asks for ${db}`);
  }
  return { ...(masterName !== undefined && { masterName }), db };
}

function parseQuery(url: string, query: string): Map<string, string> {
  const pairs = [...new URLSearchParams(query)];
  const asked = new Map(pairs);
  if (asked.size < pairs.length) throw invalidUrl(url, 'it gives one of its parameters twice');
  return asked;
}

/** Taken out of the query, which is for the support. */
function sentinelLogin(query: Map<string, string>) {
  const given = SENTINEL_LOGIN.flatMap((name) => {
    const value = query.get(name);
    query.delete(name);
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given) as Pick<RedisUrl, (typeof SENTINEL_LOGIN)[number]>;
}

/** Refuses unknown parameters, and known names that contain part of a connection string. */
export function refuseQuery({ query }: RedisUrl, url: string, names: readonly string[]): void {
  for (const pair of [...query].entries()) {
    const fault = parameterFault(pair, names, COMMON_STRANGERS);
    if (fault !== undefined) throw invalidUrl(url, fault);
  }
}

/** @throws SnowflakeError CONFIG_INVALID for what is neither */
export function flagIn({ query }: RedisUrl, url: string, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === undefined || value === 'true' || value === 'false')
    return value && value === 'true';
  throw invalidUrl(url, `its ${name} is none of true, false`);
}
