/**
 * The decorator of bigint properties: out as text, in as it comes.
 */
import { describe, expect, it } from '@jest/globals';
import { ClassSerializerInterceptor, Controller, Get, Module } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { instanceToPlain, plainToInstance } from 'class-transformer';
import { SnowflakeText } from '../../lib/http/class-transformer.js';
import { PLATFORMS, serve } from './serve.js';

const ID = 382_366_441_078_288_384n;
const TEXT = '382366441078288384';

class Order {
  @SnowflakeText()
  id: unknown = ID;

  @SnowflakeText()
  lineIds: unknown = [1n, [2n], '3'];

  @SnowflakeText()
  receiverId: unknown = null;

  untouched = 4n;
}

describe('a property', () => {
  it('is text on the way out, and so is a list', () => {
    expect(instanceToPlain(new Order())).toEqual({
      id: TEXT,
      lineIds: ['1', ['2'], '3'],
      receiverId: null,
      untouched: 4n,
    });
  });

  it('that is text already stays as it is', () => {
    expect(instanceToPlain(Object.assign(new Order(), { id: TEXT }))).toMatchObject({ id: TEXT });
  });

  it('is not read on the way in', () => {
    expect(plainToInstance(Order, { id: TEXT }).id).toBe(TEXT);
    expect(plainToInstance(Order, { id: ID }).id).toBe(ID);
  });
});

describe.each(PLATFORMS)('under ClassSerializerInterceptor on %s', (platform) => {
  class Small {
    @SnowflakeText()
    id = ID;
  }
  @Controller()
  class Orders {
    @Get()
    all() {
      return [new Small()];
    }
  }
  @Module({ controllers: [Orders] })
  class App {}

  it('leaves the application as text', async () => {
    const app = await serve(platform, App, (nest) =>
      nest.useGlobalInterceptors(new ClassSerializerInterceptor(nest.get(Reflector))),
    );
    expect((await app.get('/')).body).toEqual([{ id: TEXT }]);
    await app.close();
  });
});
