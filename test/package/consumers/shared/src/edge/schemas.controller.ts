import { Body, Controller, Get, Post } from '@nestjs/common';
import { GraphQLNonNull, GraphQLObjectType, GraphQLSchema, graphql } from 'graphql';
import { SnowflakeID } from 'nestjs-snowflake/graphql';
import { snowflakeBigint, snowflakeId, snowflakeIds } from 'nestjs-snowflake/zod';
import { z } from 'zod';

const CreateRefund = z.object({
  customerId: snowflakeId(),
  after: snowflakeBigint(),
  couponIds: snowflakeIds(),
});

const args = { after: { type: new GraphQLNonNull(SnowflakeID) } };
const resolve = (_root: unknown, { after }: { after: string }): bigint => BigInt(after) + 1n;
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({
    name: 'Query',
    fields: { next: { type: SnowflakeID, args, resolve } },
  }),
});

/** Ids that a schema of Zod or of GraphQL reads and writes. */
@Controller()
export class SchemasController {
  @Post('refunds')
  refund(@Body() body: unknown): object {
    const { data, error } = CreateRefund.safeParse(body);
    if (error) return { issues: error.issues.map(({ path, message }) => ({ path, message })) };
    return { customerId: data.customerId, next: String(data.after + 1n) };
  }

  @Get('refunds/schema')
  schema(): object {
    return z.toJSONSchema(CreateRefund, { io: 'input' });
  }

  @Post('graphql')
  async query(@Body() { after }: { after: unknown }): Promise<object> {
    const source = 'query($after: SnowflakeID!) { next(after: $after) }';
    const { data, errors } = await graphql({ schema, source, variableValues: { after } });
    return { data, errors };
  }
}
