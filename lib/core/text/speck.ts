/**
 * Speck64/128: a permutation of all numbers of 64 bits, chosen by a key of 128 bits, published in
 * "The Simon and Speck Families of Lightweight Block Ciphers" (2013).
 *
 * Guarantee: encrypt and decrypt are inverses, use only 32-bit arithmetic, and allocate nothing.
 * JSON and inspection never show the round keys.
 */
import type { IdWords } from '../id-words.js';

const ROUNDS = 27;

/** The length of a key in bytes. */
export const KEY_LENGTH = 16;

export class Speck64 {
  readonly #roundKeys: Int32Array;

  /** The key as four words, the first of the published order last. */
  constructor(key: Uint32Array) {
    this.#roundKeys = roundKeysOf(key);
  }

  encrypt(words: IdWords): void {
    const keys = this.#roundKeys;
    let x = words.high | 0;
    let y = words.low | 0;
    for (let round = 0; round < ROUNDS; round++) {
      x = (((x >>> 8) | (x << 24)) + y) ^ keys[round]!;
      y = ((y << 3) | (y >>> 29)) ^ x;
    }
    words.set(x, y);
  }

  decrypt(words: IdWords): void {
    const keys = this.#roundKeys;
    let x = words.high | 0;
    let y = words.low | 0;
    for (let round = ROUNDS - 1; round >= 0; round--) {
      y ^= x;
      y = (y >>> 3) | (y << 29);
      x = ((x ^ keys[round]!) - y) | 0;
      x = (x << 8) | (x >>> 24);
    }
    words.set(x, y);
  }
}

/** The cipher's rounds also generate the round keys, with the round number as their key. */
function roundKeysOf([key = 0, ...rest]: Uint32Array): Int32Array {
  const roundKeys = new Int32Array(ROUNDS);
  const mixed = [...rest];
  let y = key | 0;
  for (let round = 0; round < ROUNDS; round++) {
    roundKeys[round] = y;
    const at = round % mixed.length;
    const x = mixed[at]!;
    mixed[at] = (((x >>> 8) | (x << 24)) + y) ^ round;
    y = ((y << 3) | (y >>> 29)) ^ mixed[at];
  }
  return roundKeys;
}

/** Reads a key of 16 bytes as words, the lowest byte of a word first, as the authors advise. */
export function keyWords(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, KEY_LENGTH);
  return Uint32Array.from({ length: KEY_LENGTH / 4 }, (_, at) => view.getUint32(at * 4, true));
}
