/**
 * `nestjs-snowflake/class-transformer`: bigint properties in a serialized class.
 *
 * Responses contain a decimal string for a bigint. Requests are not changed: a client sends
 * strings, and a validator checks them.
 */
import { Transform } from 'class-transformer';
import type { TextForm } from '../core/text/text-form.js';
import { IdCheck } from './check-id.js';

/** Options of `@SnowflakeText()`. */
export interface SnowflakeTextOptions {
  /** The form to write, such as that of `publicIds()`. Default: decimal. */
  readonly form?: TextForm | undefined;
}

/**
 * Serializes a bigint property, or a list of bigints, as decimal strings; other values stay
 * unchanged. With a `form`, IDs in decimal strings are written in it as well, and a value that is
 * not an ID throws ID_INVALID. For ClassSerializerInterceptor and `instanceToPlain`.
 *
 * @example
 * ```ts
 * import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
 *
 * class Order {@SnowflakeText() id!: bigint}
 * class Cart {@SnowflakeText() lineIds!: bigint[]}
 * ```
 */
export function SnowflakeText(options: SnowflakeTextOptions = {}): PropertyDecorator {
  // The check reports a form that is undefined by mistake.
  new IdCheck(options);
  const { form } = options;
  const textOfAny = form === undefined ? textOf : (value: unknown) => textIn(form, value);
  return Transform(({ value }) => textOfAny(value), { toPlainOnly: true });
}

const anyId = new IdCheck();

function textIn(form: TextForm, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map((one) => textIn(form, one));
  return form.encode(anyId.idOf(value));
}

function textOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return Array.isArray(value) ? value.map(textOf) : value;
}
