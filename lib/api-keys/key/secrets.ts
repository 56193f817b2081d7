/**
 * What a pepper or a secret may be.
 *
 * Promise: no character of one is in a message, wherever it was put, and what is kept is a copy
 * that nobody else can change.
 */

/** Its bytes, or a text, of which the UTF-8 bytes are taken as they are. */
export type ApiKeySecret = string | Uint8Array;

/** 32 bytes of 8 bits, or 32 characters of hexadecimal digits, which have 128 bits. */
const LENGTH_MIN = 32;

/** A copy of the bytes, or what is wrong with the secret in words. */
export function readSecret(name: string, secret: unknown): Buffer | string {
  const bytes = bytesOf(secret);
  const hint = 'Make one with openssl rand -hex 32.';
  if (bytes === undefined || bytes.length < LENGTH_MIN) {
    return (
      `Expected \`${name}\` to be a text of at least ${LENGTH_MIN} characters, or as many bytes, ` +
      `got ${kindOf(secret)}. ${hint}`
    );
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return `Expected \`${name}\` to be random, got one character repeated. ${hint}`;
  }
  if (typeof secret === 'string' && secret.trim() !== secret) {
    return (
      `Expected \`${name}\` with no white space at either end (files often end in a newline). ` +
      'With and without it are two secrets. Trim it where it is read.'
    );
  }
  return bytes;
}

/** Undefined for what is neither text nor bytes. */
export function bytesOf(secret: unknown): Buffer | undefined {
  if (typeof secret === 'string') return Buffer.from(secret, 'utf8');
  return secret instanceof Uint8Array ? Buffer.from(secret) : undefined;
}

/** What was given instead, without a character of it. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'string') return `a text of ${value.length} characters, which is not shown`;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return `a value of type ${typeof value}, which is not shown`;
}
