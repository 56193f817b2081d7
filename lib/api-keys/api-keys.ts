/**
 * `ApiKeys` creates and verifies API keys for IDs. It does not track revoked keys.
 *
 * Guarantee: no wrong key passes as valid. Comparisons use equal lengths and constant time. JSON,
 * inspection and messages never show a secret.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isDecimalId, isId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';
import { format } from '../messages.js';
import { refused } from '../options.js';
import {
  bytesOf,
  kindOf,
  resolveKeyOptions,
  type ApiKeySecret,
  type ApiKeysOptions,
} from './key-options.js';
import { base62Of, hmacOf, KeyText, SECRET_BYTES, type ParsedApiKey } from './key-text.js';

/** A new key. Show `key` once, and store `keyId` and `hash`. */
export interface IssuedApiKey {
  /** The secret, which gives access to every caller that has it. */
  readonly key: string;
  /** The ID that the key belongs to, as a decimal string: the primary key of its row. */
  readonly keyId: string;
  /** 64 hexadecimal digits, which do not reveal the key. */
  readonly hash: string;
}

const HASH = /^[0-9a-f]{64}$/i;

/**
 * API keys of one prefix.
 *
 * A key consists of the prefix, its ID, 256 random bits, and a check for typing errors. You read
 * the ID without a query and look up the row by its primary key. Keys can also be derived from the
 * ID and a secret. You then store nothing, but the secret gives access to every key.
 *
 * @throws SnowflakeError CONFIG_INVALID with every error. No message shows a secret.
 * @example
 * ```ts
 * import { ApiKeys } from 'nestjs-snowflake/api-keys';
 *
 * const keys = new ApiKeys({ prefix: 'shop_live', pepper: process.env['API_KEY_PEPPER'] });
 *
 * const { key, keyId, hash } = keys.issue(382366441078288384n); // show key once, store the others
 * keys.parse(key)?.keyId; // '382366441078288384'
 * keys.verify(key, hash); // true
 * ```
 */
export class ApiKeys {
  readonly #text: KeyText;
  readonly #pepper: Buffer | undefined;
  readonly #secrets: ReadonlyMap<string, Buffer>;
  readonly #deriveWith: string | undefined;
  /** Takes the place of a missing stored hash, so that both cases do the same work. */
  readonly #nobodys = randomBytes(SECRET_BYTES).toString('hex');

  constructor(options: ApiKeysOptions) {
    const resolved = resolveKeyOptions(options);
    this.#text = new KeyText(resolved.prefix, [...resolved.secrets.keys()]);
    this.#pepper = resolved.pepper;
    this.#secrets = resolved.secrets;
    this.#deriveWith = resolved.deriveWith;
  }

  /**
   * Creates a key for an ID with a random secret. A second call for the same ID gives another key.
   * @throws SnowflakeError ID_INVALID for anything but an ID
   */
  issue(id: bigint | string): IssuedApiKey {
    const known = idOf(id);
    const secret = base62Of(randomBytes(SECRET_BYTES));
    const key = this.#text.write(this.#text.headOf(known), secret);
    return { key, keyId: String(known), hash: this.#hashOf(key).toString('hex') };
  }

  /**
   * Parses a key. Returns undefined for a string that is not a key with this prefix: cut off,
   * mistyped, or with an unknown secret name. This is not a check, because such keys are easy to
   * forge.
   */
  parse(key: string): ParsedApiKey | undefined {
    return this.#text.read(key);
  }

  /**
   * True if an issued key matches the stored hash. If there is no row, pass undefined: the result
   * is false, after the same work.
   * @throws SnowflakeError ARGUMENT_INVALID for a hash that does not come from `issue`, because
   * then the table is wrong and not the key
   */
  verify(key: string, hash: string | null | undefined): boolean {
    const stored = storedHash(hash ?? this.#nobodys);
    const parsed = this.parse(key);
    if (parsed === undefined || parsed.secretName !== undefined) return false;
    const isEqual = timingSafeEqual(this.#hashOf(key), stored);
    return isEqual && typeof hash === 'string';
  }

  /**
   * Derives the key of an ID with `deriveWith`. The same ID always gives the same key.
   * @throws SnowflakeError ID_INVALID for anything but an ID, CONFIG_INVALID without `secrets`
   */
  derive(id: bigint | string): string {
    const name = this.#deriveWith;
    if (name === undefined) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        'Derived keys need a secret, and there are no `secrets`. Nothing was derived. Give new ' +
          'ApiKeys({ secrets: { a: ... } }), or use issue().',
      );
    }
    const head = this.#text.headOf(idOf(id), name);
    return this.#text.write(head, this.#derivedSecret(name, head));
  }

  /** True if a key was derived with one of the `secrets`, at the cost of one HMAC. */
  verifyDerived(key: string): boolean {
    const name = this.parse(key)?.secretName;
    if (name === undefined) return false;
    const expected = this.#derivedSecret(name, this.#text.headIn(key));
    return timingSafeEqual(asBytes(this.#text.secretIn(key)), asBytes(expected));
  }

  /** Hashes the whole key, so that a hash matches no other ID and no other prefix. */
  #hashOf(key: string): Buffer {
    if (this.#pepper !== undefined) return hmacOf('sha256', this.#pepper, key);
    return createHash('sha256').update(key).digest();
  }

  #derivedSecret(name: string, head: string): string {
    return base62Of(hmacOf('sha256', this.#secrets.get(name)!, head));
  }
}

function storedHash(hash: unknown): Buffer {
  if (typeof hash === 'string' && HASH.test(hash)) return Buffer.from(hash, 'hex');
  throw new SnowflakeError(
    'ARGUMENT_INVALID',
    'Expected the stored hash of an API key, which has 64 hexadecimal digits, got ' +
      `${kindOf(hash)}. Nobody was let in. Store the \`hash\` of issue() as it is, in a column ` +
      'of 64 characters, and give undefined where there is no row.',
  );
}

/** A base 62 string has one byte per character, so equal string lengths are equal byte lengths. */
const asBytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/*
 * `hmacApiKey()` keeps another system's keys valid: HmacMD5 or HmacSHA256 of an ID. Use `ApiKeys`
 * for new keys.
 */

/** Options of hmacApiKey(). */
export interface HmacApiKeyOptions {
  /** Bytes, or a string that is encoded as UTF-8; not empty. */
  readonly secret: ApiKeySecret;
  /** `md5` is HmacMD5, 32 digits; `sha256` is HmacSHA256, 64 digits. */
  readonly algorithm: 'md5' | 'sha256';
}

const ALGORITHMS: readonly unknown[] = ['md5', 'sha256'];

/**
 * The HMAC of an ID's decimal string, in lower-case hexadecimal digits. The result equals that of
 * `Mac.getInstance("HmacMD5")` in Java for `String.valueOf(id)`.
 *
 * Such a key does not contain its ID and has no check for typing errors. You cannot replace it
 * without changing the ID. For new keys, use `ApiKeys`.
 *
 * @throws SnowflakeError ID_INVALID for anything but an ID, CONFIG_INVALID for an invalid secret or
 * algorithm; neither message shows the secret.
 * @example
 * ```ts
 * import { hmacApiKey } from 'nestjs-snowflake/api-keys';
 *
 * const secret = process.env['API_KEY_SECRET'] ?? '';
 * hmacApiKey(382366441078288384n, { secret, algorithm: 'md5' }); // 32 hexadecimal digits
 * ```
 */
export function hmacApiKey(id: bigint | string, options: HmacApiKeyOptions): string {
  const { secret, algorithm } = options;
  const bytes = bytesOf(secret);
  const faults: string[] = [];
  if (bytes === undefined || bytes.length === 0) {
    faults.push(`Expected \`secret\` to be a text or bytes, not empty, got ${kindOf(secret)}.`);
  }
  if (!ALGORITHMS.includes(algorithm)) {
    const isShort = String(algorithm).length <= 10;
    const got = isShort ? format(algorithm) : kindOf(algorithm);
    faults.push(`Expected \`algorithm\` to be 'md5' or 'sha256', got ${got}.`);
  }
  if (bytes === undefined || faults.length > 0) throw refused(faults);
  return hmacOf(algorithm, bytes, String(idOf(id))).toString('hex');
}

/*
 * The ID of a key: a bigint, or the decimal string that entities hold.
 *
 * Guarantee: the error for any other value does not show it, because it may be a misplaced secret.
 */

/** @throws SnowflakeError ID_INVALID */
function idOf(id: bigint | string): bigint {
  if (isId(id)) return id;
  if (typeof id === 'string' && isDecimalId(id)) return BigInt(id);
  throw new SnowflakeError(
    'ID_INVALID',
    'Expected the id of an API key as bigint or decimal text, from 0 to 2^63 - 1, got ' +
      `${kindOf(id)}. Give it an id of nextId(), or the text of one.`,
  );
}
