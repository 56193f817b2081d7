/**
 * The DTO decorator: validated directly, and by the ValidationPipe of an application.
 */
import { describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, Post, ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsOptional, ValidateNested, validate } from 'class-validator';
import { layouts } from 'nestjs-snowflake';
import { IsSnowflakeId } from '../../lib/http/class-validator.js';
import { PLATFORMS, serve } from './serve.js';

const layout = layouts.snowflake();
const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
const clock = { now: () => NOW_MS };
const idAt = (timestampMs: number, workerId = 7) =>
  String(layout.compose({ timestampMs, workerId }));

class Line {
  @IsSnowflakeId()
  productId: string;
}

class Order {
  @IsSnowflakeId()
  id: unknown;

  @IsOptional()
  @IsSnowflakeId({ layout, notInFuture: true, workerId: 7, clock })
  fromSeven?: unknown;

  @IsOptional()
  @IsSnowflakeId({}, { each: true })
  couponIds?: unknown;

  @IsOptional()
  @IsSnowflakeId({}, { message: 'not an id', groups: [] })
  note?: unknown;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines?: Line[];
}

async function faultsOf(values: object): Promise<string[]> {
  const errors = await validate(Object.assign(new Order(), { id: '1' }, values));
  return errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
}

describe('a property', () => {
  it('passes as text or bigint, and is left as it is', async () => {
    expect(await faultsOf({ id: '382366441078288384' })).toEqual([]);
    expect(await faultsOf({ id: 382_366_441_078_288_384n })).toEqual([]);
  });

  it.each([
    ['abc', /^id: .*"abc", whose character 1 is "a"/],
    ['', /^id: .*empty/],
    ['007', /^id: .*begins with the zero digit/],
    [42, /^id: .*cannot hold every id/],
    [undefined, /^id: .*that the id was sent/],
    [null, /^id: .*got null/],
    [['1'], /^id: .*\["1"\] \(array\)/],
    [{}, /^id: .*\(object\)/],
    [-1n, /^id: .*from 0 to 9223372036854775807/],
    ['9'.repeat(1_000_000), /^id: .*1000000 characters/],
  ])('is refused as %#, with its name and the reason', async (id, message) => {
    expect(await faultsOf({ id })).toEqual([expect.stringMatching(message)]);
  });

  it('can be held to a layout, the present and a worker', async () => {
    expect(await faultsOf({ fromSeven: idAt(NOW_MS) })).toEqual([]);
    expect(await faultsOf({ fromSeven: idAt(NOW_MS + 901_000) })).toEqual([
      expect.stringMatching(/^fromSeven: .*2026-03-01T00:15:01/),
    ]);
    expect(await faultsOf({ fromSeven: idAt(NOW_MS, 8) })).toEqual([
      expect.stringMatching(/worker 7, got .* worker 8 made/),
    ]);
  });

  it('can be a list, of which the first fault is told', async () => {
    expect(await faultsOf({ couponIds: ['1', '2'] })).toEqual([]);
    expect(await faultsOf({ couponIds: new Set(['1']) })).toEqual([]);
    const fault = [expect.stringMatching(/^couponIds: .*"x", whose/)];
    expect(await faultsOf({ couponIds: ['1', 'x', 'y'] })).toEqual(fault);
    expect(await faultsOf({ couponIds: new Set(['1', 'x']) })).toEqual(fault);
    expect(await faultsOf({ couponIds: new Map([['a', 'x']]) })).toEqual(fault);
  });

  it('may have a message of its own', async () => {
    expect(await faultsOf({ note: 'x' })).toEqual(['not an id']);
  });

  it('refuses checks that need a layout, when the class is loaded', () => {
    expect(() => IsSnowflakeId({ notInFuture: true })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

describe.each(PLATFORMS)('in a ValidationPipe on %s', (platform) => {
  @Controller()
  class Orders {
    @Post()
    create(@Body() order: Order) {
      return { id: order.id, isOrder: order instanceof Order };
    }
  }
  @Module({ controllers: [Orders] })
  class App {}

  it('lets ids pass and answers 400 with the reasons', async () => {
    const pipe = new ValidationPipe({ transform: true, whitelist: true });
    const app = await serve(platform, App, (nest) => nest.useGlobalPipes(pipe));
    const passed = await app.post('/', { id: '5', lines: [{ productId: '6' }] });
    expect(passed).toMatchObject({ status: 201, body: { id: '5', isOrder: true } });
    const refused = await app.post('/', { id: 5, lines: [{ productId: 'x' }] });
    expect(refused).toMatchObject({
      status: 400,
      body: {
        message: [
          expect.stringMatching(/^id: Expected .* 5 \(number\)/),
          expect.stringMatching(/^lines\.0\.productId: Expected .*"x"/),
        ],
      },
    });
    await app.close();
  });
});
