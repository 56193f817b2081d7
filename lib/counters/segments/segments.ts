/**
 * segments({...}): dense numbers of a counter, as a value of the option `generator`. The keeper
 * does the work; this is its face for the module.
 */
import { isDecimalId } from '../../core/text/decimal.js';
import { SnowflakeError } from '../../errors.js';
import type { GeneratorKind } from '../../generator.js';
import type { CounterStore } from '../counter-store.js';
import { SegmentKeeper } from './segment-keeper.js';
import { segmentTerms, type SegmentOptions } from './segment-options.js';

/**
 * Ids that are the dense numbers of a counter, 1, 2, 3 and so on, taken from a store in segments:
 * behind the same IdMaker, at a fraction of the cost of a snowflake id. They rise within a process;
 * between processes segment by segment. A number is lost now and then and never given twice.
 *
 * The options are checked when the application starts, with its other options.
 *
 * @example
 * ```ts
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { redisCounters } from 'nestjs-snowflake/redis';
 * import { segments } from 'nestjs-snowflake/segments';
 *
 * const imports = [
 *   SnowflakeModule.forRoot({
 *     generator: segments({
 *       store: redisCounters({ redis: 'redis://localhost:6379', namespace: 'shop' }),
 *       counter: 'order',
 *     }),
 *   }),
 * ];
 * ```
 */
export function segments(options: SegmentOptions): GeneratorKind {
  return {
    kind: 'segments',
    open: (environment) => new SegmentKeeper(segmentTerms(options), environment),
  };
}

/*
 * Makes segments from a URL: that of the store, with the options of segments in its query.
 *
 * postgres://app@db/shop?counter=order&startAt=1&stepMax=100000
 *
 * Guarantee: no part of the URL is printed but the names of its parameters.
 */

/** Parameters of segments; all others belong to the store. */
const NUMBERS = ['startAt', 'lastsMs', 'stepMin', 'stepMax', 'lossGap'];

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
    return [name, name === 'startAt' || name === 'lossGap' ? whole : Number(whole)] as const;
  });
  const store = await open(rest);
  return segments({ store, counter, ...Object.fromEntries(given) });
}

/*
 * Splits the URL of a generator into its own parameters and the URL of the store.
 *
 * Guarantee: no part of the URL is printed but the names of its parameters.
 */

/** The class URL is of no use, since it cannot read the several hosts of a sentinel. */
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
