/**
 * What happens to a key on its way: one character changed, lost, added or swapped. Each is refused
 * before anybody is asked, and for most it can be said why it always is.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { runs } from '../runs.js';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** And what copying adds: other scripts, spaces, quotes, line ends, half a character. */
const CHARACTERS = [...`${ALPHABET}_- \n\t\0"'.,;=é１а`.split(''), '\ud83d', '💥', '\u200b'];
const SECRET = 'a secret of at least 32 characters';

const keys = new ApiKeys({
  prefix: 'shop_live',
  secrets: { a: SECRET, b: `${SECRET} b` },
  deriveWith: 'a',
});
const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
/** Stored and derived. */
const key = fc.tuple(id, fc.boolean()).map(([of, isDerived]) => {
  return isDerived ? keys.derive(of) : keys.issue(of).key;
});

/** Every text at a distance of one mistake. */
function* damaged(good: string): Generator<string> {
  for (let at = 0; at <= good.length; at++) {
    const [before, after] = [good.slice(0, at), good.slice(at)];
    for (const character of CHARACTERS) {
      yield before + character + after;
      if (after !== '') yield before + character + after.slice(1);
    }
    yield before + after.slice(1);
    if (after.length > 1) yield before + after[1]! + after[0]! + after.slice(2);
  }
}

/** Any two characters, however far apart. */
function* swapped(good: string): Generator<string> {
  for (let one = 0; one < good.length; one++) {
    for (let other = one + 1; other < good.length; other++) {
      const all = good.split('');
      [all[one], all[other]] = [all[other]!, all[one]!];
      yield all.join('');
    }
  }
}

describe('a key', () => {
  it('with one mistake is never read, wherever it is', () => {
    fc.assert(
      fc.property(key, (good) => {
        const read = [...damaged(good)].filter((text) => text !== good && keys.parse(text));
        expect(read).toEqual([]);
        expect(keys.parse(good)).toBeDefined();
      }),
      { numRuns: runs(60) },
    );
  });

  it('with any two characters swapped is never read', () => {
    fc.assert(
      fc.property(key, (good) => {
        const read = [...swapped(good)].filter((text) => text !== good && keys.parse(text));
        expect(read).toEqual([]);
      }),
      { numRuns: runs(60) },
    );
  });

  it('whose secret and check meet is safe against a swap there, by arithmetic', () => {
    // The check of 32 bits begins with 0 to 4. Swapped with the last digit of the secret it grows
    // by a multiple of 62^5, whose lowest bit is the fifth or a higher one, while the CRC changes
    // by an entry of its table, whose lowest bit is below.
    const lowestBit = (value: number) => Math.log2(value & -value);
    for (const one of [0, 1, 2, 3, 4]) {
      for (const other of [0, 1, 2, 3, 4].filter((digit) => digit !== one)) {
        const byTable = (crc32(String(one)) ^ crc32(String(other))) >>> 0;
        expect(lowestBit(byTable)).toBeLessThan(5);
        expect(lowestBit(Math.abs(one - other) * 62 ** 5)).toBeGreaterThanOrEqual(5);
      }
    }
  });

  it('of one kind is two characters away from the other, so none becomes the other', () => {
    expect(keys.derive(1n).length - keys.issue(1n).key.length).toBe(2);
  });

  it.each([
    [''],
    ['shop_live'],
    ['shop_live_'],
    ['x'.repeat(70)],
    ['x'.repeat(8_000_000)],
    [`shop_live_${'0'.repeat(60)}`],
    [`shop_live_${'z'.repeat(8_000_000)}`],
    [undefined],
    [null],
    [7],
    [{}],
    [[]],
    [Symbol('key')],
    [new String(keys.issue(1n).key)],
  ])('is not read out of %p', (value) => {
    const text = value as string;
    expect(keys.parse(text)).toBeUndefined();
    expect(keys.verify(text, '0'.repeat(64))).toBe(false);
    expect(keys.verifyDerived(text)).toBe(false);
  });

  it('of another prefix is not read, however much they share', () => {
    const names = ['shop', 'shop_live_aa', 'shop_liv', 'shop_livee', 'shop_test', 'live'];
    const others = names.map((prefix) => new ApiKeys({ prefix, secrets: { a: SECRET } }));
    const texts = others.flatMap((other) => [other.issue(7n).key, other.derive(7n)]);
    expect(texts.filter((text) => keys.parse(text) !== undefined)).toEqual([]);
    // It would look like the prefix and the secret's name of a derived key.
    expect(() => new ApiKeys({ prefix: 'shop_live_a' })).toThrow('parts of two or more');
  });

  it('that says an id above 2^63 - 1 is not read, though its check is right', () => {
    const body = `shop_live_${'AzL8n0Y58m8'}${'0'.repeat(43)}`;
    const check = [...base62Digits(crc32(body))].join('');
    expect(keys.parse(body + check)).toBeUndefined();
    const last = `shop_live_${'AzL8n0Y58m7'}${'0'.repeat(43)}`;
    expect(keys.parse(last + base62Digits(crc32(last)).join(''))).toEqual({
      keyId: String(2n ** 63n - 1n),
    });
  });
});

function base62Digits(value: number): string[] {
  const parts: string[] = [];
  for (let rest = value; parts.length < 6; rest = Math.floor(rest / 62)) {
    parts.unshift(ALPHABET[rest % 62]!);
  }
  return parts;
}
