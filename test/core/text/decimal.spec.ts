import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, textForms } from '../../../lib/core/index.js';
import { IdWords } from '../../../lib/core/id-words.js';
import { DecimalText, isDecimalId, readDecimal } from '../../../lib/core/text/decimal.js';
import { IdCheck } from '../../../lib/http/check-id.js';
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

  it('reads what toString writes', () => {
    const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(id, (value) => {
        expect(readDecimal(value.toString(), words)).toBe(true);
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
    ['007', 'leading zeros'],
    ['00', 'zero, twice'],
    ['000000000000000000001', '21 digits'],
    ['+1', 'a plus'],
    ['1e3', 'an exponent'],
    ['1\n', 'a line break'],
    ['12a', 'a letter'],
    ['-1', 'a sign'],
    ['1 ', 'a space'],
    ['１２', 'digits of another script'],
  ])('refuses %j: %s', (text) => {
    expect(readDecimal(text, words)).toBe(false);
  });
});

describe('the grammar of decimal text', () => {
  // 63 bits of ids, of which none is too large for the layout.
  const layout = new BitLayout({
    fields: [
      ['timestamp', 41],
      ['worker', 10],
      ['sequence', 12],
    ],
  });
  const parsed = (text: string) => {
    try {
      return layout.compose(layout.parse(text));
    } catch {
      return undefined;
    }
  };
  const words = new IdWords();

  it('is one at every door: layouts, text forms, checks of requests, columns', () => {
    const check = new IdCheck();
    const near = fc.bigInt({ min: -3n, max: 2n ** 63n + 3n }).map(String);
    const spelled = fc.stringMatching(/^[ +-]?0{0,3}[0-9]{0,20}[ ne.]?$/);
    const text = fc.oneof(near, spelled, fc.string());
    fc.assert(
      fc.property(text, (value) => {
        const id = isDecimalId(value) ? BigInt(value) : undefined;
        const read = {
          words: readDecimal(value, words) ? words.id : undefined,
          textForm: textForms.decimal.tryDecode(value),
          layout: parsed(value),
          check: check.find(value),
        };
        expect(Object.entries(read).filter(([, one]) => one !== id)).toEqual([]);
        expect(id === undefined || String(id) === value).toBe(true);
      }),
      { numRuns: runs(5000) },
    );
  });
});
