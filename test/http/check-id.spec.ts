/**
 * The check that all doors share: what is an id, and how the rest is refused.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, layouts, textForms, type Clock, type TextForm } from 'nestjs-snowflake';
import { IdCheck } from '../../lib/http/check-id.js';

const MAX = 2n ** 63n - 1n;
const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
const clock: Clock = { now: () => NOW_MS };
const layout = layouts.snowflake();
const anyId = fc.bigInt({ min: 0n, max: MAX });
const invalid = (message: string | RegExp) =>
  expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
const config = (message: string | RegExp) =>
  expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });

describe('an id', () => {
  it('is what its decimal text or bigint says, for every id', () => {
    const check = new IdCheck();
    fc.assert(
      fc.property(anyId, (id) => {
        expect(check.idOf(String(id))).toBe(id);
        expect(check.idOf(id)).toBe(id);
      }),
    );
  });

  it('has one spelling, so that nobody names one id twice', () => {
    const check = new IdCheck();
    fc.assert(
      fc.property(fc.string(), (text) => {
        const refusal = check.refusalOf(text);
        expect(refusal === undefined).toBe(/^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) <= MAX);
      }),
    );
  });

  it.each([
    ['abc', /"abc", whose character 1 is "a"/],
    ['', /empty/],
    ['-1', /character 1 is "-"/],
    ['12 ', /character 3 is " "/],
    ['1e3', /character 2 is "e"/],
    ['007', /begins with the zero digit/],
    ['٣٤٥', /character 1 is "٣"/],
    ['１２３', /character 1 is "１"/],
    ['9223372036854775808', /larger than 2\^63 - 1/],
    [-1n, /from 0 to 9223372036854775807/],
    [MAX + 1n, /from 0 to 9223372036854775807/],
    [42, /42 \(number\)\. A JavaScript number cannot hold every id/],
    [undefined, /undefined\. Check that the id was sent/],
    [null, /got null\. Send one id, once, as text: "382366441078288384"/],
    [['1', '2'], /\["1","2"\] \(array\)/],
    [{ $gt: '' }, /\{"\$gt":""\} \(object\)/],
    [true, /true \(boolean\)/],
    [Symbol('x'), /a symbol/],
    [() => '1', /a function/],
  ])('is not %p', (value, message) => {
    expect(() => new IdCheck().idOf(value)).toThrow(invalid(message));
  });

  it('is refused in a short message, whatever its length', () => {
    const megabytes = 8_000_000;
    const check = new IdCheck({}, [textForms.base58]);
    for (const text of ['1', 'z', '٣', '\n'].map((character) => character.repeat(megabytes))) {
      expect(check.refusalOf(text)!.length).toBeLessThan(600);
    }
  });

  it('is never looked for in a way that throws anything but ID_INVALID', () => {
    const check = new IdCheck({ layout, notInFuture: true, clock }, [textForms.hex]);
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (value) => {
        const refusal = check.refusalOf(value);
        expect(refusal === undefined || refusal.length < 600).toBe(true);
      }),
    );
  });
});

describe('other forms', () => {
  const forms = Object.entries(textForms) as [string, TextForm][];

  it.each(forms)('%s is read in addition to decimal', (_, form) => {
    const check = new IdCheck({ layout }, [form]);
    // As large as ids of today are: smaller numbers may be text of both forms.
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 17n, max: MAX }), (id) => {
        expect(check.idOf(form.encode(id))).toBe(id);
        expect(check.idOf(String(id))).toBe(id);
      }),
    );
  });

  it('are tried in their order, decimal last unless it is listed', () => {
    const { base62, hex, decimal } = textForms;
    expect(new IdCheck({}, [base62]).idOf('42')).toBe(base62.decode('42'));
    expect(new IdCheck({}, [hex, base62]).idOf('42')).toBe(0x42n);
    expect(new IdCheck({}, [decimal, base62]).idOf('42')).toBe(42n);
  });

  it('count only if the id they read passes the checks', () => {
    const safe = layouts.javascriptSafe();
    const id = 9_007_199_254_740_991n;
    expect(new IdCheck({ layout: safe }, [textForms.hex]).idOf(String(id))).toBe(id);
  });

  it('are named when none of them reads the text', () => {
    const check = new IdCheck({}, [textForms.base58, textForms.crockford32]);
    expect(() => check.idOf('a b')).toThrow(
      invalid(/as base 58 or Crockford base 32 or decimal text, got "a b" \(string\)/),
    );
  });

  it('hide no fault of a form that somebody wrote', () => {
    const broken: TextForm = {
      name: 'broken',
      encode: String,
      decode: () => 1n,
      tryDecode: () => {
        throw new TypeError('a bug');
      },
    };
    expect(() => new IdCheck({}, [broken]).refusalOf('1')).toThrow(TypeError);
  });
});

describe('the layout', () => {
  it('refuses an id of more bits', () => {
    const check = new IdCheck({ layout: layouts.javascriptSafe() });
    expect(check.idOf('9007199254740991')).toBe(9_007_199_254_740_991n);
    expect(() => check.idOf('9007199254740992')).toThrow(invalid(/53 bits.*"9007199254740992"/));
  });

  it('says when an id was made: up to 15 minutes ahead passes', () => {
    const check = new IdCheck({ layout, notInFuture: true, clock });
    const at = (ms: number) => layout.compose({ timestampMs: NOW_MS + ms });
    for (const ms of [-1e9, 0, 900_000]) expect(check.idOf(at(ms))).toBe(at(ms));
    expect(() => check.idOf(String(at(900_001)))).toThrow(
      invalid(/whose time is 2026-03-01T00:15:00\.001Z; here it is 2026-03-01T00:00:00\.000Z/),
    );
    expect(new IdCheck({ layout }).idOf(at(1e12))).toBe(at(1e12));
  });

  it('can be held to another bound', () => {
    const at = (ms: number) => layout.compose({ timestampMs: NOW_MS + ms });
    for (const futureMsMax of [0, 5000, 86_400_000]) {
      const check = new IdCheck({ layout, notInFuture: true, futureMsMax, clock });
      expect(check.find(at(futureMsMax))).toBe(at(futureMsMax));
      expect(check.find(at(futureMsMax + 1))).toBeUndefined();
    }
    for (const futureMsMax of [-1, 0.5, NaN, 86_400_001]) {
      const checks = { layout, notInFuture: true, futureMsMax };
      expect(() => new IdCheck(checks)).toThrow(config(/`futureMsMax` .* 0 to 86400000/));
    }
    expect(() => new IdCheck({ layout, futureMsMax: 1 })).toThrow(config(/notInFuture: true/));
  });

  it('shows even a time that no Date can hold', () => {
    const slow = new BitLayout({
      unitMs: 3_600_000,
      fields: [
        ['timestamp', 43],
        ['worker', 8],
        ['sequence', 12],
      ],
    });
    const check = new IdCheck({ layout: slow, notInFuture: true, clock });
    expect(() => check.idOf(MAX)).toThrow(invalid(/ms after 1970/));
  });

  it('says which worker made an id', () => {
    const check = new IdCheck({ layout, workerId: 7 });
    const of = (workerId: number) => layout.compose({ timestampMs: NOW_MS, workerId });
    expect(check.idOf(of(7))).toBe(of(7));
    expect(() => check.idOf(of(8))).toThrow(invalid(/of worker 7, got .* which worker 8 made/));
  });

  it('has to be given for checks that need it, when the program starts', () => {
    expect(() => new IdCheck({ notInFuture: true })).toThrow(
      config(/`layout` together with `notInFut/),
    );
    expect(() => new IdCheck({ workerId: 0 })).toThrow(config(/`layout` together with `workerId`/));
    expect(() => new IdCheck({ futureMsMax: 0 })).toThrow(
      config(/`layout` together with `futureMsMax`/),
    );
    for (const workerId of [-1, 1024, 1.5, NaN]) {
      expect(() => new IdCheck({ layout, workerId })).toThrow(config(/integer from 0 to 1023/));
    }
  });
});
