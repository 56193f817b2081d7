/**
 * segments({...}) from a URL: the store's own, with what is asked of segments in its query.
 *
 *     postgres://app@db/shop?counter=order&startAt=1&stepMax=100000
 *
 * Promise: nothing of the URL is shown but the names of its parameters.
 */
import type { GeneratorKind } from '../../generator-kind.js';
import type { CounterStore } from '../counter-store.js';
import { splitQuery, wholeNumber } from '../url-query.js';
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
  const { own, rest } = splitQuery(url, ['counter', ...NUMBERS]);
  const counter = own.get('counter') ?? '';
  const given = NUMBERS.filter((name) => own.has(name)).map((name) => {
    const whole = wholeNumber(name, own.get(name)!);
    return [name, name === 'startAt' || name === 'skip' ? whole : Number(whole)] as const;
  });
  const store = await open(rest);
  return segments({ store, counter, ...Object.fromEntries(given) });
}
