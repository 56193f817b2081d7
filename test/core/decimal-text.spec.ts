import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DecimalText } from '../../lib/core/decimal-text.js';

describe('DecimalText', () => {
  it('writes what toString writes, whatever was written before', () => {
    const decimal = new DecimalText();
    const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(id, (value) => {
        const text = decimal.of(Number(value >> 32n), Number(value & 0xffff_ffffn));
        expect(text).toBe(value.toString());
      }),
      { numRuns: 2000 },
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
