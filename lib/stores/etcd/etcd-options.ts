/**
 * Checks the options of the support once, and reports all errors together.
 *
 * Guarantee: a message repeats nothing of an endpoint, because it may contain a password by
 * mistake.
 */
import { formatUrl } from '../../messages.js';
import {
  named,
  readOptions,
  refuse,
  whole,
  windowFaults,
  type OptionTable,
} from '../../options.js';
import { schemeOf } from '../../url-schemes.js';
import { StoreUrl } from '../store-url.js';
import type { EtcdTls } from './http-request.js';

export interface EtcdSettings {
  readonly endpoints: readonly URL[];
  readonly namespace: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: EtcdTls | undefined;
  readonly failoverWindowMs: number;
  readonly clockDifferenceMs: number;
  readonly requestTimeoutMs: number;
}

/** The options as passed; their types may be wrong. */
type GivenOptions = Readonly<Partial<Record<keyof EtcdSettings, unknown>>>;

const PORT = '2379';
const NAME = { of: 'characters without slashes or spaces', without: /[/\s\p{C}]/u };
/** A name, an address, or an IPv6 address in brackets, and a port. */
const ENDPOINT = /^https?:\/\/([\p{L}\p{N}._-]+|\[[\da-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?\/?$/iu;

export const ETCD = {
  endpoints: [endpointFaults],
  namespace: [named(NAME), 'default', 'text'],
  username: [wordFaults, undefined],
  password: [wordFaults, undefined],
  tls: [tlsFaults, undefined],
  failoverWindowMs: [windowFaults, 0, 'number'],
  clockDifferenceMs: [windowFaults, 1000, 'number'],
  requestTimeoutMs: [whole(10, 60_000), 1000, 'number'],
} satisfies OptionTable<GivenOptions>;

/** @throws SnowflakeError CONFIG_INVALID */
export function settingsOf(options: unknown): EtcdSettings {
  const given = (typeof options === 'object' && options !== null ? options : {}) as GivenOptions;
  const { terms, faults } = readOptions(given, ETCD, 'A store in etcd');
  const { endpoints, username, password, tls } = terms;
  if ((username === undefined) !== (password === undefined)) {
    faults.push('Expected `username` and `password` together, or neither of them.');
  }
  const isPlain = (text: unknown) => /^http:/i.test(String(text));
  if (tls !== undefined && Array.isArray(endpoints) && endpoints.some(isPlain)) {
    faults.push('`tls` is given, and `endpoints` are http: write https.');
  }
  refuse(faults, 'The etcd support is misconfigured. ');
  return { ...terms, endpoints: (endpoints as string[]).map(endpointUrl) } as EtcdSettings;
}

function endpointUrl(text: string): URL {
  const url = new URL(text);
  // A URL does not show the default port of HTTP, so it looks like a missing port.
  if (!/:\d+\/?$/.test(text)) url.port = PORT;
  return url;
}

function endpointFaults(_: string, endpoints: unknown): string[] {
  const example = `['https://etcd-0:2379', 'https://etcd-1:2379']`;
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    return [`Expected \`endpoints\` to be a list of addresses, e.g. ${example}.`];
  }
  const faults = endpoints.flatMap((endpoint: unknown, at) => endpointFault(endpoint, at + 1));
  const schemes = new Set(endpoints.map((text) => String(text).split(':')[0]!.toLowerCase()));
  if (faults.length > 0 || schemes.size === 1) return faults;
  return ['Expected `endpoints` to be all http or all https: plain text reveals the password.'];
}

function endpointFault(endpoint: unknown, number: number): string[] {
  const expected = `Expected number ${number} of \`endpoints\` to be written as https://host:2379`;
  if (typeof endpoint !== 'string') return [`${expected}, got ${typeof endpoint}.`];
  const [isWhole, , digits = PORT] = ENDPOINT.exec(endpoint) ?? [];
  if (isWhole === undefined) return [`${expected}; it was ${formatUrl(endpoint)}.`];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? [] : [`${expected}: ${port} is not a port.`];
}

function wordFaults(name: string, value: unknown): string[] {
  if (typeof value === 'string' && value !== '') return [];
  return [`Expected \`${name}\` to be a text that is not empty.`];
}

function tlsFaults(_: string, tls: unknown): string[] {
  if (typeof tls !== 'object' || tls === null) {
    return [`Expected \`tls\` to be { ca, cert, key, servername }, got ${typeof tls}.`];
  }
  const faults = Object.entries(tls).flatMap(([name, value]) => {
    if (!(TLS_NAMES as string[]).includes(name))
      return ['`tls` takes ca, cert, key and servername only.'];
    if (value === undefined || isPem(value, name === 'servername')) return [];
    return [`Expected \`tls.${name}\` to be a text or a Buffer that is not empty.`];
  });
  if ('cert' in tls !== 'key' in tls) {
    faults.push('Expected `tls.cert` and `tls.key` together, or neither of them.');
  }
  return faults;
}

function isPem(value: unknown, isTextOnly: boolean): boolean {
  if (typeof value === 'string') return value !== '';
  return !isTextOnly && ArrayBuffer.isView(value) && value.byteLength > 0;
}

/*
 * The etcd cluster of a URL.
 *
 *     etcd://user:password@a:2379,b:2379,c:2379?namespace=shop         etcds:// for TLS
 *     etcds://a,b,c?namespace=shop&ca=/etc/etcd/ca.pem&cert=client.pem&key=client-key.pem
 */

const FORM = { kind: 'etcd', example: 'etcd://host:2379,host:2379?namespace=name' } as const;
const OF_TLS = [
  ['ca', 'file'],
  ['cert', 'file'],
  ['key', 'file'],
  ['servername', 'text'],
] as const;
const TLS_NAMES = OF_TLS.map(([name]) => name);
/** Likely mistakes that are not secret; a message names only these. */
const COMMON_STRANGERS = 'name ns prefix user username password ssl tls cacert cafile timeout ttl';

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function optionsOfUrl(text: string): GivenOptions {
  const url = new StoreUrl(text, { ...FORM, port: Number(PORT) });
  const isTls = schemeOf(text) === 'etcds';
  if (url.path !== '') url.fault('a path follows its hosts: leave it out');
  const options = url.options<GivenOptions>(ETCD, COMMON_STRANGERS, TLS_NAMES);
  for (const name of isTls ? [] : TLS_NAMES) {
    if (url.text(name) !== undefined) url.fault(`its ${name} is for TLS: write etcds://`);
  }
  url.refuse();
  const tls = url.read(OF_TLS);
  url.refuse();
  return {
    endpoints: url.hosts.map(({ host, port }) => {
      return `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    }),
    ...url.login,
    ...options,
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}
