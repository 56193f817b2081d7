/**
 * segments({...}) from a URL: the store's own, with what is asked of segments in its query.
 *
 *     postgres://app@db/shop?counter=order&startAt=1&stepMax=100000
 *
 * Promise: nothing of the URL is shown but the names of its parameters.
 */
import { SnowflakeError } from '../../errors.js';
import type { GeneratorKind } from '../../generator-kind.js';
import type { CounterStore } from '../counter-store.js';
import { segments } from './segments.js';

/** Those of segments; all others are the store's. */
const NUMBERS = ['startAt', 'lastsMs', 'stepMin', 'stepMax', 'skip'];

/**
 * @param url without `segments+`
 * @param open makes the store that the rest of the URL names
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function segmentsFromUrl(
  url: string,
  open: (url: string) => Promise<CounterStore>,
): Promise<GeneratorKind> {
  const { own, rest } = split(url);
  const counter = own.get('counter') ?? '';
  const given = NUMBERS.filter((name) => own.has(name)).map((name) => {
    return [name, wholeOf(name, own.get(name)!)] as const;
  });
  const store = await open(rest);
  return segments({ store, counter, ...Object.fromEntries(given) });
}

/** Not by the class URL, which cannot read the several hosts of a sentinel. */
function split(url: string): { readonly own: URLSearchParams; readonly rest: string } {
  const at = url.indexOf('?');
  if (at < 0) return { own: new URLSearchParams(), rest: url };
  const own: string[] = [];
  const others: string[] = [];
  for (const part of url.slice(at + 1).split('&')) {
    const [name = ''] = part.split('=');
    (name === 'counter' || NUMBERS.includes(name) ? own : others).push(part);
  }
  const rest = url.slice(0, at) + (others.length > 0 ? `?${others.join('&')}` : '');
  return { own: new URLSearchParams(own.join('&')), rest };
}

function wholeOf(name: string, text: string): bigint | number {
  const isBig = name === 'startAt' || name === 'skip';
  if (/^\d{1,19}$/.test(text)) return isBig ? BigInt(text) : Number(text);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`${name}\` in the URL of segments to be a whole number of at most 19 digits.`,
  );
}
