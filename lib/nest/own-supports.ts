/**
 * The option `supports`: URL schemes of the application, each with a function that turns a URL into
 * a support.
 *
 * Promise: no scheme of this package is replaced. If a function throws, or does not return a
 * support, that is reported with the other faults and never repeats the URL.
 */
import { SnowflakeError, isSnowflakeError, shown } from '../errors.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';

/** Turns a URL into a support. What it opens is closed by the support's `close()`. */
export type SupportFromUrl = (url: string) => IDistributedSupport | Promise<IDistributedSupport>;

/** A Map, since an object would also have the names it inherits. */
export type OwnSupports = ReadonlyMap<string, SupportFromUrl>;

/** As in RFC 3986, in lower case. */
const SCHEME = /^[a-z][a-z0-9+.-]*$/;
const OURS = /^(static|rediss?(\+sentinel|\+cluster)?)$/;

/** @param faults takes one for each entry that cannot be used */
export function ownSupports(given: unknown, faults: string[]): OwnSupports {
  if (given === undefined) return new Map();
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    faults.push(
      `Expected \`supports\` to be an object of functions by URL scheme, got ${shown(given)}.`,
    );
    return new Map();
  }
  const entries = Object.entries(given as Record<string, unknown>);
  const found = entries.map(([scheme, make]) => faultOf(scheme, make));
  faults.push(...found.filter((fault) => fault !== undefined));
  return new Map(entries.filter((_, at) => found[at] === undefined) as [string, SupportFromUrl][]);
}

function faultOf(scheme: string, make: unknown): string | undefined {
  if (!SCHEME.test(scheme)) {
    return (
      `Expected each name in \`supports\` to be a URL scheme without its colon (lower-case ` +
      `letters, digits, +, - and ., a letter first), got ${shown(scheme)}.`
    );
  }
  if (OURS.test(scheme)) {
    return `The scheme \`${scheme}\` in \`supports\` is one of this package; choose another name.`;
  }
  if (typeof make === 'function') return undefined;
  return `Expected \`supports.${scheme}\` to be a function of a URL, got ${shown(make)}.`;
}

/** The support that the application makes of a URL; undefined for a scheme it does not name. */
export async function fromOwnScheme(
  url: string,
  own: OwnSupports,
): Promise<IDistributedSupport | undefined> {
  const scheme = /^([^:]*):/.exec(url)?.[1]?.toLowerCase() ?? '';
  const make = own.get(scheme);
  if (make === undefined) return undefined;
  const support: unknown = await made(scheme, url, make);
  if (isSupport(support)) return support;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`supports.${scheme}\` to return an object with getNextWorkId and refreshAlive, ` +
      `got ${typeof support}.`,
  );
}

async function made(scheme: string, url: string, make: SupportFromUrl): Promise<unknown> {
  try {
    return await make(url);
  } catch (error) {
    if (isSnowflakeError(error)) throw error;
    const said = error instanceof Error ? error.message : String(error);
    const safe = secretsOf(url).reduce((text, secret) => text.replaceAll(secret, '***'), said);
    throw new SnowflakeError('CONFIG_INVALID', `\`supports.${scheme}\` failed: ${safe}`);
  }
}

/** What an error may repeat and a log must not: the URL, and the password in it. */
function secretsOf(url: string): string[] {
  const password = URL.canParse(url) ? new URL(url).password : '';
  return [url, password].filter((secret) => secret !== '');
}

export function isSupport(value: unknown): value is IDistributedSupport {
  const candidate = value as Partial<IDistributedSupport> | null | undefined;
  return (
    typeof candidate === 'object' &&
    typeof candidate?.getNextWorkId === 'function' &&
    typeof candidate.refreshAlive === 'function'
  );
}
