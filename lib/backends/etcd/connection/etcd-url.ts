/**
 * The etcd a URL names.
 *
 *     etcd://user:password@a:2379,b:2379,c:2379?namespace=shop         etcds:// for TLS
 *     etcds://a,b,c?namespace=shop&ca=/etc/etcd/ca.pem&cert=client.pem&key=client-key.pem
 *
 * Promise: a URL that cannot be meant so is refused with all its faults. Nothing of it is repeated.
 */
import { readFileSync } from 'node:fs';
import { SnowflakeError } from '../../../errors.js';
import { parameterFault } from '../../../option-faults.js';
import { shownUrl } from '../../../shown.js';
import { digitsOf, kindOf, schemeOf } from '../../../url-schemes.js';
import type { GivenOptions } from './etcd-settings.js';

const URL_PARTS = /^[^:]+:\/\/(?:([^@/]*)@)?([^@/?#]*)\/?(?:\?([^#]*))?$/;
const HOST = /^([\p{L}\p{N}._-]+|\[[\da-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?$/iu;
const NUMBERS = ['failoverWindowMs', 'clockDifferenceMs', 'requestTimeoutMs'];
const FILES = ['ca', 'cert', 'key'];
const KNOWN = ['namespace', ...NUMBERS, ...FILES, 'servername'];
/** Asked for by mistake, and no secret themselves: only these are named in a message. */
const COMMON_STRANGERS = 'name ns prefix user username password ssl tls cacert cafile timeout ttl';

/** @throws SnowflakeError CONFIG_INVALID */
export function optionsOfUrl(url: string): GivenOptions {
  if (/[\s\p{C}]/u.test(url)) {
    throw invalidUrl(url, [
      'it contains a space, a line break or another invisible character: take it out',
    ]);
  }
  if (/\/\/[^?]*[/@][^?]*@/.test(url)) {
    throw invalidUrl(url, ['a / or @ in its user or password must be written %2F or %40']);
  }
  const parts = URL_PARTS.exec(url);
  if (parts === null || kindOf(url) !== 'etcd') {
    throw invalidUrl(url, ['it does not have the form etcd://host:2379,host:2379?namespace=name']);
  }
  const [, login = '', hosts = '', queryText = ''] = parts;
  const isTls = schemeOf(url) === 'etcds';
  const pairs = [...new URLSearchParams(queryText)];
  const query = new Map(pairs);
  const faults = [
    ...hostFaults(hosts),
    ...(query.size < pairs.length ? ['it gives one of its parameters twice'] : []),
    ...queryFaults(query, isTls),
  ];
  const [files, fileFaults] = faults.length > 0 ? [{}, []] : readFiles(query);
  const all = [...faults, ...fileFaults];
  if (all.length > 0) throw invalidUrl(url, all);
  const servername = query.get('servername');
  const tls = { ...files, ...(servername !== undefined && { servername }) };
  return {
    endpoints: hosts.split(',').map((host) => `${isTls ? 'https' : 'http'}://${host}`),
    ...loginOf(login),
    ...(query.has('namespace') && { namespace: query.get('namespace') }),
    ...Object.fromEntries(numbersIn(query)),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}

function hostFaults(hosts: string): string[] {
  return hosts.split(',').flatMap((text, at) => {
    const [isWhole, , digits = '2379'] = HOST.exec(text) ?? [];
    if (isWhole === undefined) {
      return [`its host number ${at + 1} is not written as host or host:port`];
    }
    const port = Number(digits);
    return port >= 1 && port <= 65_535 ? [] : [`${port} is not a port from 1 to 65535`];
  });
}

function queryFaults(query: ReadonlyMap<string, string>, isTls: boolean): string[] {
  return [...query].flatMap((given, at) => {
    const [name] = given;
    const fault = parameterFault([at, given], KNOWN, COMMON_STRANGERS);
    if (fault !== undefined) return [fault];
    const isOfTls = name === 'servername' || FILES.includes(name);
    return isOfTls && !isTls ? [`its ${name} is for TLS: write etcds://`] : [];
  });
}

/** What cannot be read is named by its parameter: a path that is none may be a secret. */
function readFiles(query: ReadonlyMap<string, string>): [Record<string, string>, string[]] {
  const files: Record<string, string> = {};
  const faults: string[] = [];
  for (const name of FILES) {
    const path = query.get(name);
    if (path === undefined) continue;
    try {
      files[name] = readFileSync(path, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      faults.push(`the file that its ${name} names cannot be read (${code ?? 'no reason given'})`);
    }
  }
  return [files, faults];
}

function loginOf(login: string): GivenOptions {
  const colon = login.indexOf(':');
  const username = decode(colon < 0 ? login : login.slice(0, colon));
  const password = colon < 0 ? '' : decode(login.slice(colon + 1));
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

/** Whether they may be used is for the options to say. */
function numbersIn(query: ReadonlyMap<string, string>): [string, number][] {
  return NUMBERS.flatMap((name) => {
    const text = query.get(name);
    return text === undefined ? [] : [[name, digitsOf(text)] as const];
  }) as [string, number][];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalidUrl(url: string, faults: readonly string[]): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The support URL cannot be used: ${faults.join('; ')}. It was ${shownUrl(url)}.`,
  );
}
