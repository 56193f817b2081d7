/**
 * `publicIds()`: ids that strangers see, such as `ord_` and eleven characters, which show neither
 * how many there are nor which came first.
 *
 * Promise: options that cannot work are refused at once, with every fault, and no message shows a
 * key, wherever it was put. Who may see what an id names is not decided here.
 */
import { SnowflakeError } from '../../errors.js';
import { unknownNames } from '../../option-faults.js';
import { shownShort } from '../../shown.js';
import { OpaqueForm, type PublicIds } from './opaque-form.js';
import { cipherOf, readKey, type PublicIdKey } from './public-id-key.js';

/** Options of publicIds(). */
export interface PublicIdsOptions<Prefix extends string = string> {
  /**
   * What the texts begin with, before an underscore: a lower-case letter, then up to 15 more
   * lower-case letters or digits. One prefix for each kind of thing.
   */
  readonly prefix: Prefix;
  /** The key, for ever: another one reads other ids out of the texts that are in use. */
  readonly key?: PublicIdKey | undefined;
  /** Later keys, each under a letter from a to z, which its texts have after the underscore. */
  readonly keys?: Readonly<Record<string, PublicIdKey>> | undefined;
  /** The letter of the key to write with; texts of all keys are read. Default: `key`. */
  readonly writeKey?: string | undefined;
}

const PREFIX = /^[a-z][a-z0-9]{0,15}$/;
const PREFIX_LENGTH_MAX = 16;
const LETTER = /^[a-z]$/;

/**
 * The form of the public ids of one kind of thing. It takes one secret for all kinds, since each
 * prefix has a key of its own, derived from it. Public ids hide how many there are and which came
 * first; they are no authentication and give no permission.
 *
 * @throws SnowflakeError CONFIG_INVALID with every fault: a prefix, key or letter that cannot be.
 * @example
 * ```ts
 * import { publicIds, type PublicId } from 'nestjs-snowflake';
 *
 * const key = process.env['PUBLIC_ID_KEY']; // of openssl rand -hex 16
 * const orderIds = publicIds({ prefix: 'ord', key });
 * const customerIds = publicIds({ prefix: 'cus', key });
 *
 * const text: PublicId<'ord'> = orderIds.encode(382366441078288384n); // ord_ and 11 characters
 * orderIds.decode(text); // 382366441078288384n
 * orderIds.tryDecode('ord_of a client'); // undefined
 * //@ts-expect-error a customer is no order
 * orderIds.decode(customerIds.encode(382366441078288384n));
 * ```
 */
export function publicIds<const Prefix extends string>(
  options: PublicIdsOptions<Prefix>,
): PublicIds<Prefix> {
  const { prefix, key, keys = {}, writeKey = '' } = options;
  const named: [letter: string, key: unknown][] = Object.entries(keys);
  if (key !== undefined || writeKey === '') named.unshift(['', key]);
  const read = named.map(([letter, one]) => [letter, readKey(nameOf(letter), one)] as const);
  const faults = [
    ...unknownNames(options, 'prefix, key, keys, writeKey', 'publicIds()'),
    prefixFault(prefix),
    ...Object.keys(keys).map(letterFault),
    ...read.map(([, bytes]) => (typeof bytes === 'string' ? bytes : undefined)),
    writeKeyFault(writeKey, Object.keys(keys)),
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0) {
    const details = { faults };
    throw new SnowflakeError('CONFIG_INVALID', faults.join(' '), { details });
  }
  const ciphers = read.map(([letter, bytes]) => {
    return [letter, cipherOf(bytes as Uint8Array, prefix)] as const;
  });
  return new OpaqueForm(prefix, new Map(ciphers), writeKey);
}

/** The name of a key cannot be shown unless it is a letter: it may be a key in the wrong place. */
function nameOf(letter: string): string {
  if (letter === '') return 'key';
  return LETTER.test(letter) ? `keys.${letter}` : 'keys';
}

function prefixFault(prefix: unknown): string | undefined {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return undefined;
  const isShort = typeof prefix !== 'string' || prefix.length <= PREFIX_LENGTH_MAX;
  const got = isShort ? shownShort(prefix) : 'a longer text, which is not shown';
  return (
    'Expected `prefix` to be a lower-case letter and up to 15 more lower-case letters or digits, ' +
    `got ${got}. The underscore is added.`
  );
}

function letterFault(letter: string): string | undefined {
  if (LETTER.test(letter)) return undefined;
  return (
    'Expected every name in `keys` to be one letter from a to z, got a name of ' +
    `${letter.length} characters.`
  );
}

function writeKeyFault(writeKey: unknown, letters: readonly string[]): string | undefined {
  if (writeKey === '' || letters.includes(writeKey as string)) return undefined;
  return 'Expected `writeKey` to be one of the letters in `keys`.';
}
