/**
 * The URL of a generator: what is meant for it, and the URL of the store without that.
 *
 * Promise: nothing of the URL is shown but the names of its parameters.
 */
import { isDecimalId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';

/** Not by the class URL, which cannot read the several hosts of a sentinel. */
export function splitQuery(
  url: string,
  names: readonly string[],
): { readonly own: URLSearchParams; readonly rest: string } {
  const at = url.indexOf('?');
  if (at < 0) return { own: new URLSearchParams(), rest: url };
  const own: string[] = [];
  const others: string[] = [];
  for (const part of url.slice(at + 1).split('&')) {
    const [name = ''] = part.split('=');
    (names.includes(name) ? own : others).push(part);
  }
  const rest = url.slice(0, at) + (others.length > 0 ? `?${others.join('&')}` : '');
  return { own: new URLSearchParams(own.join('&')), rest };
}

/** @throws SnowflakeError CONFIG_INVALID */
export function wholeNumber(name: string, text: string): bigint {
  if (isDecimalId(text)) return BigInt(text);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`${name}\` in the URL of a generator to be a whole number of at most 19 digits.`,
  );
}
