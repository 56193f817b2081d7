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
    name: 'derived keys do not depend on the id',
    breaks: 'a derived key is right for its own id, name and prefix alone, to the last character',
    edits: [{ file: KEYS, find: 'get(name)!, head)', put: 'get(name)!, head.slice(0, -11))' }],
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
];
