/**
 * Ids as MongoDB's driver hands them out: the Long of BSON leaves as exact text.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Long, deserialize, serialize } from 'bson';
import fc from 'fast-check';
import { SnowflakeJsonInterceptor } from '../../lib/http/index.js';
import { textCopyOf } from '../../lib/http/snowflake-json.interceptor.js';
import { PLATFORMS, serve, type Served } from './serve.js';

const ID = 382_366_441_078_288_385n;
const TEXT = '382366441078288385';

describe('a Long', () => {
  it('is written as the integer it is, signed and unsigned', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
        expect(textCopyOf(Long.fromBigInt(id))).toBe(String(id));
        const unsigned = BigInt.asUintN(64, id);
        expect(textCopyOf(Long.fromBigInt(unsigned, true))).toBe(String(unsigned));
      }),
    );
  });

  it('is found where a document holds it', () => {
    const stored = serialize({ id: ID, below: -ID, lines: [{ id: ID }, { id: 1n }] });
    const document = deserialize(stored, { promoteLongs: false });
    const written = { id: TEXT, below: `-${TEXT}`, lines: [{ id: TEXT }, { id: '1' }] };
    expect(textCopyOf(document)).toEqual(written);
    expect(document['id']).toBeInstanceOf(Long);
  });

  it.each([
    ['JSON of a client', { _bsontype: 'Long', high: 1, low: 2 }],
    [
      'another class',
      new (class {
        _bsontype = 'Long';
        high = 1.5;
        low = 'x';
      })(),
    ],
    [
      'an Int32',
      new (class {
        _bsontype = 'Int32';
        value = 7;
      })(),
    ],
  ])('is not %s, which stays as it is', (_, value) => {
    expect(textCopyOf({ value })).toStrictEqual({ value });
  });
});

@Controller()
class Documents {
  @Get()
  found() {
    return [{ id: Long.fromBigInt(ID), label: 'lean' }];
  }
}

@Module({
  controllers: [Documents],
  providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],
})
class App {}

describe.each(PLATFORMS)('an application on %s', (platform) => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(platform, App);
  });
  afterAll(() => served.close());

  it('sends it as text', async () => {
    const { text } = await served.get('/');
    expect(text).toBe(`[{"id":"${TEXT}","label":"lean"}]`);
  });
});
