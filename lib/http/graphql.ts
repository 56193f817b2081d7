/**
 * `nestjs-snowflake/graphql`: ids in a GraphQL schema.
 *
 * Promise: an id is text on the wire, both ways, and what resolvers get is checked. Numbers in
 * variables are refused, because they have lost digits; a literal without quotes has not.
 */
import {
  GraphQLError,
  GraphQLScalarType,
  Kind,
  valueFromASTUntyped,
  type ValueNode,
} from 'graphql';
import { isSnowflakeError } from '../errors.js';
import { IdCheck, type SnowflakeIdChecks } from './check-id.js';

export type { SnowflakeIdChecks } from './check-id.js';

export interface SnowflakeScalarOptions extends SnowflakeIdChecks {
  /** The name in the schema. Default `SnowflakeID`. */
  readonly name?: string;
}

/**
 * A scalar with checks of its own, for ids of a certain layout.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake';
 * import { snowflakeScalar } from 'nestjs-snowflake/graphql';
 *
 * const OrderID = snowflakeScalar({
 *   name: 'OrderID',
 *   layout: layouts.snowflake(),
 *   notInFuture: true,
 * });
 * ```
 */
export function snowflakeScalar(
  options: SnowflakeScalarOptions = {},
): GraphQLScalarType<string, string> {
  const { name = 'SnowflakeID', ...checks } = options;
  const check = new IdCheck(checks);
  return new GraphQLScalarType<string, string>({
    name,
    description: 'A 64-bit id as decimal text.',
    serialize: (value) => textOf(check, value),
    parseValue: (value) => textOf(check, value),
    parseLiteral: (node) => textOf(check, literalOf(node), node),
  });
}

/**
 * An id: text in answers, in variables and in resolvers. Resolvers may return bigint as well.
 *
 * @example
 * ```ts
 * import { Args, Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
 * import { SnowflakeID } from 'nestjs-snowflake/graphql';
 *
 * @ObjectType()
 * class Order {
 *   @Field(() => SnowflakeID)
 *   id!: string;
 * }
 *
 * @Resolver(() => Order)
 * class OrdersResolver {
 *   @Query(() => Order)
 *   order(@Args('id', { type: () => SnowflakeID }) id: string): Order {
 *     return { id };
 *   }
 * }
 * ```
 */
export const SnowflakeID = snowflakeScalar();

/** The digits of an Int are text in the syntax tree: exact, however many there are. */
function literalOf(node: ValueNode): unknown {
  return node.kind === Kind.INT ? node.value : valueFromASTUntyped(node);
}

function textOf(check: IdCheck, value: unknown, node?: ValueNode): string {
  try {
    return check.idOf(value).toString();
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    const { code } = error;
    throw new GraphQLError(error.message, {
      nodes: node,
      originalError: error,
      extensions: { code },
    });
  }
}
