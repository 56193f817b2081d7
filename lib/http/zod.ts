/**
 * `nestjs-snowflake/zod`: IDs in schemas of Zod 4.3 and later.
 *
 * Guarantee: only an ID parses, and each rejection is one issue with the reason. The input is a
 * string; the name of the schema tells whether the output is a string or a bigint.
 */
import { z } from 'zod';
import { formatShort } from '../messages.js';
import {
  IdListCheck,
  IdCheck,
  idSchemaOf,
  type SnowflakeIdListChecks,
  type SnowflakeIdChecks,
} from './check-id.js';

export type { SnowflakeIdListChecks, SnowflakeIdChecks };

/**
 * An ID as decimal string, checked and left as a string.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake';
 * import { snowflakeId } from 'nestjs-snowflake/zod';
 * import { z } from 'zod';
 *
 * const CreateOrder = z.object({
 *   customerId: snowflakeId({ layout: layouts.snowflake(), notInFuture: true }),
 * });
 * ```
 */
export function snowflakeId(checks: SnowflakeIdChecks = {}): z.ZodString {
  const check = new IdCheck(checks);
  return idText(check, checks).check((context) => {
    const message = check.refusalOf(context.value);
    if (message === undefined) return;
    context.issues.push({ code: 'custom', message, input: context.value });
  });
}

/** An ID as decimal string, checked and read into a bigint. */
export function snowflakeBigint(
  checks: SnowflakeIdChecks = {},
): z.ZodPipe<z.ZodString, z.ZodTransform<bigint, string>> {
  const check = new IdCheck(checks);
  return idText(check, checks).transform((text, context) => {
    const id = check.find(text);
    if (id !== undefined) return id;
    context.issues.push({ code: 'custom', message: check.refusalOf(text), input: text });
    return z.NEVER;
  });
}

/**
 * A list of 0 to 10,000 IDs as decimal strings, checked and left as strings; `countMin` and
 * `countMax` change the limits. A longer list is rejected unread, and only the first value that is
 * not an ID is an issue. By contrast, `z.array(snowflakeId()).max(100)` reads every value and
 * creates an issue for each.
 *
 * @example
 * ```ts
 * import { snowflakeIds } from 'nestjs-snowflake/zod';
 * import { z } from 'zod';
 *
 * const CreateOrder = z.object({ couponIds: snowflakeIds({ countMax: 100 }) });
 * ```
 */
export function snowflakeIds(checks: SnowflakeIdListChecks = {}): z.ZodType<string[], string[]> {
  return idList(checks, (_, value) => String(value));
}

/** A list of IDs as decimal strings, read into bigints; otherwise like `snowflakeIds`. */
export function snowflakeBigints(
  checks: SnowflakeIdListChecks = {},
): z.ZodType<bigint[], string[]> {
  return idList(checks, (id) => id);
}

function idList<Id>(
  checks: SnowflakeIdListChecks,
  written: (id: bigint, value: unknown) => Id,
): z.ZodType<Id[], string[]> {
  const check = new IdListCheck(checks);
  const { example: _, ...items } = { type: 'string', ...idSchemaOf(checks.form) };
  const { countMin: minItems, countMax: maxItems } = check;
  const list = z.any().meta({ type: 'array', items, minItems, maxItems });
  return list.transform((values: unknown[], context) => {
    const read = check.read(values);
    if (Array.isArray(read)) return read.map((id, at) => written(id, values[at]));
    const { message, index } = read;
    const path = index === undefined ? [] : [index];
    context.issues.push({ code: 'custom', message, input: values, path });
    return z.NEVER;
  });
}

/** Any string, described as an ID for JSON Schema, with this library's message for other types. */
function idText(check: IdCheck, { form }: SnowflakeIdChecks): z.ZodString {
  const { example, ...grammar } = idSchemaOf(form);
  const description = { ...grammar, examples: [example] };
  const error = ({ input }: { readonly input?: unknown }) => {
    if (typeof input !== 'bigint') return check.refusalOf(input);
    return `Expected an id as text, got ${formatShort(input)}. Write it as text: String(id).`;
  };
  return z.string({ error }).meta(description);
}
