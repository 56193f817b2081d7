/**
 * `nestjs-snowflake/zod`: ids in a schema of Zod 4.3 and later.
 *
 * Promise: what parses is an id, and each refusal is one issue that says why. Text goes in; whether
 * text or a bigint comes out is in the name.
 */
import { z } from 'zod';
import { shownShort } from '../core/radix-form.js';
import { DECIMAL_PATTERN, EXAMPLE_ID, IdCheck, type SnowflakeIdChecks } from './check-id.js';

export type { SnowflakeIdChecks } from './check-id.js';

/**
 * An id as decimal text, checked and left as text.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake';
 * import { snowflakeId } from 'nestjs-snowflake/zod';
 * import { z } from 'zod';
 *
 * const CreateOrder = z.object({
 *   customerId: snowflakeId({ layout: layouts.snowflake(), notInFuture: true }),
 *   couponIds: z.array(snowflakeId()),
 * });
 * ```
 */
export function snowflakeId(checks: SnowflakeIdChecks = {}): z.ZodString {
  const check = new IdCheck(checks);
  return idText(check).check((context) => {
    const message = check.refusalOf(context.value);
    if (message === undefined) return;
    context.issues.push({ code: 'custom', message, input: context.value });
  });
}

/** An id as decimal text, checked and read into a bigint. */
export function snowflakeBigint(
  checks: SnowflakeIdChecks = {},
): z.ZodPipe<z.ZodString, z.ZodTransform<bigint, string>> {
  const check = new IdCheck(checks);
  return idText(check).transform((text, context) => {
    const message = check.refusalOf(text);
    if (message === undefined) return check.idOf(text);
    context.issues.push({ code: 'custom', message, input: text });
    return z.NEVER;
  });
}

/** Any text, described as an id for JSON Schema; the words for what is no text at all are ours. */
function idText(check: IdCheck): z.ZodString {
  const description = { format: 'int64', pattern: DECIMAL_PATTERN, examples: [EXAMPLE_ID] };
  const error = ({ input }: { readonly input?: unknown }) => {
    if (typeof input !== 'bigint') return check.refusalOf(input);
    return `Expected an id as text, got ${shownShort(input)}. Write it as text: String(id).`;
  };
  return z.string({ error }).meta(description);
}
