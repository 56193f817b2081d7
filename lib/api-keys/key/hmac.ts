/**
 * HMAC in one place, so that the vectors of RFC 2202 and RFC 4231 are about every use of it:
 * hashes with a pepper, derived keys, and keys of other systems.
 */
import { createHmac } from 'node:crypto';

export function hmacOf(algorithm: 'md5' | 'sha256', secret: Uint8Array, message: string): Buffer {
  return createHmac(algorithm, secret).update(message).digest();
}
