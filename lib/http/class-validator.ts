/**
 * `nestjs-snowflake/class-validator`: ids in a DTO.
 *
 * Promise: the property is left as it is, text or bigint; only what is an id passes, and the
 * message says why the rest does not.
 */
import { ValidateBy, type ValidationArguments, type ValidationOptions } from 'class-validator';
import { IdCheck, type SnowflakeIdChecks } from './check-id.js';

export type { SnowflakeIdChecks } from './check-id.js';

/**
 * The property is an id, as decimal text or bigint.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake';
 * import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
 *
 * class CreateOrder {
 *   @IsSnowflakeId({ layout: layouts.snowflake(), notInFuture: true })
 *   customerId!: string;
 *
 *   @IsSnowflakeId({}, { each: true })
 *   couponIds!: string[];
 * }
 * ```
 */
export function IsSnowflakeId(
  checks: SnowflakeIdChecks = {},
  validationOptions?: ValidationOptions,
): PropertyDecorator {
  const check = new IdCheck(checks);
  const validator = {
    validate: (value: unknown) => check.refusalOf(value) === undefined,
    defaultMessage: (args?: ValidationArguments) => {
      const values = validationOptions?.each ? elementsOf(args?.value) : [args?.value];
      const refusals = values.map((value) => check.refusalOf(value));
      return `$property: ${refusals.find((refusal) => refusal !== undefined) ?? 'Expected an id.'}`;
    },
  };
  return ValidateBy({ name: 'isSnowflakeId', constraints: [checks], validator }, validationOptions);
}

/** What `each` looks at. */
function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value instanceof Set || value instanceof Map ? [...value.values()] : [value];
}
