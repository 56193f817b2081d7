/**
 * The DTO decorator: validated directly, and by the ValidationPipe of an application.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Module,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  Args,
  Field,
  GraphQLSchemaBuilderModule,
  GraphQLSchemaFactory,
  ObjectType,
  Query,
  Resolver,
} from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { instanceToPlain, plainToInstance, Type } from 'class-transformer';
import { IsOptional, validate, ValidateNested } from 'class-validator';
import fc from 'fast-check';
import { graphql, GraphQLSchema, printSchema } from 'graphql';
import { layouts } from 'nestjs-snowflake';
import { z } from 'zod';
import { SnowflakeText } from '../../lib/http/class-transformer.js';
import { IsSnowflakeId } from '../../lib/http/class-validator.js';
import { SnowflakeID, snowflakeScalar } from '../../lib/http/graphql.js';
import { snowflakeBigint, snowflakeId } from '../../lib/http/zod.js';
import { PLATFORMS, serve } from './serve.js';

describe('class validator', () => {
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
    it('accepts a string or bigint, and keeps it', async () => {
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
    ])('rejects %# with its name and the reason', async (id, message) => {
      expect(await faultsOf({ id })).toEqual([expect.stringMatching(message)]);
    });

    it('can check a layout, the present time, and a worker', async () => {
      expect(await faultsOf({ fromSeven: idAt(NOW_MS) })).toEqual([]);
      expect(await faultsOf({ fromSeven: idAt(NOW_MS + 901_000) })).toEqual([
        expect.stringMatching(/^fromSeven: .*2026-03-01T00:15:01/),
      ]);
      expect(await faultsOf({ fromSeven: idAt(NOW_MS, 8) })).toEqual([
        expect.stringMatching(/worker 7, got .* worker 8 made/),
      ]);
    });

    it('can be a list, whose first error is reported', async () => {
      expect(await faultsOf({ couponIds: ['1', '2'] })).toEqual([]);
      expect(await faultsOf({ couponIds: new Set(['1']) })).toEqual([]);
      const fault = [expect.stringMatching(/^couponIds: .*"x", whose/)];
      expect(await faultsOf({ couponIds: ['1', 'x', 'y'] })).toEqual(fault);
      expect(await faultsOf({ couponIds: new Set(['1', 'x']) })).toEqual(fault);
      expect(await faultsOf({ couponIds: new Map([['a', 'x']]) })).toEqual(fault);
    });

    it('can have a custom message', async () => {
      expect(await faultsOf({ note: 'x' })).toEqual(['not an id']);
    });

    it('rejects checks that need a layout at class definition', () => {
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

    it('accepts IDs and responds with 400 and the reasons', async () => {
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
});

/*
 * The decorator of bigint properties: strings in output, unchanged input.
 */
describe('class transformer', () => {
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
    it('is a string in output, including in a list', () => {
      expect(instanceToPlain(new Order())).toEqual({
        id: TEXT,
        lineIds: ['1', ['2'], '3'],
        receiverId: null,
        untouched: 4n,
      });
    });

    it('is unchanged if it is already a string', () => {
      expect(instanceToPlain(Object.assign(new Order(), { id: TEXT }))).toMatchObject({ id: TEXT });
    });

    it('is not decoded on input', () => {
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

    it('leaves the application as a string', async () => {
      const app = await serve(platform, App, (nest) =>
        nest.useGlobalInterceptors(new ClassSerializerInterceptor(nest.get(Reflector))),
      );
      expect((await app.get('/')).body).toEqual([{ id: TEXT }]);
      await app.close();
    });
  });
});

/*
 * The Zod schemas: validated strings, and bigints.
 */
describe('zod', () => {
  const MAX = 2n ** 63n - 1n;
  const TEXT = '382366441078288384';
  const layout = layouts.snowflake();
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const checks = { layout, notInFuture: true, workerId: 7, clock: { now: () => NOW_MS } };
  const idAt = (timestampMs: number, workerId = 7) =>
    String(layout.compose({ timestampMs, workerId }));

  describe('the parsed value', () => {
    it('is the string itself, or its bigint, for every ID', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: MAX }), (id) => {
          const text: string = snowflakeId().parse(String(id));
          const read: bigint = snowflakeBigint().parse(String(id));
          expect([text, read]).toEqual([String(id), id]);
        }),
      );
    });

    it('can be checked against a layout, the present time, and a worker', () => {
      for (const schema of [snowflakeId(checks), snowflakeBigint(checks)]) {
        expect(schema.safeParse(idAt(NOW_MS)).success).toBe(true);
        expect(schema.safeParse(idAt(NOW_MS + 901_000)).success).toBe(false);
        expect(schema.safeParse(idAt(NOW_MS, 8)).success).toBe(false);
      }
    });

    it('fits in objects, lists, and optional properties', () => {
      const Order = z.object({
        id: snowflakeId(),
        couponIds: z.array(snowflakeBigint()),
        receiverId: snowflakeId().optional(),
      });
      const order: z.infer<typeof Order> = Order.parse({ id: '1', couponIds: ['2'] });
      expect(order).toEqual({ id: '1', couponIds: [2n] });
    });
  });

  describe.each([
    ['snowflakeId', snowflakeId()],
    ['snowflakeBigint', snowflakeBigint()],
  ])('%s', (_, schema) => {
    it.each([
      ['abc', /"abc", whose character 1 is "a"/],
      ['', /empty/],
      ['007', /begins with the zero digit/],
      ['٣', /character 1 is "٣"/],
      [String(MAX + 1n), /larger than 2\^63 - 1/],
      ['9'.repeat(1_000_000), /1000000 characters/],
      [42, /42 \(number\)\. A JavaScript number cannot hold every id/],
      [1n, /^Expected an id as text, got 1n \(bigint\)/],
      [undefined, /that the id was sent/],
      [null, /got null/],
      [['1'], /\["1"\] \(array\)/],
      [{}, /\(object\)/],
    ])('rejects %# with one issue that states why', (value, message) => {
      const { error } = schema.safeParse(value);
      expect(error!.issues).toHaveLength(1);
      expect(error!.issues[0]!.message).toMatch(message);
    });

    it('is a string of digits in JSON Schema', () => {
      expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({
        type: 'string',
        format: 'int64',
        pattern: '^(0|[1-9]\\d{0,18})$',
        examples: [TEXT],
      });
    });
  });

  describe('schema checks that need a layout', () => {
    it('are rejected without a layout on construction', () => {
      const config = expect.objectContaining({ code: 'CONFIG_INVALID' });
      expect(() => snowflakeId({ notInFuture: true })).toThrow(config);
      expect(() => snowflakeBigint({ workerId: 1 })).toThrow(config);
    });
  });
});

/*
 * The scalar in a schema that @nestjs/graphql builds, executed by graphql itself.
 */
describe('graphql', () => {
  const ID = '382366441078288384';
  const layout = layouts.snowflake();
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const checks = { layout, notInFuture: true, clock: { now: () => NOW_MS } };
  const OrderID = snowflakeScalar({ name: 'OrderID', ...checks });

  @ObjectType()
  class Order {
    @Field(() => SnowflakeID)
    id: unknown;

    @Field(() => [SnowflakeID], { nullable: true })
    lineIds?: unknown[];

    @Field(() => String)
    given: string;
  }

  @Resolver(() => Order)
  class OrdersResolver {
    @Query(() => Order)
    order(@Args('id', { type: () => SnowflakeID }) id: string): Order {
      return { id, given: typeof id, lineIds: [1n, '2'] };
    }

    @Query(() => Order, { nullable: true })
    broken(): Order {
      return { id: 42, given: '' };
    }

    @Query(() => Boolean)
    ofLayout(@Args('id', { type: () => OrderID, nullable: true }) id?: string): boolean {
      return id !== undefined;
    }
  }

  let schema: GraphQLSchema;
  beforeAll(async () => {
    const app = await Test.createTestingModule({ imports: [GraphQLSchemaBuilderModule] }).compile();
    schema = await app.get(GraphQLSchemaFactory).create([OrdersResolver]);
    // Only the schema is built here: a driver binds resolvers, and none is installed.
    const fields = schema.getQueryType()!.getFields();
    const resolver = new OrdersResolver();
    fields['order']!.resolve = (_, { id }) => resolver.order(id as string);
    fields['broken']!.resolve = () => resolver.broken();
    fields['ofLayout']!.resolve = (_, { id }) => resolver.ofLayout(id as string);
  });

  const run = (source: string, id?: unknown) => graphql({ schema, source, variableValues: { id } });
  const asked = (id: unknown) =>
    run('query ($id: SnowflakeID!) { order(id: $id) { id given lineIds } }', id);
  const messageOf = async (result: ReturnType<typeof run>) => {
    const { errors } = await result;
    expect(errors).toHaveLength(1);
    expect(errors![0]!.extensions).toMatchObject({ code: 'ID_INVALID' });
    return errors![0]!.message;
  };

  describe('the scalar', () => {
    it('is in the schema by its name', () => {
      expect(printSchema(schema)).toContain('scalar SnowflakeID');
      expect(printSchema(schema)).toContain('id: SnowflakeID!');
      expect(printSchema(schema)).toContain('lineIds: [SnowflakeID!]');
      expect(printSchema(schema)).toContain('scalar OrderID');
    });

    it('accepts and returns strings, for resolvers and clients', async () => {
      const order = { id: ID, given: 'string', lineIds: ['1', '2'] };
      expect(await asked(ID)).toEqual({ data: { order } });
      expect(await run(`{ order(id: "${ID}") { id given lineIds } }`)).toEqual({ data: { order } });
    });

    it('accepts an unquoted literal with all its digits', async () => {
      const { data } = await run(`{ order(id: 9223372036854775807) { id } }`);
      expect(data).toEqual({ order: { id: '9223372036854775807' } });
    });

    it.each([
      [42, /cannot hold every id/],
      [382366441078288400, /cannot hold every id/],
      [1.5, /cannot hold every id/],
      [true, /boolean/],
      [['1'], /array/],
      [{ id: '1' }, /object/],
      ['abc', /"abc", whose character 1 is "a"/],
      ['', /empty/],
      ['007', /begins with the zero digit/],
      ['9223372036854775808', /larger than 2\^63 - 1/],
      ['1'.repeat(1_000_000), /1000000 characters/],
    ])('rejects the variable %#', async (id, message) => {
      expect(await messageOf(asked(id))).toMatch(message);
    });

    it.each([
      ['"abc"', /character 1 is "a"/],
      ['-1', /character 1 is "-"/],
      ['9223372036854775808', /larger than 2\^63 - 1/],
      ['1.5', /1\.5 \(number\)/],
      ['true', /boolean/],
      ['ENUM', /"ENUM", whose character 1 is "E"/],
      ['[1, 2]', /\[1,2\] \(array\)/],
      ['{ a: 1 }', /\{"a":1\} \(object\)/],
    ])('rejects the literal %s', async (literal, message) => {
      expect(await messageOf(run(`{ order(id: ${literal}) { id } }`))).toMatch(message);
    });

    it('rejects a number from a resolver', async () => {
      expect(await messageOf(run('{ broken { id } }'))).toMatch(/cannot hold every id/);
    });

    it('can be checked against a layout, and null remains possible if the schema allows it', async () => {
      const idAt = (timestampMs: number) => String(layout.compose({ timestampMs }));
      const source = 'query ($id: OrderID) { ofLayout(id: $id) }';
      expect(await run(source, idAt(NOW_MS))).toEqual({ data: { ofLayout: true } });
      expect((await run(source, null)).errors).toBeUndefined();
      expect(await messageOf(run(source, idAt(NOW_MS + 901_000)))).toMatch(/2026-03-01T00:15:01/);
    });
  });
});
