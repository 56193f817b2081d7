/**
 * The options of the support, checked once, all faults at once.
 *
 * Promise: nothing of an endpoint is repeated in a message: a password may stand in it by mistake.
 */
import { SnowflakeError } from '../../../errors.js';
import { windowFaults } from '../../../registry/loss-window.js';
import { unknownNames } from '../../../option-faults.js';
import { shown, shownUrl } from '../../../shown.js';
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

/** As they were given, whoever checked their types. */
export type GivenOptions = Readonly<Partial<Record<keyof EtcdSettings, unknown>>>;

const NAMES: readonly (keyof EtcdSettings)[] = [
  'endpoints',
  'namespace',
  'username',
  'password',
  'tls',
  'failoverWindowMs',
  'clockDifferenceMs',
  'requestTimeoutMs',
];
const TLS_NAMES: readonly string[] = ['ca', 'cert', 'key', 'servername'];
const PORT = '2379';
const REQUEST_MS_MIN = 10;
const REQUEST_MS_MAX = 60_000;
const NAME = /^[^/\s\p{C}]{1,128}$/u;
/** A name, an address, or an IPv6 address in brackets, and a port. */
const ENDPOINT = /^https?:\/\/([\p{L}\p{N}._-]+|\[[\da-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?\/?$/iu;

/** @throws SnowflakeError CONFIG_INVALID */
export function settingsOf(options: unknown): EtcdSettings {
  const given = (typeof options === 'object' && options !== null ? options : {}) as GivenOptions;
  const { namespace = 'default', username, password, tls } = given;
  const { failoverWindowMs = 0, clockDifferenceMs = 1000, requestTimeoutMs = 1000 } = given;
  const faults = [
    ...unknownNames(given, NAMES.join(', '), 'A store in etcd'),
    ...endpointFaults(given.endpoints),
    ...nameFaults(namespace),
    ...loginFaults(username, password),
    ...tlsFaults(tls, given.endpoints),
    ...windowFaults('failoverWindowMs', failoverWindowMs),
    ...windowFaults('clockDifferenceMs', clockDifferenceMs),
    ...timeoutFaults(requestTimeoutMs),
  ];
  if (faults.length > 0) {
    const message = `The etcd support is misconfigured. ${faults.join(' ')}`;
    throw new SnowflakeError('CONFIG_INVALID', message, { details: { faults } });
  }
  const endpoints = (given.endpoints as string[]).map(endpointUrl);
  const checked = { namespace, username, password, tls, failoverWindowMs, requestTimeoutMs };
  return { endpoints, clockDifferenceMs, ...checked } as EtcdSettings;
}

function endpointUrl(text: string): URL {
  const url = new URL(text);
  // The port of HTTP itself is not shown by a URL, nor told from none.
  if (!/:\d+\/?$/.test(text)) url.port = PORT;
  return url;
}

function endpointFaults(endpoints: unknown): string[] {
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
  if (isWhole === undefined) return [`${expected}; it was ${shownUrl(endpoint)}.`];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? [] : [`${expected}: ${port} is not a port.`];
}

function nameFaults(namespace: unknown): string[] {
  if (typeof namespace === 'string' && NAME.test(namespace)) return [];
  const expected = 'Expected `namespace` to be 1 to 128 characters without slashes or spaces';
  const got = typeof namespace === 'string' ? String(namespace.length) : typeof namespace;
  return [`${expected}, got ${got}.`];
}

function loginFaults(username: unknown, password: unknown): string[] {
  const faults = [];
  for (const [name, value] of Object.entries({ username, password })) {
    if (value === undefined || (typeof value === 'string' && value !== '')) continue;
    faults.push(`Expected \`${name}\` to be a text that is not empty.`);
  }
  if ((username === undefined) !== (password === undefined)) {
    faults.push('Expected `username` and `password` together, or neither of them.');
  }
  return faults;
}

function tlsFaults(tls: unknown, endpoints: unknown): string[] {
  if (tls === undefined) return [];
  if (typeof tls !== 'object' || tls === null) {
    return [`Expected \`tls\` to be { ca, cert, key, servername }, got ${typeof tls}.`];
  }
  const faults = Object.entries(tls).flatMap(([name, value]) => {
    if (!TLS_NAMES.includes(name)) return ['`tls` takes ca, cert, key and servername only.'];
    if (value === undefined || isPem(value, name === 'servername')) return [];
    return [`Expected \`tls.${name}\` to be a text or a Buffer that is not empty.`];
  });
  if ('cert' in tls !== 'key' in tls) {
    faults.push('Expected `tls.cert` and `tls.key` together, or neither of them.');
  }
  if (Array.isArray(endpoints) && endpoints.some((text) => /^http:/i.test(String(text)))) {
    faults.push('`tls` is given, and `endpoints` are http: write https.');
  }
  return faults;
}

function isPem(value: unknown, isTextOnly: boolean): boolean {
  if (typeof value === 'string') return value !== '';
  return !isTextOnly && ArrayBuffer.isView(value) && value.byteLength > 0;
}

function timeoutFaults(ms: unknown): string[] {
  const isWhole = typeof ms === 'number' && Number.isInteger(ms);
  if (isWhole && ms >= REQUEST_MS_MIN && ms <= REQUEST_MS_MAX) return [];
  const range = `from ${REQUEST_MS_MIN} to ${REQUEST_MS_MAX}`;
  return [`Expected \`requestTimeoutMs\` to be an integer ${range}, got ${shown(ms)}.`];
}
