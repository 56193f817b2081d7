/**
 * Public IDs: round trips, hidden order, malformed texts, keys of the wrong size, and keys that
 * never appear in output.
 */
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IdWords } from '../../../lib/core/id-words.js';
import { layouts, type PublicId, publicIds, textForms } from '../../../lib/core/index.js';
import { keyWords, Speck64 } from '../../../lib/core/text/speck.js';
import { runs } from '../../until.js';

const KEY = '9f4c1e07b2a8d36515e0c7734ba9f218';
const LATER = '00112233445566778899aabbccddeeff';
const MAX = 2n ** 63n - 1n;
const ID = 382_366_441_078_288_384n;

const orders = publicIds({ prefix: 'ord', key: KEY });
const customers = publicIds({ prefix: 'cus', key: KEY });
const invalid = (message: string | RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
const config = (message: RegExp) =>
  expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
const base58 = (value: bigint): string => {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  return value === 0n ? '' : base58(value / 58n) + alphabet[Number(value % 58n)]!;
};

describe('a public ID', () => {
  it('stays the same forever, for texts in use', () => {
    // Computed by a second implementation, in another language.
    expect([0n, 1n, ID, MAX].map((id) => orders.encode(id))).toEqual([
      'ord_fa7ZerGKbQ9',
      'ord_PVYQuunSAEc',
      'ord_66ubKQqVNjK',
      'ord_1qfnPQGFeBh',
    ]);
    expect(customers.encode(ID)).toBe('cus_YfMcyhsjPuK');
    const long = publicIds({ prefix: 'abcdefghijklmnop', key: KEY });
    expect(long.encode(1n)).toBe('abcdefghijklmnop_KV9XSxtkMz9');
  });

  it('decodes to its ID, in one length and one alphabet', () => {
    const edges = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, MAX - 1n, MAX];
    const pattern = new RegExp(orders.pattern);
    const faultOf = (value: bigint): string | undefined => {
      const text = orders.encode(value);
      if (text.length === 15 && pattern.test(text) && orders.decode(text) === value) return;
      return `${value} became ${text}, which is read as ${orders.tryDecode(text)}`;
    };
    expect(edges.map(faultOf).filter(Boolean)).toEqual([]);
    // Without fast-check, whose overhead would exceed the check itself.
    const odd = 0x9e37_79b9_7f4a_7c15n;
    const faults = Array.from({ length: runs(100_000) }, (_, at) => {
      const n = BigInt(at);
      return faultOf(BigInt.asUintN(63, (n * odd) ^ (n << 29n)));
    });
    expect(faults.filter(Boolean)).toEqual([]);
  });

  it('has one spelling: every other text is another ID or invalid', () => {
    const text = fc
      .bigInt({ min: 0n, max: 58n ** 11n - 1n })
      .map((n) => base58(n).padStart(11, '1'));
    fc.assert(
      fc.property(text, (digits) => {
        const id = orders.tryDecode(`ord_${digits}`);
        expect(id === undefined || orders.encode(id) === `ord_${digits}`).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('hides counts and order: half of all neighbors sort in reverse', () => {
    const texts = Array.from({ length: 4000 }, (_, n) => orders.encode(ID + BigInt(n)));
    const rising = texts.filter((text, n) => n > 0 && text > texts[n - 1]!).length;
    expect(Math.abs(rising - 2000)).toBeLessThan(200);
    // Neighbors share at most a few of 11 characters, by chance.
    const kept = texts.map((text, n) => sharedCharacters(text, texts[n - 1] ?? ''));
    expect(Math.max(...kept)).toBeLessThan(6);
  });

  it('shares no pattern with the same number of another kind', () => {
    const both = Array.from({ length: 1000 }, (_, n) => ID + BigInt(n) * 4096n);
    const same = both.filter((id) => orders.encode(id).slice(4) === customers.encode(id).slice(4));
    expect(same).toEqual([]);
    const [order, forged] = [orders.encode(ID), `cus_${orders.encode(ID).slice(4)}`];
    expect(customers.tryDecode(forged)).not.toBe(ID);
    expect(() => customers.decode(order as string)).toThrow(invalid(/does not begin with "cus_"/));
  });

  it('does not compile in place of another kind', () => {
    const shipped = (id: PublicId<'ord'>): bigint => orders.decode(id);
    expect(shipped(orders.encode(ID))).toBe(ID);
    // @ts-expect-error a customer is no order
    expect(() => shipped(customers.encode(ID))).toThrow(invalid('ord_'));
    // @ts-expect-error a customer is no order
    expect(() => orders.decode(customers.encode(ID))).toThrow(invalid('ord_'));
    // @ts-expect-error a customer is no order
    expect(orders.tryDecode(customers.encode(ID))).toBeUndefined();
    const fromOutside: string = orders.encode(ID);
    expect(orders.decode(fromOutside)).toBe(ID);
    if (!orders.is(fromOutside)) throw new Error('refused');
    expect(shipped(fromOutside)).toBe(ID);
  });
});

const sharedCharacters = (one: string, other: string): number =>
  Array.from(one.slice(4)).filter((character, at) => character === other[at + 4]).length;

describe('a malformed text', () => {
  const good: string = orders.encode(ID);
  const beyond = (value: bigint) => `ord_${base58(value)}`;

  it.each([
    ['', /empty/],
    ['ord', /does not begin with "ord_"/],
    ['ord_', /4 characters. Such an id has 15/],
    [good.slice(4), /does not begin with "ord_"/],
    [good.slice(0, -1), /14 characters/],
    [`${good}1`, /16 characters/],
    [`${good}\n`, /16 characters/],
    [` ${good}`, /does not begin/],
    [good.toUpperCase(), /does not begin/],
    [`ord-${good.slice(4)}`, /does not begin/],
    [`оrd_${good.slice(4)}`, /does not begin/],
    [`ord＿${good.slice(4)}`, /does not begin/],
    [`${good.slice(0, -1)}0`, /character 15 is "0"/],
    [`${good.slice(0, -1)}l`, /character 15 is "l"/],
    [`${good.slice(0, -1)}а`, /character 15 is "а"/],
    [`${good.slice(0, -1)}１`, /character 15 is "１"/],
    [`${good.slice(0, -2)}💥`, /character 14 is "💥"/],
    [`${good.slice(0, -1)} `, /character 15 is " "/],
    [`ord_${'z'.repeat(11)}`, /larger than 2\^64 - 1/],
    [beyond(2n ** 64n), /larger than 2\^64 - 1/],
    [String(ID), /does not begin with "ord_"/],
    [`ord_${ID}`, /22 characters/],
  ])('%j is rejected', (text, message) => {
    expect(orders.tryDecode(text)).toBeUndefined();
    expect(orders.is(text)).toBe(false);
    expect(() => orders.decode(text)).toThrow(invalid(message));
  });

  it('is rejected with a short message if it is not a string', () => {
    for (const value of [undefined, null, 7, ID, {}, [good], new String(good), Symbol('x')]) {
      expect(orders.is(value)).toBe(false);
      expect(() => orders.decode(value as string)).toThrow(invalid(/^Expected an id as ord_ text/));
    }
    for (const text of ['x', 'ord_', good].map((start) => start.padEnd(8_000_000, '１'))) {
      expect(orders.tryDecode(text)).toBeUndefined();
      expect(() => orders.decode(text)).toThrow(invalid(/\(8000000 characters\)/));
    }
  });

  it('is usually rejected after a change, as half the 64-bit numbers are invalid IDs', () => {
    const read = Array.from({ length: 2000 }, (_, n) => beyond(2n ** 63n + BigInt(n)));
    const refused = read.filter((text) => orders.tryDecode(text) === undefined);
    expect(Math.abs(refused.length - 1000)).toBeLessThan(150);
    expect(() => orders.decode(refused[0]!)).toThrow(invalid(/this key did not write/));
    // The layout rejects the rest of the other half, or its time is invalid.
    const layout = layouts.javascriptSafe();
    const ids = read.map((text) => orders.tryDecode(text)).filter((id) => id !== undefined);
    expect(ids.filter((id) => id <= layout.idMax).length).toBeLessThan(10);
  });

  it('stays cheap in lists of 100,000, as no Error is created', () => {
    const wrong = Array.from({ length: 100_000 }, (_, n) => `ord_${n}`);
    expect(wrong.filter((text) => orders.tryDecode(text) !== undefined)).toEqual([]);
  });

  it('encode() accepts only IDs', () => {
    for (const id of [-1n, MAX + 1n, 2n ** 64n - 1n, 2n ** 64n, 7, '7', null, undefined]) {
      expect(() => orders.encode(id as bigint)).toThrow(invalid(/^Expected an id/));
    }
  });
});

describe('a key', () => {
  const bytes = Uint8Array.from(Buffer.from(KEY, 'hex'));

  it('accepts 16 bytes, hexadecimal digits, or base64url as the same key', () => {
    const base64url = Buffer.from(bytes).toString('base64url');
    for (const key of [bytes, Buffer.from(bytes), KEY.toUpperCase(), base64url, `${base64url}==`]) {
      expect(publicIds({ prefix: 'ord', key }).encode(ID)).toBe(orders.encode(ID));
    }
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (any) => {
        fc.pre(any.some((byte) => byte !== any[0]));
        const [one, other] = (['hex', 'base64url'] as const).map((encoding) => {
          const key = Buffer.from(any).toString(encoding);
          return publicIds({ prefix: 'x', key }).encode(ID);
        });
        expect(one).toBe(other);
      }),
    );
  });

  it('is copied, so the caller may wipe it', () => {
    const own = Uint8Array.from(bytes);
    const form = publicIds({ prefix: 'ord', key: own });
    own.fill(0);
    expect(form.encode(ID)).toBe(orders.encode(ID));
  });

  it('has no unused bit: no other key decodes to the same ID', () => {
    for (let bit = 0; bit < 128; bit++) {
      const other = Uint8Array.from(bytes);
      other[bit >> 3]! ^= 1 << (bit & 7);
      const form = publicIds({ prefix: 'ord', key: other });
      expect(form.encode(ID)).not.toBe(orders.encode(ID));
      expect(form.tryDecode(orders.encode(ID))).not.toBe(ID);
    }
  });

  it.each([
    [undefined, /`key` to be 16 bytes.*got undefined/],
    ['', /a text of 0 characters/],
    [KEY.slice(1), /a text of 31 characters, which is not shown/],
    [`${KEY}0`, /33 characters/],
    [`${KEY.slice(1)}g`, /32 characters/],
    [Buffer.from(bytes).toString('base64url').slice(1), /21 characters/],
    [`${'A'.repeat(21)}B`, /22 characters/],
    [new Uint8Array(15).fill(1), /15 bytes/],
    [new Uint8Array(17).fill(1), /17 bytes/],
    [new Uint8Array(0), /0 bytes/],
    [Array.from(bytes), /a value of type object/],
    [42, /a value of type number/],
    [new Uint8Array(16), /16 equal ones/],
    ['00'.repeat(16), /16 equal ones/],
    ['A'.repeat(22), /16 equal ones/],
  ])('is rejected %#', (key, message) => {
    expect(() => publicIds({ prefix: 'ord', key: key as string })).toThrow(config(message));
  });

  it('never appears in output, whatever option it is passed in', () => {
    const form = publicIds({ prefix: 'ord', key: KEY, keys: { b: LATER } });
    const words = Array.from({ length: 4 }, (_, n) => Buffer.from(bytes).readUInt32LE(4 * n));
    const seen = [
      inspect(form, { showHidden: true, depth: Infinity, getters: true }),
      JSON.stringify(form),
      ...[
        () => form.decode('ord_x'),
        () => form.encode(-1n),
        () => publicIds({ prefix: KEY, key: KEY }),
        () => publicIds({ prefix: 'ord', key: `${KEY}${KEY}` }),
        () => publicIds({ prefix: 'ord', key: KEY, keys: { [LATER]: 'x' } }),
        () => publicIds({ prefix: 'ord', key: KEY, writeKey: LATER }),
        () => publicIds({ prefix: 'ord', key: { [KEY]: LATER } as unknown as string }),
        () => publicIds({ prefix: 'ord', keys: [KEY] as unknown as Record<string, string> }),
      ].map((call) => inspect(errorOf(call), { depth: Infinity })),
    ].join('\n');
    for (const secret of [KEY, LATER, KEY.slice(0, 8), ...words.map(String)]) {
      expect(seen).not.toContain(secret);
    }
  });

  it('can be followed by another key, whose texts carry its letter', () => {
    const both = { prefix: 'ord', key: KEY, keys: { b: LATER } } as const;
    const reads = publicIds(both);
    const writes = publicIds({ ...both, writeKey: 'b' });
    expect(reads.encode(ID)).toBe(orders.encode(ID));
    expect(writes.encode(ID)).toMatch(/^ord_b[1-9A-HJ-NP-Za-km-z]{11}$/);
    for (const form of [reads, writes]) {
      for (const text of [reads.encode(ID), writes.encode(ID)]) {
        expect(form.decode(text)).toBe(ID);
        expect(text).toMatch(new RegExp(form.pattern));
      }
    }
    const later: string = writes.encode(ID);
    expect(() => orders.decode(later)).toThrow(invalid(/has 16 characters. Such an id has 15/));
    expect(() => writes.decode(later.replace('_b', '_c'))).toThrow(invalid(/names the key "c"/));
    expect(() => writes.decode('ord_')).toThrow(invalid(/has 15 or 16/));
    // Drop the first key when its texts need no longer be read.
    const alone = publicIds({ prefix: 'ord', keys: { b: LATER }, writeKey: 'b' });
    expect(alone.decode(later)).toBe(ID);
    expect(alone.tryDecode(reads.encode(ID))).toBeUndefined();
  });

  it('is rejected with every error at once', () => {
    const options = { prefix: 'Order_', keys: { b: 'x', bb: LATER }, writeKey: 'c' };
    const error = errorOf(() => publicIds(options)) as { details: { faults: string[] } };
    expect(error).toEqual(config(/`prefix`.*one letter.*`keys.b`.*`writeKey`/));
    expect(error.details.faults).toHaveLength(4);
  });

  it.each(['', 'Ord', 'ord_', 'o-d', '1rd', 'оrd', 'a'.repeat(17), ' ord', 7, null])(
    'comes with a prefix, not %j',
    (prefix) => {
      expect(() => publicIds({ prefix: prefix as string, key: KEY })).toThrow(config(/`prefix`/));
    },
  );
});

describe('next to other forms', () => {
  it('rejects their texts, and the other forms reject public IDs', () => {
    for (const form of Object.values(textForms)) {
      expect(form.tryDecode(orders.encode(ID))).toBeUndefined();
      expect(orders.tryDecode(form.encode(ID))).toBeUndefined();
    }
  });
});

function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/*
 * The cipher: the vector of its authors, and the properties of a permutation that hides order.
 */
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
  it('matches the published vector', () => {
    const cipher = new Speck64(keyWords(PUBLISHED_KEY));
    expect(through(cipher, 'encrypt', 0x3b72_6574_7475_432dn)).toBe(0x8c6f_a548_454e_028bn);
    expect(through(cipher, 'decrypt', 0x8c6f_a548_454e_028bn)).toBe(0x3b72_6574_7475_432dn);
  });

  it('is a permutation: decryption restores every block, including the edges', () => {
    const cipher = new Speck64(keyWords(PUBLISHED_KEY));
    const edges = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n];
    for (const block of edges) {
      expect(through(cipher, 'decrypt', through(cipher, 'encrypt', block))).toBe(block);
      expect(through(cipher, 'encrypt', through(cipher, 'decrypt', block))).toBe(block);
    }
  });

  it('changes about half of the bits for each bit of the block or of the key', () => {
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

  it('reads a key from a view into a larger buffer', () => {
    const larger = new Uint8Array(40).fill(7);
    larger.set(PUBLISHED_KEY, 5);
    expect(keyWords(larger.subarray(5, 21))).toEqual(keyWords(PUBLISHED_KEY));
  });
});

/** The mean over many blocks is 32 of 64 bits; a value far from it is an error. */
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
