/**
 * The scalar in a schema that @nestjs/graphql builds, executed by graphql itself.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
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
import { GraphQLSchema, graphql, printSchema } from 'graphql';
import { layouts } from 'nestjs-snowflake';
import { SnowflakeID, snowflakeScalar } from '../../lib/http/graphql.js';

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
  // The schema alone is built here; resolvers are bound by a driver, and no driver is installed.
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
  it('is in the schema under its name', () => {
    expect(printSchema(schema)).toContain('scalar SnowflakeID');
    expect(printSchema(schema)).toContain('id: SnowflakeID!');
    expect(printSchema(schema)).toContain('lineIds: [SnowflakeID!]');
    expect(printSchema(schema)).toContain('scalar OrderID');
  });

  it('takes text and gives text, to resolvers and clients', async () => {
    const order = { id: ID, given: 'string', lineIds: ['1', '2'] };
    expect(await asked(ID)).toEqual({ data: { order } });
    expect(await run(`{ order(id: "${ID}") { id given lineIds } }`)).toEqual({ data: { order } });
  });

  it('takes a literal without quotes, whose digits are all there', async () => {
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
  ])('refuses the variable %#', async (id, message) => {
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
  ])('refuses the literal %s', async (literal, message) => {
    expect(await messageOf(run(`{ order(id: ${literal}) { id } }`))).toMatch(message);
  });

  it('refuses a number that a resolver returns', async () => {
    expect(await messageOf(run('{ broken { id } }'))).toMatch(/cannot hold every id/);
  });

  it('can be held to a layout, and null stays possible where the schema says so', async () => {
    const idAt = (timestampMs: number) => String(layout.compose({ timestampMs }));
    const source = 'query ($id: OrderID) { ofLayout(id: $id) }';
    expect(await run(source, idAt(NOW_MS))).toEqual({ data: { ofLayout: true } });
    expect((await run(source, null)).errors).toBeUndefined();
    expect(await messageOf(run(source, idAt(NOW_MS + 901_000)))).toMatch(/2026-03-01T00:15:01/);
  });
});
