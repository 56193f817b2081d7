/**
 * `nestjs-snowflake/class-transformer`: bigint properties in a serialised class.
 *
 * In responses a bigint becomes decimal text. Requests are not changed: what a client sends is text
 * and stays text, for a validator to check.
 */
import { Transform } from 'class-transformer';

/**
 * Serialises a bigint property, or a list of bigints, as decimal text; other values are unchanged.
 * For ClassSerializerInterceptor and `instanceToPlain`.
 *
 * @example
 * ```ts
 * import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
 *
 * class Order {
 *   @SnowflakeText()
 *   id!: bigint;
 *
 *   @SnowflakeText()
 *   lineIds!: bigint[];
 * }
 * ```
 */
export function SnowflakeText(): PropertyDecorator {
  return Transform(({ value }) => textOf(value), { toPlainOnly: true });
}

function textOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return Array.isArray(value) ? value.map(textOf) : value;
}
