/**
 * Text forms: the vectors of other systems, round trips, order, and what is refused.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { idFromBytes, idToBytes, textForms } from '../../../lib/core/index.js';
import type { TextForm } from '../../../lib/core/index.js';

const MAX = 2n ** 63n - 1n;
const EDGES = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, MAX - 1n, MAX];
const anyId = fc.oneof(fc.bigInt({ min: 0n, max: MAX }), fc.constantFrom(...EDGES));
const forms = Object.entries(textForms) as [keyof typeof textForms, TextForm][];
const invalid = (message: string | RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });

describe('text forms', () => {
  it.each([
    ['zBase32', 1427970479175499776n, 'b8wjm1zroyyyy'],
    ['base58Bwmarrin', 1428076403798048768n, '4jgmnx8Js8A'],
    ['base36', 1116817865006120960n, '8hgmw4blvlkw'],
    ['base62', 100n, '1c'],
    ['base62', 200n, '3E'],
    ['decimal', MAX, '9223372036854775807'],
    ['sortableHex', 255n, '00000000000000ff'],
  ] as const)('%s writes %s as %s and reads it', (name, id, text) => {
    expect(textForms[name].encode(id)).toBe(text);
    expect(textForms[name].decode(text)).toBe(id);
  });

  it.each(forms)('%s reads what it wrote', (_, form) => {
    fc.assert(fc.property(anyId, (id) => expect(form.decode(form.encode(id))).toBe(id)));
  });

  it.each(forms.filter(([name]) => name.startsWith('sortable')))(
    '%s sorts as ids do, all of one width',
    (_, form) => {
      fc.assert(
        fc.property(anyId, anyId, (a, b) => {
          const [one, two] = [form.encode(a), form.encode(b)];
          expect(one).toHaveLength(two.length);
          expect(one < two).toBe(a < b);
        }),
      );
    },
  );

  it.each(forms)('%s refuses what is no text of it', (_, form) => {
    const wrong = ['', ' ', '-1', 'é', '💥', '1.5', null, 7, {}, 'z'.repeat(14), '1'.repeat(1e6)];
    for (const text of wrong) expect(() => form.decode(text as string)).toThrow(invalid(''));
  });

  it.each(forms)('%s refuses what is no id', (_, form) => {
    for (const id of [-1n, MAX + 1n, 2n ** 200n, 7, '7', null, undefined]) {
      expect(() => form.encode(id as bigint)).toThrow(invalid(/^Expected an id/));
    }
  });

  it('name the bad character, or the overflow', () => {
    expect(() => textForms.base58.decode('4jgmnxl')).toThrow(invalid(/character 7 is "l"/));
    for (const bad of ['0', 'O', 'I', 'l']) {
      expect(() => textForms.base58.decode(`2${bad}`)).toThrow(invalid(`"${bad}"`));
    }
    for (const bad of ['l', 'v', '2', 'B']) {
      expect(() => textForms.zBase32.decode(`b${bad}`)).toThrow(invalid(`"${bad}"`));
    }
    expect(() => textForms.decimal.decode('1112316766490855473152')).toThrow(invalid('larger'));
    expect(() => textForms.base62.decode('AzL8n0Y58m8')).toThrow(invalid('larger than 2\\^63'));
    expect(() => textForms.decimal.decode('007')).toThrow(invalid('begins with the zero digit'));
    expect(() => textForms.sortableHex.decode('ff')).toThrow(invalid('exactly 16'));
  });

  it('read what people misread', () => {
    const { crockford32, hex } = textForms;
    expect(crockford32.decode('1o1Il')).toBe(crockford32.decode('10111'));
    expect(hex.decode('FF')).toBe(255n);
  });

  it('hold an id in eight bytes', () => {
    const bytes = Uint8Array.from([0x0f, 0x7f, 0xc0, 0xfc, 0x2f, 0x80, 0, 0]);
    expect(idToBytes(1116823421972381696n)).toEqual(bytes);
    expect(idFromBytes(bytes)).toBe(1116823421972381696n);
    const wrong = [
      new Uint8Array(7),
      new Uint8Array(9),
      new Uint8Array(8).fill(255),
      'bytes',
      null,
    ];
    for (const value of wrong) {
      expect(() => idFromBytes(value as Uint8Array)).toThrow(invalid('Expected'));
    }
  });
});
