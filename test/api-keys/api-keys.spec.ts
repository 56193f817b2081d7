/**
 * Issued, derived, and verified keys: which keys match, and which secrets stay hidden.
 */
import { inspect } from 'node:util';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiKeys, type ApiKeysOptions, hmacApiKey } from '../../lib/api-keys/index.js';
import type { SnowflakeError } from '../../lib/errors.js';
import { runs } from '../until.js';

describe('API keys', () => {
  const OLD = '7d0c1e07b2a8d36515e0c7734ba9f218aaaaaaaaaaaaaaaa0000000000000001';
  const NEW = '6e1f2a18c3b9e47626f1d8845cb0a329bbbbbbbbbbbbbbbb0000000000000002';
  const PEPPER = '5f2a3b29d4cAf58737a2e9956dc1b43acccccccccccccccc0000000000000003';
  const SECRETS = [OLD, NEW, PEPPER];

  const keys = new ApiKeys({ prefix: 'shop_live', pepper: PEPPER, secrets: { a: OLD } });
  const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

  function errorOf(run: () => unknown): SnowflakeError {
    try {
      run();
    } catch (error) {
      return error as SnowflakeError;
    }
    throw new Error('Nothing was thrown.');
  }

  describe('an issued key', () => {
    it('matches its own hash, and contains its ID', () => {
      fc.assert(
        fc.property(id, (of) => {
          const { key, keyId, hash } = keys.issue(of);
          expect(keyId).toBe(String(of));
          expect(keys.parse(key)).toEqual({ keyId });
          expect(key).toMatch(/^shop_live_[0-9A-Za-z]{60}$/);
          expect(hash).toMatch(/^[0-9a-f]{64}$/);
          expect(keys.verify(key, hash)).toBe(true);
          expect(keys.verify(key, hash.toUpperCase())).toBe(true);
          expect(keys.issue(String(of)).keyId).toBe(keyId);
        }),
        { numRuns: runs(200) },
      );
    });

    it('does not match any other hash, one of the same ID, or a missing hash', () => {
      const [one, other] = [keys.issue(7n), keys.issue(7n)];
      expect(one.key).not.toBe(other.key);
      expect(keys.verify(one.key, other.hash)).toBe(false);
      expect(keys.verify(one.key, undefined)).toBe(false);
      expect(keys.verify(one.key, null)).toBe(false);
      expect(keys.verify(one.key, '0'.repeat(64))).toBe(false);
      expect(keys.verifyDerived(one.key)).toBe(false);
    });

    it('does not match if the pepper differs or is missing', () => {
      const { key, hash } = keys.issue(7n);
      const others = [{}, { pepper: OLD }].map(
        (more) => new ApiKeys({ prefix: 'shop_live', ...more }),
      );
      expect(others.map((other) => other.verify(key, hash))).toEqual([false, false]);
    });

    it('has a secret whose every character varies', () => {
      const secrets = Array.from({ length: runs(2000) }, () => keys.issue(7n).key.slice(21, 64));
      expect(new Set(secrets).size).toBe(secrets.length);
      for (let at = 1; at < 43; at++) {
        const seen = new Set(secrets.map((secret) => secret[at]));
        expect(seen.size).toBeGreaterThan(45);
      }
    });

    it.each([['x'], [''], ['0'.repeat(63)], ['g'.repeat(64)], [`${'0'.repeat(64)} `], [7], [{}]])(
      'throws if the table holds %p, without showing it',
      (hash) => {
        const { key } = keys.issue(7n);
        const error = errorOf(() => keys.verify(key, hash as string));
        expect(error.code).toBe('ARGUMENT_INVALID');
        expect(error.message).not.toContain('0000');
      },
    );
  });

  describe('a derived key', () => {
    const before = keys;
    const both = new ApiKeys({
      prefix: 'shop_live',
      secrets: { a: OLD, b: NEW },
      deriveWith: 'b',
    });
    const after = new ApiKeys({ prefix: 'shop_live', secrets: { b: NEW } });

    it('is the same each time, and verifies without stored data', () => {
      fc.assert(
        fc.property(id, (of) => {
          const key = keys.derive(of);
          expect(keys.derive(String(of))).toBe(key);
          expect(keys.parse(key)).toEqual({ keyId: String(of), secretName: 'a' });
          expect(key).toMatch(/^shop_live_a_[0-9A-Za-z]{60}$/);
          expect(keys.verifyDerived(key)).toBe(true);
          expect(keys.verify(key, keys.issue(of).hash)).toBe(false);
        }),
        { numRuns: runs(200) },
      );
    });

    it('verifies with the old and the new secret until the old one is removed', () => {
      const [old, fresh] = [before.derive(7n), both.derive(7n)];
      const verdicts = (key: string) => [before, both, after].map((one) => one.verifyDerived(key));
      expect(verdicts(old)).toEqual([true, true, false]);
      expect(verdicts(fresh)).toEqual([false, true, true]);
      expect(after.parse(old)).toBeUndefined();
    });

    it('does not verify under the name of another secret', () => {
      const swapped = new ApiKeys({ prefix: 'shop_live', secrets: { a: NEW } });
      expect(swapped.parse(before.derive(7n))).toBeDefined();
      expect(swapped.verifyDerived(before.derive(7n))).toBe(false);
    });

    it('cannot be created without a secret', () => {
      const none = new ApiKeys({ prefix: 'shop_live' });
      expect(errorOf(() => none.derive(7n)).code).toBe('CONFIG_INVALID');
    });

    it('stays the same if the caller changes the bytes of the secret', () => {
      const bytes = new TextEncoder().encode(OLD);
      const given = new ApiKeys({ prefix: 'shop_live', secrets: { a: bytes } });
      bytes.fill(0);
      expect(given.derive(7n)).toBe(before.derive(7n));
    });
  });

  describe('an invalid ID', () => {
    it.each([
      [-1n],
      [2n ** 63n],
      [7],
      ['07'],
      ['-7'],
      ['7 '],
      ['9223372036854775808'],
      [''],
      [OLD],
      [undefined],
      [null],
      [{ id: 7n }],
    ])('%# is rejected by every method, and not shown', (value) => {
      const wrong = value as bigint;
      const tries = [
        () => keys.issue(wrong),
        () => keys.derive(wrong),
        () => hmacApiKey(wrong, { secret: OLD, algorithm: 'md5' }),
      ];
      for (const error of tries.map(errorOf)) {
        expect(error.code).toBe('ID_INVALID');
        expect(shownEverywhere(error)).not.toContain(OLD.slice(0, 6));
      }
    });
  });

  describe('options', () => {
    it.each<[string, object | undefined, number, RegExp]>([
      ['none', undefined, 1, /`prefix`/],
      ['no prefix', {}, 1, /`prefix`.*got undefined/],
      ['a prefix in upper case', { prefix: 'Shop' }, 1, /`prefix`/],
      ['a prefix with its underscore', { prefix: 'shop_' }, 1, /last underscore is added/],
      ['a prefix of two underscores', { prefix: 'shop__live' }, 1, /`prefix`/],
      ['a prefix that begins with a digit', { prefix: '7shop' }, 1, /`prefix`/],
      ['a prefix with a line end', { prefix: 'shop\n' }, 1, /`prefix`/],
      ['a long prefix', { prefix: 'a'.repeat(33) }, 1, /not shown/],
      ['an unknown option', { prefix: 'shop', peper: NEW }, 1, /`peper`\. Did you mean `pepper`\?/],
      [
        'a pepper that is not set',
        { prefix: 'shop', pepper: undefined },
        1,
        /`pepper`.*got undefined/,
      ],
      ['an empty pepper', { prefix: 'shop', pepper: '' }, 1, /`pepper`.*0 characters/],
      ['a short pepper', { prefix: 'shop', pepper: NEW.slice(0, 31) }, 1, /31 characters/],
      ['a pepper of one character', { prefix: 'shop', pepper: 'x'.repeat(64) }, 1, /repeated/],
      ['a pepper read from a file', { prefix: 'shop', pepper: `${NEW}\n` }, 1, /white space/],
      ['a pepper that is a number', { prefix: 'shop', pepper: 7 }, 1, /type number/],
      ['secrets that are text', { prefix: 'shop', secrets: NEW }, 1, /`secrets` to be an object/],
      [
        'secrets that are a list',
        { prefix: 'shop', secrets: [NEW] },
        1,
        /`secrets` to be an object/,
      ],
      ['a secret as a name', { prefix: 'shop', secrets: { [NEW]: OLD } }, 1, /64 characters/],
      ['a secret that is not set', { prefix: 'shop', secrets: { a: undefined } }, 1, /secrets\.a/],
      ['ambiguous', { prefix: 'shop', secrets: { a: OLD, b: NEW } }, 1, /which of 2/],
      [
        'a strange choice',
        { prefix: 'shop', secrets: { a: OLD }, deriveWith: NEW },
        1,
        /deriveWith/,
      ],
      ['all wrong', { prefix: NEW, pepper: 'x', secrets: { A: 'y' }, deriveWith: '' }, 5, /prefix/],
    ])(
      'are rejected with all errors at once, and no secret is shown: %s',
      (_what, given, count, said) => {
        const error = errorOf(() => new ApiKeys(given as ApiKeysOptions));
        expect(error.code).toBe('CONFIG_INVALID');
        expect(error.details['faults']).toHaveLength(count);
        expect(error.message).toMatch(said);
        expect(tracesIn(shownEverywhere(error))).toEqual([]);
      },
    );

    it.each([
      [{ secret: '', algorithm: 'md5' }, /`secret`/],
      [{ secret: undefined, algorithm: 'md5' }, /`secret`/],
      [{ secret: OLD, algorithm: 'sha1' }, /`algorithm`.*"sha1"/],
      [{ secret: 'md5', algorithm: OLD }, /not shown/],
    ])('are rejected by hmacApiKey if invalid: %#', (options, said) => {
      const error = errorOf(() => hmacApiKey(7n, options as Parameters<typeof hmacApiKey>[1]));
      expect(error.code).toBe('CONFIG_INVALID');
      expect(error.message).toMatch(said);
      expect(tracesIn(shownEverywhere(error))).toEqual([]);
    });
  });

  describe('secrets', () => {
    it('do not appear if keys are inspected, logged, serialized, or copied', () => {
      const given = new ApiKeys({ prefix: 'shop', pepper: PEPPER, secrets: { a: OLD } });
      const format = [
        inspect(given, { depth: Infinity, showHidden: true, getters: true }),
        JSON.stringify(given),
        JSON.stringify(structuredClone(given)),
        Object.getOwnPropertyNames(given).join(),
      ].join('\n');
      expect(tracesIn(format)).toEqual([]);
    });
  });

  /** As text, as hexadecimal digits, and as a list of bytes. */
  function tracesIn(text: string): string[] {
    const ways = (secret: string) => {
      const part = Buffer.from(secret.slice(0, 8));
      return [secret.slice(0, 8), part.toString('hex'), [...part].join(', '), [...part].join()];
    };
    return SECRETS.flatMap(ways).filter((trace) => text.includes(trace));
  }

  function shownEverywhere(error: SnowflakeError): string {
    const all = inspect(error, { depth: Infinity, showHidden: true });
    return [all, error.message, error.stack, JSON.stringify(error)].join('\n');
  }
});

/*
 * Damage to a key: one character changed, lost, added, or swapped. The grammar rejects each of
 * these before any hash or database query.
 */
describe('damaged keys', () => {
  const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  /** Damage by copying: other scripts, spaces, quotes, line ends, half a character. */
  const CHARACTERS = [...`${ALPHABET}_- \n\t\0"'.,;=é１а`.split(''), '\ud83d', '💥', '\u200b'];
  const SECRET = 'a secret of at least 32 characters';

  const keys = new ApiKeys({
    prefix: 'shop_live',
    secrets: { a: SECRET, b: `${SECRET} b` },
    deriveWith: 'a',
  });
  const id = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
  /** One issued key and one derived key. */
  const key = fc.tuple(id, fc.boolean()).map(([of, isDerived]) => {
    return isDerived ? keys.derive(of) : keys.issue(of).key;
  });

  /** Every text that differs by one mistake. */
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

  /** Every swap of two characters, at any distance. */
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
    it('is never accepted with a single mistake', () => {
      fc.assert(
        fc.property(key, (good) => {
          const read = [...damaged(good)].filter((text) => text !== good && keys.parse(text));
          expect(read).toEqual([]);
          expect(keys.parse(good)).toBeDefined();
        }),
        { numRuns: runs(60) },
      );
    });

    it('is never accepted with two characters swapped', () => {
      fc.assert(
        fc.property(key, (good) => {
          const read = [...swapped(good)].filter((text) => text !== good && keys.parse(text));
          expect(read).toEqual([]);
        }),
        { numRuns: runs(60) },
      );
    });

    it('is rejected after a swap at the border of secret and check, by arithmetic', () => {
      // The check of 32 bits begins with 0 to 4. A swap with the last digit of the secret adds a
      // multiple of 62^5, so its lowest bit is bit 5 or above. The CRC changes by an entry of its
      // table, whose lowest bit is below bit 5.
      const lowestBit = (value: number) => Math.log2(value & -value);
      for (const one of [0, 1, 2, 3, 4]) {
        for (const other of [0, 1, 2, 3, 4].filter((digit) => digit !== one)) {
          const byTable = (crc32(String(one)) ^ crc32(String(other))) >>> 0;
          expect(lowestBit(byTable)).toBeLessThan(5);
          expect(lowestBit(Math.abs(one - other) * 62 ** 5)).toBeGreaterThanOrEqual(5);
        }
      }
    });

    it('differs in length by two characters between issued and derived', () => {
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
    ])('cannot be %p', (value) => {
      const text = value as string;
      expect(keys.parse(text)).toBeUndefined();
      expect(keys.verify(text, '0'.repeat(64))).toBe(false);
      expect(keys.verifyDerived(text)).toBe(false);
    });

    it('is rejected under another prefix, even if the prefixes overlap', () => {
      const names = ['shop', 'shop_live_aa', 'shop_liv', 'shop_livee', 'shop_test', 'live'];
      const others = names.map((prefix) => new ApiKeys({ prefix, secrets: { a: SECRET } }));
      const texts = others.flatMap((other) => [other.issue(7n).key, other.derive(7n)]);
      expect(texts.filter((text) => keys.parse(text) !== undefined)).toEqual([]);
      // This prefix would look like the prefix and the secret name of a derived key.
      expect(() => new ApiKeys({ prefix: 'shop_live_a' })).toThrow('parts of two or more');
    });

    it('is rejected if its ID is above 2^63 - 1, even with a correct check', () => {
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
});
