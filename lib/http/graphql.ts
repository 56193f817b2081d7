/**
 * `nestjs-snowflake/graphql`: IDs in a GraphQL schema.
 *
 * Guarantee: an ID is a string in requests and responses, and resolvers receive only checked IDs. A
 * number in a variable is rejected, because it may have lost digits; a literal without quotes has
 * all of them.
 */
import {
  GraphQLError,
  GraphQLScalarType,
  Kind,
  valueFromASTUntyped,
  type ValueNode,
} from 'graphql';
import { isSnowflakeError } from '../errors.js';
import { later, refused } from '../options.js';
import { textForms } from '../core/text/text-forms.js';
import { IdCheck, type SnowflakeIdChecks } from './check-id.js';

export type { SnowflakeIdChecks };

/** Options of the GraphQL scalar. */
export interface SnowflakeScalarOptions extends SnowflakeIdChecks {
  /**
   * The name in the schema. Default `SnowflakeID`. With a `form`, clients use its strings, and
   * resolvers use decimal strings.
   */
  readonly name?: string | undefined;
}

/**
 * A scalar with its own checks, for IDs of one layout.
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
  const { name = 'SnowflakeID', form = textForms.decimal } = options;
  const check = new IdCheck(options, [], { name: [later, undefined] });
  if (typeof name !== 'string' || !/^[_A-Za-z]\w*$/.test(name)) {
    throw refused(['Expected `name` to be letters, digits and _, and to begin with no digit.']);
  }
  // Resolvers use bigints or decimal strings, whatever clients use. Otherwise, messages of the
  // checks would reveal the number behind a string.
  const inside = options.form === undefined ? check : new IdCheck();
  return new GraphQLScalarType<string, string>({
    name,
    description: `A 64-bit id as ${form.name} text.`,
    serialize: (value) => form.encode(BigInt(textOf(inside, value))),
    parseValue: (value) => textOf(check, value),
    // The syntax tree holds the digits of an Int as a string, so none is lost.
    parseLiteral: (node) =>
      textOf(check, node.kind === Kind.INT ? node.value : valueFromASTUntyped(node), node),
  });
}

/**
 * An ID: a string in responses, variables and resolvers. Resolvers may also return a bigint.
 *
 * @example
 * ```ts
 * import { Args, Field } from '@nestjs/graphql';
 * import { SnowflakeID } from 'nestjs-snowflake/graphql';
 *
 * class Order {@Field(() => SnowflakeID) id!: string}
 *
 * class OrdersResolver {
 *   order(@Args('id', { type: () => SnowflakeID }) id: string): Order {
 *     return { id };
 *   }
 * }
 * ```
 */
export const SnowflakeID = snowflakeScalar();

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
