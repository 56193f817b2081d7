/**
 * Text forms: the vectors of other systems, round trips, order, and what is refused.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IdWords } from '../../../lib/core/id-words.js';
import {
  BitLayout,
  checkDigitForm,
  checkDigits,
  fixedWidthForm,
  idFromBytes,
  idToBytes,
  prefixedForm,
  suffixedForm,
  type TextForm,
  textForms,
} from '../../../lib/core/index.js';
import { DecimalText, isDecimalId, readDecimal } from '../../../lib/core/text/decimal.js';
import { IdCheck } from '../../../lib/http/check-id.js';
import { runs } from '../../until.js';

describe('text forms', () => {
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
});

/*
 * Forms around other forms: both ways, put into each other, one spelling for each id.
 */
describe('composed forms', () => {
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
});

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

/*
 * Check digits: every wrong digit and every swap of neighbours, the published vectors, and what
 * is no number at all.
 */
describe('check digits', () => {
  const { damm, luhn } = checkDigits;
  const invalid = (message: RegExp) =>
    expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
  const every = (digits: number) =>
    Array.from({ length: 10 ** digits }, (_, n) => String(n).padStart(digits, '0'));
  const swapped = (text: string, at: number) =>
    text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);

  /** Texts that read as right after one digit was changed, or after two neighbours were swapped. */
  function missedOf(digit: typeof damm, bodies: readonly string[]): string[] {
    return bodies.flatMap((body) => {
      const text = digit.append(body);
      const swaps = Array.from({ length: body.length }, (_, at) => swapped(text, at));
      const changes = Array.from(text).flatMap((_, at) =>
        every(1).map((other) => text.slice(0, at) + other + text.slice(at + 1)),
      );
      return [...swaps, ...changes].filter((wrong) => wrong !== text && digit.verify(wrong));
    });
  }

  describe("Damm's check digit", () => {
    it('agrees with his example', () => {
      expect(damm.append('572')).toBe('5724');
      expect(damm.verify('5724')).toBe(true);
      expect(damm.strip('5724')).toBe('572');
    });

    it('misses no wrong digit and no swap of neighbours in any number of three digits', () => {
      expect(missedOf(damm, every(3))).toEqual([]);
    });

    it('misses none in an id, an order number, or behind a prefix', () => {
      const bodies = ['382366441078288384', '9223372036854775807', 'INV-382366441078288384'];
      const texts = bodies.map((body) => damm.append(body));
      for (const text of texts) {
        expect(damm.verify(text)).toBe(true);
        const numbers = Array.from(text, (_, at) => at).filter((at) =>
          /\d\d/.test(text.slice(at, at + 2)),
        );
        const swaps = numbers.map((at) => swapped(text, at)).filter((other) => other !== text);
        expect(swaps.filter((wrong) => damm.verify(wrong))).toEqual([]);
      }
    });

    it('passes letters and separators over, also between the digits', () => {
      const text = damm.append('INV-20261121-000123');
      expect(text).toBe(`INV-20261121-000123${damm.append('20261121000123').slice(-1)}`);
      expect(damm.strip(text)).toBe('INV-20261121-000123');
    });
  });

  describe("Luhn's check digit", () => {
    it('agrees with the number that is shown everywhere, and misses 09 for 90 alone', () => {
      expect(luhn.append('7992739871')).toBe('79927398713');
      const missed = missedOf(luhn, every(2));
      expect(missed.length).toBeGreaterThan(0);
      expect(missed.filter((text) => !text.includes('09') && !text.includes('90'))).toEqual([]);
    });
  });

  describe.each(Object.entries(checkDigits))('%s', (_, digit) => {
    it.each(['', 'abc', ' ', '-', '١٢٣', '１２３', '12\n3', '1２', 'é1', '1'.repeat(257), 7, null])(
      'is appended to no %j',
      (text) => {
        expect(() => digit.append(text as string)).toThrow(invalid(/printable ASCII with a digit/));
      },
    );

    it.each(['', '4', 'A4', '572', '5724 ', '572４', '5724\n', '9'.repeat(8_000_000), 5724, null])(
      'is not found in %#',
      (text) => {
        expect(digit.verify(text as string)).toBe(false);
        expect(() => digit.strip(text as string)).toThrow(invalid(/wrong, missing or swapped/));
      },
    );

    it('is not a digit of another script, nor a letter, in the last place', () => {
      const text = digit.append('572');
      for (const last of ['٤', '４', 'a', '-', '']) {
        expect(digit.verify(text.slice(0, -1) + last)).toBe(last === '' && digit.verify('572'));
      }
    });
  });
});
