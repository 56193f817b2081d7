/**
 * Checks the options of `ApiKeys` and reports every error at once.
 *
 * Guarantee: no message shows a pepper or a secret, even if it was passed in place of a name.
 */
import { formatShort } from '../messages.js';
import { refuse, unknownNames } from '../options.js';

/** Options of ApiKeys. */
export interface ApiKeysOptions {
  /**
   * Every key begins with this prefix and an underscore, so that people and secret scanners
   * recognize it. Lower-case letters and digits, in parts joined by underscores, such as
   * `shop_live`. It begins with a letter, each further part has at least two characters, and the
   * maximum is 32 in all.
   */
  readonly prefix: string;
  /**
   * Turns hashes into HMAC-SHA-256, so that write access to the table is not enough to create a
   * key. At least 32 characters or bytes. Permanent: another pepper invalidates all stored keys.
   * Without the option, hashes are plain SHA-256. `undefined` is an error.
   */
  readonly pepper?: ApiKeySecret | undefined;
  /**
   * Secrets of derived keys, each under a letter from a to z, which its keys contain. At least 32
   * characters or bytes each. A derived key is valid as long as its secret is listed here.
   */
  readonly secrets?: Readonly<Record<string, ApiKeySecret>> | undefined;
  /** The letter of the secret for new derived keys. Default: the only one. */
  readonly deriveWith?: string | undefined;
}

const NO_SECRETS =
  'Expected `secrets` to be an object, such as { a: process.env.API_KEY_SECRET_A }.';
/** A further part has at least two characters, because a single letter is the name of a secret. */
const PREFIX = /^[a-z][a-z0-9]*(_[a-z0-9]{2,})*$/;
const PREFIX_LENGTH_MAX = 32;
const LETTER = /^[a-z]$/;

/** @throws SnowflakeError CONFIG_INVALID with every error in `details.faults` */
export function resolveKeyOptions(options: ApiKeysOptions) {
  const all = isObject(options) ? options : ({} as ApiKeysOptions);
  const { prefix, pepper, secrets: given = {}, deriveWith } = all;
  const secrets = isObject(given) ? given : {};
  const letters = Object.keys(secrets);
  const faults = [
    ...unknownNames(all, 'prefix, pepper, secrets, deriveWith', 'ApiKeys'),
    prefixFault(prefix),
    ...(isObject(given) ? [] : [NO_SECRETS]),
    ...letters.flatMap((letter) =>
      LETTER.test(letter)
        ? []
        : 'Expected every name in `secrets` to be one letter from a to z, got a name of ' +
          `${letter.length} characters.`,
    ),
  ];
  const read = (name: string, secret: unknown): Buffer | undefined => {
    const bytes = readSecret(name, secret);
    if (typeof bytes === 'string') faults.push(bytes);
    return typeof bytes === 'string' ? undefined : bytes;
  };
  // An unset environment variable must not silently disable the pepper.
  const pepperBytes = 'pepper' in all ? read('pepper', pepper) : undefined;
  const byLetter = new Map<string, Buffer>();
  for (const [letter, secret] of Object.entries(secrets)) {
    const bytes = read(LETTER.test(letter) ? `secrets.${letter}` : 'secrets', secret);
    if (bytes !== undefined) byLetter.set(letter, bytes);
  }
  faults.push(deriveWithFault(deriveWith, letters));
  refuse(
    faults.filter((fault) => fault !== undefined),
    'The API key options are invalid. ',
  );
  return { prefix, pepper: pepperBytes, secrets: byLetter, deriveWith: deriveWith ?? letters[0] };
}

function prefixFault(prefix: unknown): string | undefined {
  const isText = typeof prefix === 'string';
  if (isText && prefix.length <= PREFIX_LENGTH_MAX && PREFIX.test(prefix)) return undefined;
  const isShort = !isText || prefix.length <= 16;
  return (
    'Expected `prefix` to be lower-case letters and digits in parts of two or more, joined by ' +
    `underscores, such as shop_live, up to ${PREFIX_LENGTH_MAX} characters, got ` +
    `${isShort ? formatShort(prefix) : 'another text, which is not shown'}. The last underscore ` +
    'is added.'
  );
}

function deriveWithFault(letter: unknown, letters: readonly string[]): string | undefined {
  if (letter === undefined) {
    if (letters.length <= 1) return undefined;
    return `Expected \`deriveWith\` to say which of ${letters.length} \`secrets\` makes new keys.`;
  }
  if (letters.includes(letter as string)) return undefined;
  return 'Expected `deriveWith` to be one of the letters in `secrets`.';
}

function isObject<T>(value: T): value is T & object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/*
 * Peppers and secrets.
 *
 * Guarantee: no message contains a character of a secret. The secret is copied, so no other code
 * can change it.
 */

/** Bytes, or a string that is encoded as UTF-8 unchanged. */
export type ApiKeySecret = string | Uint8Array;

/** 32 bytes hold 256 bits; 32 hexadecimal digits hold 128. */
const LENGTH_MIN = 32;

/** Returns a copy of the bytes, or an error message. */
function readSecret(name: string, secret: unknown): Buffer | string {
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

/** Returns undefined for a value that is neither a string nor bytes. */
export function bytesOf(secret: unknown): Buffer | undefined {
  if (typeof secret === 'string') return Buffer.from(secret, 'utf8');
  return secret instanceof Uint8Array ? Buffer.from(secret) : undefined;
}

/** Describes the rejected value without any of its characters. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'string') return `a text of ${value.length} characters, which is not shown`;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return `a value of type ${typeof value}, which is not shown`;
}
