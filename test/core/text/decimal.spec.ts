import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DecimalText, readDecimal } from '../../../lib/core/text/decimal.js';
import { IdWords } from '../../../lib/core/id-words.js';
import { runs } from '../../runs.js';

describe('DecimalText', () => {
  it('writes what toString writes, whatever was written before', () => {
    const decimal = new DecimalText();
    const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(id, (value) => {
        const text = decimal.of(Number(value >> 32n), Number(value & 0xffff_ffffn));
        expect(text).toBe(value.toString());
      }),
      { numRuns: runs(2000) },
    );
  });

  it.each([0n, 1n, 999_999n, 1_000_000n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 63n - 1n])(
    'writes the edge %s',
    (value) => {
      const text = new DecimalText().of(Number(value >> 32n), Number(value & 0xffff_ffffn));
      expect(text).toBe(value.toString());
    },
  );
});

describe('readDecimal', () => {
  const words = new IdWords();

  it('reads what toString writes, zeros before it too', () => {
    const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(id, fc.nat(20), (value, length) => {
        expect(readDecimal(value.toString().padStart(length, '0'), words)).toBe(true);
        expect(words.id).toBe(value);
      }),
      { numRuns: runs(2000) },
    );
  });

  it.each([
    ['', 'nothing'],
    ['9223372036854775808', '2^63'],
    ['18446744073709551616', '2^64'],
    ['99999999999999999999', 'twenty nines'],
    ['000000000000000000001', '21 digits'],
    ['12a', 'a letter'],
    ['-1', 'a sign'],
    ['1 ', 'a space'],
    ['１２', 'digits of another script'],
  ])('refuses %j: %s', (text) => {
    expect(readDecimal(text, words)).toBe(false);
  });
});
