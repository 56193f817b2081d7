/**
 * Text forms: the vectors of other systems, round trips, order, and malformed texts.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IdWords } from '../../../lib/core/id-words.js';
import {
  BitLayout,
  idFromBytes,
  idToBytes,
  prefixedForm,
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
    ] as const)('%s encodes %s as %s and decodes it', (name, id, text) => {
      expect(textForms[name].encode(id)).toBe(text);
      expect(textForms[name].decode(text)).toBe(id);
    });

    it.each(forms)('%s decodes what it encoded', (_, form) => {
      fc.assert(fc.property(anyId, (id) => expect(form.decode(form.encode(id))).toBe(id)));
    });

    it.each(forms.filter(([name]) => name.startsWith('sortable')))(
      '%s sorts like the IDs, and has one length',
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

    it.each(forms)('%s rejects malformed text', (_, form) => {
      const wrong = ['', ' ', '-1', 'é', '💥', '1.5', null, 7, {}, 'z'.repeat(14), '1'.repeat(1e6)];
      for (const text of wrong) expect(() => form.decode(text as string)).toThrow(invalid(''));
    });

    it.each(forms)('%s rejects an invalid ID', (_, form) => {
      for (const id of [-1n, MAX + 1n, 2n ** 200n, 7, '7', null, undefined]) {
        expect(() => form.encode(id as bigint)).toThrow(invalid(/^Expected an id/));
      }
    });

    it('report the invalid character, or the overflow', () => {
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

    it('accept characters that people often confuse', () => {
      const { crockford32, hex } = textForms;
      expect(crockford32.decode('1o1Il')).toBe(crockford32.decode('10111'));
      expect(hex.decode('FF')).toBe(255n);
    });

    it('store an ID in eight bytes', () => {
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
 * Forms with a prefix: round trips, nested prefixes, and one spelling for each ID.
 */
describe('composed forms', () => {
  const { base58, decimal, hex, sortableDecimal } = textForms;
  const MAX = 2n ** 63n - 1n;
  const ID = 382_366_441_078_288_384n;
  const invalid = (message: RegExp) =>
    expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
  const config = (message: RegExp) =>
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
  const anyId = fc.oneof(fc.bigInt({ min: 0n, max: MAX }), fc.constantFrom(0n, 1n, MAX));

  const invoice = prefixedForm('INV-', decimal);
  const forms: readonly (readonly [TextForm, string])[] = [
    [invoice, 'INV-382366441078288384'],
    [prefixedForm('de/', base58), 'de/tUmT2cj1zw'],
    [prefixedForm('a.*', prefixedForm('[]', hex)), 'a.*[]54e6fb...'],
    [prefixedForm('x', sortableDecimal), 'x0382366441078288384'],
  ];

  describe('a prefixed form', () => {
    it.each(forms)('decodes what it encoded: $name', (form) => {
      fc.assert(
        fc.property(anyId, (id) => {
          const text = form.encode(id);
          expect(form.decode(text)).toBe(id);
          expect(text).toMatch(new RegExp(form.pattern!, 'u'));
          // A text with one character more or less is a different text.
          const near = [text.slice(1), text.slice(0, -1), ` ${text}`, `${text}0`, `0${text}`];
          for (const other of near) {
            const read = form.tryDecode(other);
            expect(read === undefined || form.encode(read) === other).toBe(true);
          }
        }),
        { numRuns: runs(60) },
      );
    });

    it.each(forms.filter(([, text]) => !text.includes('...')))('encodes %#', (form, text) => {
      expect(form.encode(ID)).toBe(text);
    });

    it('keeps the template type of its text', () => {
      const text: `INV-${string}` = invoice.encode(ID);
      const both: `a-b-${string}` = prefixedForm('a-', prefixedForm('b-', decimal)).encode(ID);
      expect([text, both]).toEqual([`INV-${ID}`, `a-b-${ID}`]);
      // @ts-expect-error another prefix
      const wrong: `ORD-${string}` = text;
      expect(wrong).toBe(text);
    });

    it.each(forms)('rejects malformed text: %#', (form) => {
      const strange = ['', ' ', '-1', '💥', 'INV-', 'INV-１', 'de/', '1'.repeat(1e6), null, 7, {}];
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
      ['INV-x0', invoice, /"INV-x0"\. .*"x0", whose character 1 is "x"/],
      ['INV-013', invoice, /begins with the zero digit/],
    ] as const)('explains why %j is rejected', (text, form, message) => {
      expect(() => form.decode(text)).toThrow(invalid(message));
    });

    it('calls only encode and tryDecode of a custom form', () => {
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
      // Errors of the custom form stay visible.
      expect(() => form.decode('own:1')).toThrow(TypeError);
    });

    it.each([
      [() => prefixedForm('', decimal), /`prefix` to be 1 to 32/],
      [() => prefixedForm('a b', decimal), /`prefix`/],
      [() => prefixedForm('ä', decimal), /`prefix`/],
      [() => prefixedForm('x'.repeat(33), decimal), /`prefix`/],
      [() => prefixedForm(7 as unknown as string, decimal), /`prefix`/],
    ])('cannot be created from invalid parts: %#', (make, message) => {
      expect(make).toThrow(config(message));
    });
  });
});

describe('DecimalText', () => {
  it('writes the same text as toString, regardless of previous texts', () => {
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

  it('reads the output of toString', () => {
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
  ])('rejects %j: %s', (text) => {
    expect(readDecimal(text, words)).toBe(false);
  });
});

describe('the grammar of decimal text', () => {
  // 63 bits for IDs, so the layout allows the largest number.
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

  it('is the same in layouts, text forms, request checks, and columns', () => {
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
