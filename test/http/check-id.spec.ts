/**
 * The check that every entry point shares: which values are IDs, and how others are rejected.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Module,
  Param,
  Post,
  Query,
  ValidationPipe,
} from '@nestjs/common';
import fc from 'fast-check';
import {
  BitLayout,
  type Clock,
  layouts,
  SnowflakeError,
  type TextForm,
  textForms,
} from 'nestjs-snowflake';
import { IdCheck } from '../../lib/http/check-id.js';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import { type Answer, PLATFORMS, serve, type Served } from './serve.js';

describe('check id', () => {
  const MAX = 2n ** 63n - 1n;
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const clock: Clock = { now: () => NOW_MS };
  const layout = layouts.snowflake();
  const anyId = fc.bigInt({ min: 0n, max: MAX });
  const invalid = (message: string | RegExp) =>
    expect.objectContaining({ code: 'ID_INVALID', message: expect.stringMatching(message) });
  const config = (message: string | RegExp) =>
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });

  describe('an ID', () => {
    it('matches its decimal text or bigint, for every ID', () => {
      const check = new IdCheck();
      fc.assert(
        fc.property(anyId, (id) => {
          expect(check.idOf(String(id))).toBe(id);
          expect(check.idOf(id)).toBe(id);
        }),
      );
    });

    it('has one spelling, so no ID has two names', () => {
      const check = new IdCheck();
      fc.assert(
        fc.property(fc.string(), (text) => {
          const refusal = check.refusalOf(text);
          expect(refusal === undefined).toBe(
            /^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) <= MAX,
          );
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
    ])('cannot be %p', (value, message) => {
      expect(() => new IdCheck().idOf(value)).toThrow(invalid(message));
    });

    it('is rejected with a short message, whatever its length', () => {
      const megabytes = 8_000_000;
      const check = new IdCheck({}, [textForms.base58]);
      for (const text of ['1', 'z', '٣', '\n'].map((character) => character.repeat(megabytes))) {
        expect(check.refusalOf(text)!.length).toBeLessThan(600);
      }
    });

    it('fails only with ID_INVALID, for any value', () => {
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

    it.each(forms)('%s is accepted in addition to decimal', (_, form) => {
      const check = new IdCheck({ layout }, [form]);
      // Today's IDs have this size; a smaller number may be text of both forms.
      fc.assert(
        fc.property(fc.bigInt({ min: 10n ** 17n, max: MAX }), (id) => {
          expect(check.idOf(form.encode(id))).toBe(id);
          expect(check.idOf(String(id))).toBe(id);
        }),
      );
    });

    it('are tried in their order, decimal last unless listed', () => {
      const { base62, hex, decimal } = textForms;
      expect(new IdCheck({}, [base62]).idOf('42')).toBe(base62.decode('42'));
      expect(new IdCheck({}, [hex, base62]).idOf('42')).toBe(0x42n);
      expect(new IdCheck({}, [decimal, base62]).idOf('42')).toBe(42n);
    });

    it('apply only if the decoded ID passes the checks', () => {
      const safe = layouts.javascriptSafe();
      const id = 9_007_199_254_740_991n;
      expect(new IdCheck({ layout: safe }, [textForms.hex]).idOf(String(id))).toBe(id);
    });

    it('are listed in the error if none of them decodes the text', () => {
      const check = new IdCheck({}, [textForms.base58, textForms.crockford32]);
      expect(() => check.idOf('a b')).toThrow(
        invalid(/as base 58 or Crockford base 32 or decimal text, got "a b" \(string\)/),
      );
    });

    it('do not hide an error of a custom form', () => {
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

  describe('a check with a layout', () => {
    it('rejects an ID with more bits', () => {
      const check = new IdCheck({ layout: layouts.javascriptSafe() });
      expect(check.idOf('9007199254740991')).toBe(9_007_199_254_740_991n);
      expect(() => check.idOf('9007199254740992')).toThrow(invalid(/53 bits.*"9007199254740992"/));
    });

    it('returns the time of an ID, and accepts IDs up to 15 minutes ahead', () => {
      const check = new IdCheck({ layout, notInFuture: true, clock });
      const at = (ms: number) => layout.compose({ timestampMs: NOW_MS + ms });
      for (const ms of [-1e9, 0, 900_000]) expect(check.idOf(at(ms))).toBe(at(ms));
      expect(() => check.idOf(String(at(900_001)))).toThrow(
        invalid(/whose time is 2026-03-01T00:15:00\.001Z; here it is 2026-03-01T00:00:00\.000Z/),
      );
      expect(new IdCheck({ layout }).idOf(at(1e12))).toBe(at(1e12));
    });

    it('accepts another bound', () => {
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

    it('shows even a time outside the range of Date', () => {
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

    it('returns the worker ID of an ID', () => {
      const check = new IdCheck({ layout, workerId: 7 });
      const of = (workerId: number) => layout.compose({ timestampMs: NOW_MS, workerId });
      expect(check.idOf(of(7))).toBe(of(7));
      expect(() => check.idOf(of(8))).toThrow(invalid(/of worker 7, got .* which worker 8 made/));
    });

    it('is required at startup for checks that need a layout', () => {
      expect(() => new IdCheck({ notInFuture: true })).toThrow(
        config(/`layout` together with `notInFut/),
      );
      expect(() => new IdCheck({ workerId: 0 })).toThrow(
        config(/`layout` together with `workerId`/),
      );
      expect(() => new IdCheck({ futureMsMax: 0 })).toThrow(
        config(/`layout` together with `futureMsMax`/),
      );
      for (const workerId of [-1, 1024, 1.5, NaN]) {
        expect(() => new IdCheck({ layout, workerId })).toThrow(config(/integer from 0 to 1023/));
      }
    });
  });
});

/*
 * The pipe in real applications: the handler gets an ID, or the client gets 400.
 */
describe('parse snowflake pipe', () => {
  const layout = layouts.snowflake();
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const ID = layout.compose({ timestampMs: NOW_MS, workerId: 3, sequence: 5 });
  const clock = { now: () => NOW_MS };
  const forms = [textForms.base58, textForms.sortableCrockford32];

  /** Returns the handler's argument and its type. */
  const told = (id: unknown) => ({ id: String(id), type: typeof id });

  @Controller()
  class Doors {
    @Get('path/:id')
    path(@Param('id', ParseSnowflakePipe) id: bigint) {
      return told(id);
    }

    @Get('text/:id')
    text(@Param('id', new ParseSnowflakePipe({ as: 'text', forms })) id: string) {
      return told(id);
    }

    @Get('query')
    query(@Query('id', ParseSnowflakePipe) id: bigint) {
      return told(id);
    }

    @Get('optional')
    optional(@Query('id', new ParseSnowflakePipe({ optional: true })) id?: bigint) {
      return told(id);
    }

    @Get('now/:id')
    now(@Param('id', new ParseSnowflakePipe({ layout, notInFuture: true, clock })) id: bigint) {
      return told(id);
    }

    @Get('query-text')
    queryText(@Query('id', new ParseSnowflakePipe({ as: 'text' })) id: string) {
      return told(id);
    }

    @Post('body-text')
    bodyText(@Body('id', new ParseSnowflakePipe({ as: 'text' })) id: string) {
      return told(id);
    }

    @Post('body')
    body(@Body('id', ParseSnowflakePipe) id: bigint) {
      return told(id);
    }
  }

  @Module({ controllers: [Doors] })
  class App {}

  const refused = (message: RegExp) => ({
    status: 400,
    body: { statusCode: 400, error: 'Bad Request', message: expect.stringMatching(message) },
  });
  const bigint = { status: 200, body: { id: String(ID), type: 'bigint' } };
  const shownBy = ({ status, body }: Answer) => ({ status, body });

  describe.each(PLATFORMS)('on %s', (platform) => {
    let app: Served;
    beforeAll(async () => {
      app = await serve(platform, App);
    });
    afterAll(() => app.close());
    const get = async (path: string) => shownBy(await app.get(path));

    it('passes a bigint to the handler', async () => {
      expect(await get(`/path/${ID}`)).toEqual(bigint);
      expect(await get(`/query?id=${ID}`)).toEqual(bigint);
    });

    it('passes canonical decimal text, whatever form the client used', async () => {
      const text = { status: 200, body: { id: String(ID), type: 'string' } };
      const { base58, sortableCrockford32 } = textForms;
      expect(await get(`/text/${ID}`)).toEqual(text);
      expect(await get(`/text/${base58.encode(ID)}`)).toEqual(text);
      expect(await get(`/text/${sortableCrockford32.encode(ID).toLowerCase()}`)).toEqual(text);
    });

    it.each([
      ['abc', /character 1 is "a"/],
      ['-1', /character 1 is "-"/],
      ['1.5', /character 2 is "\."/],
      ['007', /begins with the zero digit/],
      ['9223372036854775808', /larger than 2\^63 - 1/],
      ['1'.repeat(90), /90 characters/],
      ['٣٤٥', /character 1 is "٣"/],
      ['１２３', /character 1 is "１"/],
      ['1%002', /character 2 is "\\u0000"/],
      ['%20', /character 1 is " "/],
      ['<script>', /character 1 is "<"/],
    ])('responds to the path %# with 400', async (text, message) => {
      const path = text.includes('%') ? text : encodeURIComponent(text);
      expect(await get(`/path/${path}`)).toEqual(refused(message));
    });

    it('responds with 400 to a query with no ID, an empty ID, or two IDs', async () => {
      expect(await get('/query')).toEqual(refused(/that the id was sent/));
      expect(await get('/query?id=')).toEqual(refused(/which is empty/));
      expect(await get('/query?id=1&id=2')).toEqual(refused(/\["1","2"\] \(array\)/));
      expect(await get('/query?id[]=1')).toMatchObject({ status: 400 });
      expect(await get('/query?id[a]=1')).toMatchObject({ status: 400 });
    });

    it.each([
      [42, /cannot hold every id/],
      [9e15, /cannot hold every id/],
      [null, /got null/],
      [true, /boolean/],
      [['1'], /array/],
      [{ id: '1' }, /object/],
      ['1'.repeat(90_000), /90000 characters/],
      [Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [n, n])), /\.\.\./],
    ])('responds to the body %# with 400', async (id, message) => {
      const answer = await app.post('/body', { id });
      expect(shownBy(answer)).toEqual(refused(message));
      expect(answer.text.length).toBeLessThan(500);
    });

    it('accepts only a missing or empty ID if the ID is optional', async () => {
      const none = { status: 200, body: { id: 'undefined', type: 'undefined' } };
      expect(await get('/optional')).toEqual(none);
      expect(await get('/optional?id=')).toEqual(none);
      expect(await get(`/optional?id=${ID}`)).toEqual(bigint);
      expect(await get('/optional?id=null')).toEqual(refused(/character 1 is "n"/));
    });

    it('rejects an ID from the future', async () => {
      expect(await get(`/now/${ID}`)).toEqual(bigint);
      const late = layout.compose({ timestampMs: NOW_MS + 3_600_000 });
      expect(await get(`/now/${late}`)).toEqual(refused(/2026-03-01T01:00:00/));
    });
  });

  describe.each(PLATFORMS)('behind a global ValidationPipe that transforms, on %s', (platform) => {
    let app: Served;
    beforeAll(async () => {
      const strict = { transform: true, whitelist: true, forbidNonWhitelisted: true };
      app = await serve(platform, App, (nest) => nest.useGlobalPipes(new ValidationPipe(strict)));
    });
    afterAll(() => app.close());
    const get = async (path: string) => shownBy(await app.get(path));

    it('passes a bigint from a path or a query to the handler', async () => {
      expect(await get(`/path/${ID}`)).toEqual(bigint);
      expect(await get(`/query?id=${ID}`)).toEqual(bigint);
      expect(await get('/path/abc')).toEqual(refused(/character 1 is "a"/));
    });

    it('responds with 400 to every query and body if the handler expects a string', async () => {
      expect(await get(`/query-text?id=${ID}`)).toEqual({ ...bigint, body: told(String(ID)) });
      expect(await get('/query-text')).toEqual(refused(/that the id was sent/));
      expect(await get('/query-text?id=1&id=2')).toEqual(
        refused(/"1,2", whose character 2 is ","/),
      );
      for (const id of [undefined, null, 42, true, ['1'], { id: '1' }, [[]], 'abc']) {
        expect(shownBy(await app.post('/body-text', { id }))).toEqual(refused(/^Expected an id/));
      }
    });
  });

  describe('without an application', () => {
    it('throws BadRequestException with the SnowflakeError as its cause', () => {
      const error = errorOf(() => new ParseSnowflakePipe().transform('x'.repeat(5_000_000)));
      expect(error).toBeInstanceOf(BadRequestException);
      expect((error as Error).cause).toBeInstanceOf(SnowflakeError);
      expect((error as Error).message).toBe(((error as Error).cause as Error).message);
    });

    it('rejects options without a check on construction', () => {
      expect(() => new ParseSnowflakePipe({ notInFuture: true })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
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
});
