/**
 * The pipe in real applications: a handler gets an id, a client that sends none gets 400.
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
import { SnowflakeError, layouts, textForms } from 'nestjs-snowflake';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import { PLATFORMS, serve, type Answer, type Served } from './serve.js';

const layout = layouts.snowflake();
const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
const ID = layout.compose({ timestampMs: NOW_MS, workerId: 3, sequence: 5 });
const clock = { now: () => NOW_MS };
const forms = [textForms.base58, textForms.sortableCrockford32];

/** Says what the handler got, and of which type. */
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

  it('hands over a bigint', async () => {
    expect(await get(`/path/${ID}`)).toEqual(bigint);
    expect(await get(`/query?id=${ID}`)).toEqual(bigint);
  });

  it('hands over canonical decimal text whatever form the client wrote', async () => {
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
  ])('answers 400 to the path %#', async (text, message) => {
    const path = text.includes('%') ? text : encodeURIComponent(text);
    expect(await get(`/path/${path}`)).toEqual(refused(message));
  });

  it('answers 400 to a query without the id, with an empty one, and with two', async () => {
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
  ])('answers 400 to the body %#', async (id, message) => {
    const answer = await app.post('/body', { id });
    expect(shownBy(answer)).toEqual(refused(message));
    expect(answer.text.length).toBeLessThan(500);
  });

  it('lets a missing or empty id pass where it is optional, and nothing else', async () => {
    const none = { status: 200, body: { id: 'undefined', type: 'undefined' } };
    expect(await get('/optional')).toEqual(none);
    expect(await get('/optional?id=')).toEqual(none);
    expect(await get(`/optional?id=${ID}`)).toEqual(bigint);
    expect(await get('/optional?id=null')).toEqual(refused(/character 1 is "n"/));
  });

  it('refuses an id from the future', async () => {
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

  it('hands over a bigint of a path, and of a query that has it', async () => {
    expect(await get(`/path/${ID}`)).toEqual(bigint);
    expect(await get(`/query?id=${ID}`)).toEqual(bigint);
    expect(await get('/path/abc')).toEqual(refused(/character 1 is "a"/));
  });

  it('answers 400 to every query and body where the handler takes text', async () => {
    expect(await get(`/query-text?id=${ID}`)).toEqual({ ...bigint, body: told(String(ID)) });
    expect(await get('/query-text')).toEqual(refused(/that the id was sent/));
    expect(await get('/query-text?id=1&id=2')).toEqual(refused(/"1,2", whose character 2 is ","/));
    for (const id of [undefined, null, 42, true, ['1'], { id: '1' }, [[]], 'abc']) {
      expect(shownBy(await app.post('/body-text', { id }))).toEqual(refused(/^Expected an id/));
    }
  });
});

describe('by itself', () => {
  it('throws BadRequestException with the SnowflakeError as its cause', () => {
    const error = errorOf(() => new ParseSnowflakePipe().transform('x'.repeat(5_000_000)));
    expect(error).toBeInstanceOf(BadRequestException);
    expect((error as Error).cause).toBeInstanceOf(SnowflakeError);
    expect((error as Error).message).toBe(((error as Error).cause as Error).message);
  });

  it('refuses options that check nothing, when it is made', () => {
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
