/**
 * The cipher: the vector of its authors, and what a permutation that hides order must do.
 */
import { describe, expect, it } from '@jest/globals';
import { IdWords } from '../../../lib/core/id-words.js';
import { Speck64, keyWords } from '../../../lib/core/text/speck.js';

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
/** Key 1b1a1918 13121110 0b0a0908 03020100, each word with its lowest byte first. */
const PUBLISHED_KEY = bytesOf('0001020308090a0b1011121318191a1b');

const words = new IdWords();
const through = (cipher: Speck64, way: 'encrypt' | 'decrypt', block: bigint): bigint => {
  words.id = block;
  cipher[way](words);
  return words.id;
};

describe('Speck64/128', () => {
  it('agrees with the vector that was published', () => {
    const cipher = new Speck64(keyWords(PUBLISHED_KEY));
    expect(through(cipher, 'encrypt', 0x3b72_6574_7475_432dn)).toBe(0x8c6f_a548_454e_028bn);
    expect(through(cipher, 'decrypt', 0x8c6f_a548_454e_028bn)).toBe(0x3b72_6574_7475_432dn);
  });

  it('is a permutation: what is decrypted was encrypted, at every edge', () => {
    const cipher = new Speck64(keyWords(PUBLISHED_KEY));
    const edges = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n];
    for (const block of edges) {
      expect(through(cipher, 'decrypt', through(cipher, 'encrypt', block))).toBe(block);
      expect(through(cipher, 'encrypt', through(cipher, 'decrypt', block))).toBe(block);
    }
  });

  it('turns one bit of the block or of the key into about half of the bits', () => {
    for (let bit = 0; bit < 128; bit++) {
      const key = Uint8Array.from(PUBLISHED_KEY);
      key[bit >> 3]! ^= 1 << (bit & 7);
      expect(bitsChanged(new Speck64(keyWords(key)), 0n)).toEqual(half);
    }
    const cipher = new Speck64(keyWords(PUBLISHED_KEY));
    for (let bit = 0n; bit < 64n; bit++) {
      expect(bitsChanged(cipher, 1n << bit)).toEqual(half);
    }
  });

  it('reads a key that is a part of a larger buffer', () => {
    const larger = new Uint8Array(40).fill(7);
    larger.set(PUBLISHED_KEY, 5);
    expect(keyWords(larger.subarray(5, 21))).toEqual(keyWords(PUBLISHED_KEY));
  });
});

/** A mean over many blocks; 32 of 64, and far from it only by a fault. */
const half = expect.closeTo(32, -0.6);
const COUNT = 64;

function bitsChanged(changed: Speck64, difference: bigint): number {
  const plain = new Speck64(keyWords(PUBLISHED_KEY));
  let sum = 0;
  for (let at = 0n; at < COUNT; at++) {
    const block = 382_366_441_078_288_384n + at;
    const both = through(plain, 'encrypt', block) ^ through(changed, 'encrypt', block ^ difference);
    sum += both.toString(2).replaceAll('0', '').length;
  }
  return sum / COUNT;
}
