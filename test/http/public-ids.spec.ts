/**
 * Public IDs at every entry point: public text goes out and in, decimal text is rejected, and no
 * message reveals the number behind a text.
 */
import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Module,
  Param,
  Post,
  Query,
  UseInterceptors,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { graphql, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql';
import {
  IdMaker,
  layouts,
  MemorySupport,
  type PublicId,
  publicIds,
  SnowflakeModule,
  type TextForm,
  textForms,
} from 'nestjs-snowflake';
import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
import { IsSnowflakeId, IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
import { LeaseWindow, prefixedForm, SnowflakeGenerator } from 'nestjs-snowflake/core';
import { snowflakeScalar } from 'nestjs-snowflake/graphql';
import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
import {
  ApiSnowflakeParam,
  ApiSnowflakeProperty,
  ApiSnowflakeQuery,
  snowflakeSchema,
} from 'nestjs-snowflake/swagger';
import { snowflakeBigint, snowflakeId, snowflakeIds } from 'nestjs-snowflake/zod';
import { z } from 'zod';
import { IdCheck } from '../../lib/http/check-id.js';
import { PLATFORMS, serve, type Served } from './serve.js';

describe('public IDs', () => {
  const layout = layouts.snowflake();
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const clock = { now: () => NOW_MS };
  const ID = layout.compose({ timestampMs: NOW_MS, workerId: 3, sequence: 5 });
  const LATE = layout.compose({ timestampMs: NOW_MS + 3_600_000, workerId: 3 });
  const key = '9f4c1e07b2a8d36515e0c7734ba9f218';
  const form = publicIds({ prefix: 'ord', key });
  const customers = publicIds({ prefix: 'cus', key });
  const checks = { form, layout, notInFuture: true, clock } as const;
  const TEXT = form.encode(ID);
  const wrongTexts = [String(ID), customers.encode(ID), TEXT.slice(4), `${TEXT}1`, '', 'ord_'];

  class Order {
    @SnowflakeText({ form })
    @IsSnowflakeId(checks)
    @ApiSnowflakeProperty({ form, readOnly: true })
    id: bigint | string;

    @SnowflakeText({ form: customers })
    @IsSnowflakeIds({ form: customers, countMax: 3 })
    @ApiSnowflakeProperty({ form: customers, isArray: true })
    customerIds: readonly (bigint | string)[];
  }

  @Controller('orders')
  class Orders {
    @Get(':id')
    @ApiSnowflakeParam('id', { form })
    @ApiSnowflakeQuery('after', { form, required: false })
    @UseInterceptors(ClassSerializerInterceptor)
    one(@Param('id', new ParseSnowflakePipe({ ...checks, as: 'text' })) id: string): Order {
      return Object.assign(new Order(), { id, customerIds: [1n, 2n] });
    }

    @Post()
    create(@Body() order: Order): string {
      return `${form.decode(order.id as PublicId<'ord'>)}`;
    }
  }

  @Module({ controllers: [Orders] })
  class App {}

  describe.each(PLATFORMS)('an application on %s', (platform) => {
    let app: Served;
    beforeAll(async () => {
      app = await serve(platform, App, (nest) => nest.useGlobalPipes(new ValidationPipe()));
    });
    afterAll(() => app.close());

    it('accepts and returns public IDs, and uses plain IDs internally', async () => {
      const one = await app.get(`/orders/${TEXT}`);
      const customerIds = [customers.encode(1n), customers.encode(2n)];
      expect(one).toMatchObject({ status: 200, body: { id: TEXT, customerIds } });
      const made = await app.post('/orders', { id: TEXT, customerIds });
      expect(made).toMatchObject({ status: 201, text: String(ID) });
    });

    it('responds with 400 to everything else', async () => {
      for (const text of wrongTexts.filter((wrong) => wrong !== '')) {
        expect(await app.get(`/orders/${text}`)).toMatchObject({ status: 400 });
        const answer = await app.post('/orders', { id: text, customerIds: [] });
        expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('ord_') });
      }
      const many = Array.from({ length: 5000 }, () => 'cus_');
      const answer = await app.post('/orders', { id: TEXT, customerIds: many });
      expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('0 to 3 ids') });
    });

    it('does not reveal the number behind a text', async () => {
      const late = form.encode(LATE);
      for (const answer of [
        await app.get(`/orders/${late}`),
        await app.post('/orders', { id: late, customerIds: [] }),
      ]) {
        expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('made here') });
        expect(answer.text).toContain(late);
        expect(answer.text).not.toMatch(new RegExp(`${LATE}|2026|worker`));
      }
    });
  });

  describe('the only form of a check', () => {
    it('rejects other forms, but accepts a bigint from the program', () => {
      const check = new IdCheck(checks);
      expect([check.find(TEXT), check.find(ID)]).toEqual([ID, ID]);
      for (const text of wrongTexts) expect(check.find(text)).toBeUndefined();
      expect(check.refusalOf(7)).toMatch(/as ord_ text, got 7/);
      expect(check.refusalOf([TEXT])).toContain(`as text: "${form.encode(382366441078288384n)}"`);
    });

    it.each([
      [{ form: undefined }, /`form` to be a text form.*got undefined/],
      [{ form: null }, /got null/],
      [{ form: 'ord' }, /got "ord"/],
      [{ form, forms: [textForms.hex] }, /`form` or `forms`, got both/],
    ])('rejects malformed text: %#', (options, message) => {
      expect(() => new ParseSnowflakePipe(options as { form: TextForm })).toThrow(
        expect.objectContaining({
          code: 'CONFIG_INVALID',
          message: expect.stringMatching(message),
        }),
      );
    });

    it('costs no more for a list of 100,000 invalid texts than for a short list', () => {
      const list = Array.from({ length: 100_000 }, (_, n) => `ord_${n}`);
      const schema = snowflakeIds({ form, countMax: 200_000 });
      expect(schema.safeParse(list).error?.issues).toHaveLength(1);
      const check = new IdCheck(checks);
      expect(list.filter((text) => check.find(text) !== undefined)).toEqual([]);
    });
  });

  describe('validation schemas', () => {
    it('keep or decode the text with Zod', () => {
      expect(snowflakeId(checks).parse(TEXT)).toBe(TEXT);
      expect(snowflakeBigint(checks).parse(TEXT)).toBe(ID);
      expect(snowflakeIds({ form }).parse([TEXT])).toEqual([TEXT]);
      for (const text of wrongTexts)
        expect(snowflakeId(checks).safeParse(text).success).toBe(false);
      const { pattern } = form;
      const example = form.encode(382_366_441_078_288_384n);
      expect(z.toJSONSchema(snowflakeId({ form }))).toMatchObject({ pattern, examples: [example] });
      expect(z.toJSONSchema(snowflakeId({ form }))).not.toHaveProperty('format');
      expect(z.toJSONSchema(snowflakeIds({ form }), { io: 'input' })).toMatchObject({
        items: { type: 'string', pattern },
      });
    });

    it("contain the form's pattern and an accepted example in OpenAPI", async () => {
      const app = await NestFactory.create(App, { logger: false });
      const api = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      await app.close();
      const { pattern } = form;
      const id = { type: 'string', pattern, example: form.encode(382_366_441_078_288_384n) };
      expect(snowflakeSchema(undefined, form)).toEqual(id);
      const description = 'An id as ord_ text. Keep it as it is.';
      expect(api.paths['/orders/{id}']!.get!.parameters).toEqual(
        expect.arrayContaining([
          { name: 'id', in: 'path', required: true, description, schema: id },
          { name: 'after', in: 'query', required: false, description, schema: id },
        ]),
      );
      const items = snowflakeSchema(undefined, customers);
      expect(api.components!.schemas!['Order']).toMatchObject({
        properties: { id: { ...id, readOnly: true }, customerIds: { type: 'array', items } },
      });
    });

    const other: readonly TextForm[] = [
      ...Object.values(textForms),
      prefixedForm('INV-', textForms.decimal),
    ];
    it.each(other)('have an example of $name that matches its pattern', (one) => {
      const { pattern, example } = snowflakeSchema(undefined, one);
      expect(one.tryDecode(example)).toBeDefined();
      expect(example).toMatch(new RegExp(pattern!, 'u'));
    });
  });

  describe('a GraphQL scalar', () => {
    const OrderID = snowflakeScalar({ name: 'OrderID', ...checks });
    const got: unknown[] = [];
    const resolve = (_: unknown, { id }: { id: string }) => {
      got.push(id);
      return id;
    };
    const schema = new GraphQLSchema({
      query: new GraphQLObjectType({
        name: 'Query',
        fields: {
          same: { type: OrderID, args: { id: { type: OrderID } }, resolve },
          plain: { type: OrderID, resolve: () => ID },
          none: { type: OrderID, resolve: () => 'a customer' },
          text: { type: GraphQLString, resolve: () => '' },
        },
      }),
    });
    const ask = (source: string, id?: string) =>
      graphql({ schema, source, ...(id !== undefined && { variableValues: { id } }) });

    it('gives public IDs to clients, and decimal text to resolvers', async () => {
      const byVariable = await ask('query ($id: OrderID) { same(id: $id) plain }', TEXT);
      expect(byVariable).toEqual({ data: { same: TEXT, plain: TEXT } });
      expect(await ask(`{ same(id: "${TEXT}") }`)).toEqual({ data: { same: TEXT } });
      expect(got).toEqual([String(ID), String(ID)]);
      expect(OrderID.description).toBe('A 64-bit id as ord_ text.');
    });

    it('rejects everything else, in both directions', async () => {
      for (const text of [...wrongTexts, form.encode(LATE)]) {
        const { errors } = await ask('query ($id: OrderID) { same(id: $id) }', text);
        expect(errors?.[0]?.message).not.toContain(String(LATE));
        expect(errors).toHaveLength(1);
      }
      expect((await ask(`{ same(id: ${ID}) }`)).errors).toHaveLength(1);
      expect((await ask('{ none }')).errors).toHaveLength(1);
    });
  });

  describe('a serialized class', () => {
    it('sends only IDs and null', async () => {
      const { instanceToPlain } = await import('class-transformer');
      const order = (id: unknown) => Object.assign(new Order(), { id, customerIds: null });
      expect(instanceToPlain(order(null))).toEqual({ id: null, customerIds: null });
      expect(instanceToPlain(order(String(ID)))).toEqual({ id: TEXT, customerIds: null });
      for (const wrong of [TEXT, 'abc', 7, {}]) {
        expect(() => instanceToPlain(order(wrong))).toThrow(
          expect.objectContaining({ code: 'ID_INVALID' }),
        );
      }
    });

    it('rejects an invalid form at class definition', () => {
      expect(() => SnowflakeText({ form: undefined })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
    });
  });
});

/*
 * `notInFuture` accepts IDs of the same process, even after its clock moved back.
 */
describe('own IDs', () => {
  const layout = layouts.snowflake();
  const HOUR_MS = 3_600_000;
  // Earlier than every ID of another test, as the process keeps its latest ID time.
  const NOW_MS = Date.parse('2026-03-01T00:00:00Z');
  const clockAt = (ms: number) => ({ now: () => ms });
  const checkAt = (ms: number) => new IdCheck({ layout, notInFuture: true, clock: clockAt(ms) });
  const idAt = (timestampMs: number) => layout.compose({ timestampMs });

  describe('IDs of this process', () => {
    it('pass up to the end of its lease, the limit for the whole fleet', () => {
      const window = new LeaseWindow(layout);
      // The registry's clock moved back by hours, and the IDs continue from their latest time.
      const ceilingMs = NOW_MS + 3 * HOUR_MS;
      expect(checkAt(NOW_MS).find(idAt(ceilingMs - 1))).toBeUndefined();
      const range = window.grant({ workerId: 1, floorMs: NOW_MS, ceilingMs });
      expect(checkAt(NOW_MS).find(idAt(ceilingMs - 1))).toBe(idAt(ceilingMs - 1));
      expect(checkAt(NOW_MS).find(idAt(ceilingMs + 1))).toBeUndefined();
      window.raise(range, ceilingMs + HOUR_MS);
      expect(checkAt(NOW_MS).find(idAt(ceilingMs + HOUR_MS))).toBe(idAt(ceilingMs + HOUR_MS));
    });

    it('pass after the clock behind a static worker ID moved back', () => {
      const window = new LeaseWindow(layout);
      window.grant({ workerId: 1, floorMs: -Infinity, ceilingMs: Infinity });
      const madeAtMs = NOW_MS + 10 * HOUR_MS;
      expect(checkAt(NOW_MS).find(idAt(madeAtMs))).toBeUndefined();
      const id = new SnowflakeGenerator(window, { clock: clockAt(madeAtMs) }).nextId();
      expect(checkAt(NOW_MS).find(id)).toBe(id);
      expect(checkAt(NOW_MS).find(idAt(madeAtMs + HOUR_MS))).toBeUndefined();
    });

    it('pass on a new registry with the longest lease, on a host that is far behind', async () => {
      const options = {
        support: new MemorySupport(),
        layout,
        leaseTtlMs: 600_000,
      };
      const built = await Test.createTestingModule({
        imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
      }).compile();
      const app = await built.createNestApplication({ logger: false }).init();
      const ids = app.get(IdMaker).nextIdStrings(5000);
      const check = checkAt(Date.now() - 5000);
      expect(ids.filter((id) => check.find(id) === undefined)).toEqual([]);
      await app.close();
    });
  });

  describe('two copies of the package', () => {
    it('share their latest ID time', () => {
      const shared = globalThis as unknown as Record<symbol, { ms: number }>;
      const reach = shared[Symbol.for('nestjs-snowflake:latest-id-time')]!;
      const id = idAt(reach.ms + HOUR_MS);
      expect(checkAt(NOW_MS).find(id)).toBeUndefined();
      reach.ms += HOUR_MS;
      expect(checkAt(NOW_MS).find(id)).toBe(id);
    });
  });
});

/*
 * The decorators in an OpenAPI document that Nest generates for a real application.
 */
describe('swagger', () => {
  class Order {
    @ApiSnowflakeProperty({ readOnly: true })
    id: string;

    @ApiSnowflakeProperty({ description: 'Who gets it', nullable: true, required: false })
    receiverId: bigint | null;

    @ApiSnowflakeProperty({ isArray: true, example: '42' })
    lineIds: string[];
  }

  @Controller('orders')
  class Orders {
    @Get(':id')
    @ApiSnowflakeParam('id', { description: 'The order' })
    one(@Param('id', ParseSnowflakePipe) id: bigint) {
      return { id };
    }

    @Get()
    @ApiSnowflakeQuery('after', { required: false, deprecated: true })
    @ApiSnowflakeQuery('not', { isArray: true })
    page(@Query('after') after?: bigint, @Query('not') not?: string[]) {
      return { after, not };
    }

    @Post()
    create(@Body() order: Order) {
      return order;
    }
  }

  @Module({ controllers: [Orders] })
  class App {}

  const ID = {
    type: 'string',
    format: 'int64',
    pattern: '^(0|[1-9]\\d{0,18})$',
    example: '382366441078288384',
  };

  describe('the OpenAPI document', () => {
    let api: OpenAPIObject;
    beforeAll(async () => {
      const app = await NestFactory.create(App, { logger: false });
      api = SwaggerModule.createDocument(app, new DocumentBuilder().build());
      await app.close();
    });
    const parametersOf = (path: string) => api.paths[path]!.get!.parameters as object[];

    it('shows an ID in the path as a string, even if the handler expects a bigint', () => {
      expect(parametersOf('/orders/{id}')).toEqual([
        { name: 'id', in: 'path', required: true, description: 'The order', schema: ID },
      ]);
    });

    it('shows one or several IDs in the query', () => {
      const description = expect.stringMatching(/decimal text/);
      const { example, ...items } = ID;
      const list = { type: 'array', items, example: [example] };
      expect(parametersOf('/orders')).toHaveLength(2);
      expect(parametersOf('/orders')).toEqual(
        expect.arrayContaining([
          {
            name: 'after',
            in: 'query',
            required: false,
            deprecated: true,
            description,
            schema: ID,
          },
          { name: 'not', in: 'query', required: true, description, schema: list },
        ]),
      );
    });

    it('shows properties with IDs, or with lists of IDs', () => {
      const description = expect.stringMatching(/decimal text/);
      expect(api.components!.schemas!['Order']).toEqual({
        type: 'object',
        required: ['id', 'lineIds'],
        properties: {
          id: { ...ID, description, readOnly: true },
          receiverId: { ...ID, description: 'Who gets it', nullable: true },
          lineIds: { type: 'array', description, items: { ...ID, example: '42' } },
        },
      });
    });

    it('contains no bigint schema', () => {
      expect(Object.keys(api.components!.schemas!)).toEqual(['Order']);
    });

    it('contains a real ID as its example', () => {
      const { timestampMs } = layouts.snowflake().parse(ID.example);
      expect(timestampMs).toBeGreaterThan(Date.parse('2026-01-01'));
      expect(ID.example).toMatch(new RegExp(ID.pattern));
    });
  });
});
