/**
 * The Redis a URL names.
 *
 *     redis://user:password@host:6379/0?namespace=shop        rediss:// for TLS
 *     redis+sentinel://:password@host:26379,host:26379/mymaster/0
 *     redis+cluster://host:7000,host:7001
 *
 * Promise: a URL that cannot be meant so is refused with its fault, without showing a password.
 */
import { SnowflakeError, shown } from '../../errors.js';

export interface RedisUrl {
  readonly kind: 'standalone' | 'sentinel' | 'cluster';
  readonly isTls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** Sentinel only. */
  readonly masterName?: string;
  readonly db: number;
  /** What follows `?`, for the support. */
  readonly query: ReadonlyMap<string, string>;
}

const URL_PARTS =
  /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const PORTS = { standalone: 6379, sentinel: 26_379, cluster: 6379 };

/** @throws SnowflakeError CONFIG_INVALID */
export function parseRedisUrl(url: string): RedisUrl {
  if (/\/\/[^?]*[/@][^?]*@/.test(url)) {
    throw invalidUrl(url, 'a / or @ in its user or password must be written %2F or %40');
  }
  const parts = URL_PARTS.exec(url);
  if (parts === null)
    throw invalidUrl(url, 'it has not the form redis://host:port/db?namespace=name');
  const [, scheme, form = 'standalone', login = '', hostList = '', path = '', query = ''] = parts;
  const kind = form as RedisUrl['kind'];
  const hosts = hostList.split(',').map((text) => parseHost(url, text, PORTS[kind]));
  if (kind === 'standalone' && hosts.length > 1) {
    throw invalidUrl(url, 'it names several hosts; write redis+sentinel:// or redis+cluster://');
  }
  const steps = path.split('/').filter((step) => step !== '');
  const masterName = kind === 'sentinel' ? steps.shift() : undefined;
  if (kind === 'sentinel' && masterName === undefined) {
    throw invalidUrl(url, 'a Sentinel URL names its master: redis+sentinel://host:26379/mymaster');
  }
  const db = Number(steps[0] ?? 0);
  if (steps.length > 1 || !/^\d+$/.test(steps[0] ?? '0') || (kind === 'cluster' && db !== 0)) {
    throw invalidUrl(url, `"/${path}" is not the number of a database`);
  }
  const colon = login.indexOf(':');
  const username = decode(colon < 0 ? login : login.slice(0, colon));
  const password = colon < 0 ? '' : decode(login.slice(colon + 1));
  return {
    kind,
    isTls: scheme === 'rediss',
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    hosts,
    ...(masterName !== undefined && { masterName }),
    db,
    query: new Map(new URLSearchParams(query)),
  };
}

function parseHost(url: string, text: string, portDefault: number): { host: string; port: number } {
  const [, host, port] = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const number = port === undefined ? portDefault : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw invalidUrl(url, `${shown(text)} is not a host or host:port`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function invalidUrl(url: string, fault: string): SnowflakeError {
  const safe = url.replace(/\/\/.*@/, '//***@');
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The support URL ${JSON.stringify(safe)} cannot be used: ${fault}.`,
  );
}
