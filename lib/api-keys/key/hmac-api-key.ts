/**
 * `hmacApiKey()`: what others call HmacMD5 or HmacSHA256 of an id.
 *
 * It is here so that keys of another system can go on being used. `ApiKeys` is for new ones.
 */
import { SnowflakeError } from '../../errors.js';
import { shown } from '../../shown.js';
import { hmacOf } from './hmac.js';
import { idOf } from './id-of.js';
import { bytesOf, kindOf, type ApiKeySecret } from './secrets.js';

/** Options of hmacApiKey(). */
export interface HmacApiKeyOptions {
  /** Bytes, or a text, of which the UTF-8 bytes are taken; not empty. */
  readonly secret: ApiKeySecret;
  /** `md5` as in HmacMD5, 32 digits; `sha256` as in HmacSHA256, 64 digits. */
  readonly algorithm: 'md5' | 'sha256';
}

const ALGORITHMS: readonly unknown[] = ['md5', 'sha256'];

/**
 * The HMAC of the decimal text of an id, in lower-case hexadecimal digits: what
 * `Mac.getInstance("HmacMD5")` gives in Java for `String.valueOf(id)`.
 *
 * Such a key does not say whose it is, has no check for typing errors, and cannot be replaced while
 * its id stays. For new keys use `ApiKeys`.
 *
 * @throws SnowflakeError ID_INVALID for what is not an id, CONFIG_INVALID for a secret or an
 * algorithm that cannot be; neither shows the secret.
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
    const got = isShort ? shown(algorithm) : kindOf(algorithm);
    faults.push(`Expected \`algorithm\` to be 'md5' or 'sha256', got ${got}.`);
  }
  if (bytes === undefined || faults.length > 0) {
    throw new SnowflakeError('CONFIG_INVALID', faults.join(' '), { details: { faults } });
  }
  return hmacOf(algorithm, bytes, String(idOf(id))).toString('hex');
}
