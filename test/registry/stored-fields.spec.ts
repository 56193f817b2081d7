/** Decimal text is read in one grammar, that of ids: what stores keep, and what users write. */
import { expect, it } from '@jest/globals';
import { namedGrant } from '../../lib/counters/counter-store.js';
import { wholeNumber } from '../../lib/counters/segments/segments.js';
import { numberIn } from '../../lib/rows/stored-fields.js';

const MAX = 2n ** 63n - 1n;

it.each(['0', '7', String(MAX)])('%s is read', (text) => {
  expect(numberIn(text)).toBe(BigInt(text));
  expect(wholeNumber('startAt', text)).toBe(BigInt(text));
  expect(namedGrant(`${text}.random.order`)?.first).toBe(BigInt(text));
});

it.each(['', '00', '007', '-1', '+1', ' 1', '1n', '1e3', String(MAX + 1n), '9'.repeat(30)])(
  '%j is not',
  (text) => {
    expect(numberIn(text)).toBeUndefined();
    expect(() => wholeNumber('startAt', text)).toThrow('whole number');
    expect(namedGrant(`${text}.random.order`)).toBeUndefined();
  },
);

it('a number is no text', () => {
  expect([7, 7n, undefined, null].map(numberIn)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
