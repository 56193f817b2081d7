/**
 * The broken variants of API keys that the attack must catch, as edits of the real sources.
 */
/** @import { Edit } from './load-library.mjs' */

const KEYS = 'api-keys/api-keys.ts';
const TEXT = 'api-keys/key-text.ts';

/** @type {readonly { name: string, breaks: string, edits: readonly Edit[] }[]} with its claim */
export const API_KEY_MUTANTS = [
  {
    name: 'hashes are compared until they differ',
    breaks: 'verify does one work: right, wrong and without a row',
    edits: [
      {
        file: KEYS,
        find: 'timingSafeEqual(this.#hashOf(key), stored)',
        put: 'this.#hashOf(key).equals(stored)',
      },
    ],
  },
  {
    name: 'hashes are compared by === as text',
    breaks: 'verify does one work: right, wrong and without a row',
    edits: [
      {
        file: KEYS,
        find: 'timingSafeEqual(this.#hashOf(key), stored)',
        put: "this.#hashOf(key).toString('hex') === stored.toString('hex')",
      },
    ],
  },
  {
    name: 'derived secrets are compared by ===',
    breaks: 'verifyDerived does one work: right, and wrong from the first or last character on',
    edits: [
      {
        file: KEYS,
        find: 'timingSafeEqual(asBytes(this.#text.secretIn(key)), asBytes(expected))',
        put: 'this.#text.secretIn(key) === expected',
      },
    ],
  },
  {
    name: 'the first character is compared before the rest',
    breaks: 'verifyDerived does one work: right, and wrong from the first or last character on',
    edits: [
      {
        file: KEYS,
        find: '    return timingSafeEqual(asBytes',
        put: `    if (this.#text.secretIn(key)[0] !== expected[0]) return false;
    return timingSafeEqual(asBytes`,
      },
    ],
  },
  {
    name: 'without a row nothing is compared',
    breaks: 'verify does one work: right, wrong and without a row',
    edits: [
      {
        file: KEYS,
        find: '    const isEqual = timing',
        put: "    if (typeof hash !== 'string') return false;\n    const isEqual = timing",
      },
    ],
  },
  {
    name: 'without a row no hash is read',
    breaks: 'verify does one work: right, wrong and without a row',
    edits: [
      {
        file: KEYS,
        find: 'storedHash(hash ?? this.#nobodys)',
        put: "typeof hash === 'string' ? storedHash(hash) : Buffer.alloc(32)",
      },
    ],
  },
  {
    name: 'without a row everybody is let in',
    breaks: 'a key is right for its own hash alone',
    edits: [
      {
        file: KEYS,
        find: "return isEqual && typeof hash === 'string';",
        put: "return isEqual || typeof hash !== 'string';",
      },
    ],
  },
  {
    name: 'the hash is of the secret alone',
    breaks: 'a key is right for its own hash alone',
    edits: [
      {
        file: KEYS,
        find: "hmacOf('sha256', this.#pepper, key)",
        put: "hmacOf('sha256', this.#pepper, key.slice(-49, -6))",
      },
    ],
  },
  {
    name: 'the pepper is forgotten',
    breaks: 'a hash needs the pepper',
    edits: [{ file: KEYS, find: 'this.#pepper = resolved.pepper;', put: '' }],
  },
  {
    name: 'the random bytes are zeros',
    breaks: 'no two keys are equal',
    edits: [
      {
        file: KEYS,
        find: 'base62Of(randomBytes(SECRET_BYTES))',
        put: 'base62Of(Buffer.alloc(SECRET_BYTES))',
      },
    ],
  },
  {
    name: 'derived keys do not depend on the id',
    breaks: 'a derived key is right for its own id, name and prefix alone, to the last character',
    edits: [{ file: KEYS, find: 'get(name)!, head)', put: 'get(name)!, head.slice(0, -11))' }],
  },
  {
    name: 'derived keys do not depend on the prefix',
    breaks: 'a derived key is right for its own id, name and prefix alone, to the last character',
    edits: [{ file: KEYS, find: 'get(name)!, head)', put: 'get(name)!, head.slice(-11))' }],
  },
  {
    name: 'every name has the secret of the first',
    breaks: 'a derived key is right for its own id, name and prefix alone, to the last character',
    edits: [
      {
        file: KEYS,
        find: "hmacOf('sha256', this.#secrets.get(name)!, head)",
        put: "hmacOf('sha256', [...this.#secrets.values()][0]!, head.slice(-11))",
      },
    ],
  },
  {
    name: 'half of a derived secret is enough',
    breaks: 'a derived key is right for its own id, name and prefix alone, to the last character',
    edits: [
      {
        file: KEYS,
        find: 'timingSafeEqual(asBytes(this.#text.secretIn(key)), asBytes(expected))',
        put: `timingSafeEqual(
          asBytes(this.#text.secretIn(key)).subarray(0, 21),
          asBytes(expected).subarray(0, 21),
        )`,
      },
    ],
  },
  {
    name: 'the check is not looked at',
    breaks: 'a wrong check is not read, at any digit',
    edits: [
      {
        file: TEXT,
        find: 'if (checkOf(text.slice(0, -CHECK_WIDTH)) !== text.slice(-CHECK_WIDTH))',
        put: 'if (text === "")',
      },
    ],
  },
  {
    name: 'the last digit of the check is not looked at',
    breaks: 'a wrong check is not read, at any digit',
    edits: [
      {
        file: TEXT,
        find: 'if (checkOf(text.slice(0, -CHECK_WIDTH)) !== text.slice(-CHECK_WIDTH))',
        put: `const check = checkOf(text.slice(0, -CHECK_WIDTH));
    if (check.slice(0, -1) !== text.slice(-CHECK_WIDTH, -1))`,
      },
    ],
  },
  {
    name: 'longer texts are cut and read',
    breaks: 'a text that is no key is not read and costs no hash',
    edits: [
      {
        file: TEXT,
        find: '    const from = text.length - BODY_WIDTH;',
        put: `    if (text.length === this.#start.length + BODY_WIDTH + 1) text = text.slice(0, -1);
    const from = text.length - BODY_WIDTH;`,
      },
    ],
  },
];
