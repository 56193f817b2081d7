/**
 * Forms around other forms: both ways, put into each other, one spelling for each id.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkDigitForm,
  checkDigits,
  fixedWidthForm,
  prefixedForm,
  suffixedForm,
  textForms,
  type TextForm,
} from '../../../lib/core/index.js';
import { runs } from '../../runs.js';

const { decimal, base58, hex, sortableDecimal, zBase32 } = textForms;
const MAX = 2n ** 63n - 1n;
const ID = 382_366_441_078_288_384n;
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
const config = (message: RegExp) =>
  expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
const anyId = fc.oneof(fc.bigInt({ min: 0n, max: MAX }), fc.constantFrom(0n, 1n, MAX));

const damm = checkDigitForm(decimal, checkDigits.damm);
const invoice = prefixedForm('INV-', damm);
const forms: readonly (readonly [TextForm, string])[] = [
  [prefixedForm('INV-', decimal), 'INV-382366441078288384'],
  [suffixedForm(base58, '/de'), 'tUmT2cj1zw/de'],
  [fixedWidthForm(decimal, 19), '0382366441078288384'],
  [fixedWidthForm(zBase32, 13), 'ykuuoenmeyhyy'],
  [damm, '3823664410782883849'],
  [invoice, 'INV-3823664410782883849'],
  [prefixedForm('a.*', suffixedForm(fixedWidthForm(hex, 20), '[]')), 'a.*000005...[]'],
  [checkDigitForm(prefixedForm('7-', fixedWidthForm(decimal, 20)), checkDigits.luhn), '7-...'],
  [prefixedForm('x', sortableDecimal), 'x0382366441078288384'],
];

describe('a form around a form', () => {
  it.each(forms)('reads what it wrote: $name', (form) => {
    fc.assert(
      fc.property(anyId, (id) => {
        const text = form.encode(id);
        expect(form.decode(text)).toBe(id);
        expect(text).toMatch(new RegExp(form.pattern!, 'u'));
        // One more character, or one less, is another text.
        const near = [text.slice(1), text.slice(0, -1), ` ${text}`, `${text}0`, `0${text}`];
        for (const other of near) {
          const read = form.tryDecode(other);
          expect(read === undefined || form.encode(read) === other).toBe(true);
        }
      }),
      { numRuns: runs(60) },
    );
  });

  it.each(forms.filter(([, text]) => !text.includes('...')))('writes %#', (form, text) => {
    expect(form.encode(ID)).toBe(text);
  });

  it('keeps what the compiler knows of a text', () => {
    const text: `INV-${string}` = invoice.encode(ID);
    const both: `a-${string}-b` = suffixedForm(prefixedForm('a-', decimal), '-b').encode(ID);
    expect([text, both]).toEqual(['INV-3823664410782883849', `a-${ID}-b`]);
    // @ts-expect-error another prefix
    const wrong: `ORD-${string}` = text;
    expect(wrong).toBe(text);
  });

  it.each(forms)('refuses what is no text of it: %#', (form) => {
    const strange = ['', ' ', '-1', '💥', 'INV-', 'INV-１', '/de', '1'.repeat(1e6), null, 7, {}];
    for (const text of strange as string[]) {
      expect(form.tryDecode(text)).toBeUndefined();
      expect(() => form.decode(text)).toThrow(invalid(/^Expected an id as /));
    }
    for (const id of [-1n, MAX + 1n, 2n ** 64n - 1n, 7, null] as bigint[]) {
      expect(() => form.encode(id)).toThrow(invalid(/^Expected an id from 0/));
    }
  });

  it.each([
    ['ORD-1', invoice, /got "ORD-1", which does not begin with "INV-"/],
    ['INV-3823664410782883489', invoice, /with a Damm digit text.*check digit does not fit/],
    ['INV-x0', prefixedForm('INV-', decimal), /"INV-x0"\. .*"x0", whose character 1 is "x"/],
    ['INV-013', invoice, /begins with the zero digit/],
    ['tJ/fr', suffixedForm(base58, '/de'), /does not end with "\/de"/],
    ['0123', fixedWidthForm(decimal, 5), /has 4 characters. This form has exactly 5/],
    ['0000x', fixedWidthForm(decimal, 5), /character 1 is "x"/],
  ] as const)('says why %j is refused', (text, form, message) => {
    expect(() => form.decode(text)).toThrow(invalid(message));
  });

  it('writes no id that its width cannot hold', () => {
    const narrow = fixedWidthForm(decimal, 4);
    expect(['0000', '0001', '9999']).toEqual([0n, 1n, 9999n].map((id) => narrow.encode(id)));
    expect(() => narrow.encode(10_000n)).toThrow(invalid(/at most 4 characters, got "10000"/));
  });

  it('asks a form that somebody wrote for nothing but encode and tryDecode', () => {
    const own: TextForm = {
      name: 'own',
      encode: (id) => `#${id}`,
      decode: () => {
        throw new TypeError('a bug');
      },
      tryDecode: (text) => (text.startsWith('#') ? decimal.tryDecode(text.slice(1)) : undefined),
    };
    const form = prefixedForm('own:', own);
    expect(form.decode(form.encode(ID))).toBe(ID);
    expect(form.pattern).toBeUndefined();
    // It hides no fault of it either.
    expect(() => form.decode('own:1')).toThrow(TypeError);
  });

  it.each([
    [() => prefixedForm('', decimal), /`prefix` to be 1 to 32/],
    [() => prefixedForm('a b', decimal), /`prefix`/],
    [() => prefixedForm('ä', decimal), /`prefix`/],
    [() => prefixedForm(7 as unknown as string, decimal), /`prefix`/],
    [() => suffixedForm(decimal, ''), /`suffix`/],
    [() => suffixedForm(decimal, 'x'.repeat(33)), /`suffix`/],
    [() => fixedWidthForm(decimal, 0), /`width` to be an integer from 1 to 64/],
    [() => fixedWidthForm(decimal, 1.5), /`width`/],
    [() => fixedWidthForm(decimal, 65), /`width`/],
    [() => fixedWidthForm(sortableDecimal, 20), /writes 0 as one digit/],
    [() => fixedWidthForm(invoice, 20), /writes 0 as one digit/],
    [() => checkDigitForm(base58, checkDigits.damm), /`form` to be a decimal form/],
    [() => checkDigitForm(hex, checkDigits.damm), /`form` to be a decimal form/],
  ])('cannot be made of what does not fit: %#', (make, message) => {
    expect(make).toThrow(config(message));
  });
});
