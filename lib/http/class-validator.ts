/**
 * `nestjs-snowflake/class-validator`: ids in a DTO.
 *
 * Promise: the property is left as it is, text or bigint; only what is an id passes, and the
 * message says why the rest does not.
 */
import { ValidateBy, type ValidationArguments, type ValidationOptions } from 'class-validator';
import { IdListCheck, type SnowflakeIdListChecks } from './check-id-list.js';
import { IdCheck, type SnowflakeIdChecks } from './check-id.js';

export type { SnowflakeIdListChecks } from './check-id-list.js';
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
 *   customerId: string;
 * }
 * ```
 */
export function IsSnowflakeId(
  checks: SnowflakeIdChecks = {},
  validationOptions?: ValidationOptions,
): PropertyDecorator {
  const check = new IdCheck(checks);
  const validator = {
    validate: (value: unknown) => check.find(value) !== undefined,
    defaultMessage: (args?: ValidationArguments) =>
      messageOf(refusalIn(validationOptions?.each ? elementsOf(args?.value) : [args?.value])),
  };
  const refusalIn = (values: Iterable<unknown>): string | undefined => {
    for (const value of values) {
      const refusal = check.refusalOf(value);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return ValidateBy({ name: 'isSnowflakeId', constraints: [checks], validator }, validationOptions);
}

/**
 * The property is an array of ids, as decimal text or bigint: 0 to 1000 of them, unless `countMin`
 * and `countMax` say otherwise. A longer list is refused unread, and the first value that is no id
 * ends the search; `@IsSnowflakeId({}, { each: true })` and `@ArrayMaxSize()` read every value.
 *
 * @example
 * ```ts
 * import { IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
 *
 * class CreateOrder {
 *   @IsSnowflakeIds({ countMax: 100 })
 *   couponIds: string[];
 * }
 * ```
 */
export function IsSnowflakeIds(
  checks: SnowflakeIdListChecks = {},
  validationOptions?: ValidationOptions,
): PropertyDecorator {
  const check = new IdListCheck(checks);
  const validator = {
    validate: (value: unknown) => Array.isArray(check.read(value)),
    defaultMessage: (args?: ValidationArguments) => {
      const read = check.read(args?.value);
      if (Array.isArray(read)) return messageOf(undefined);
      const { index, message } = read;
      return messageOf(index === undefined ? message : `[${index}] ${message}`);
    },
  };
  const name = 'isSnowflakeIds';
  return ValidateBy({ name, constraints: [checks], validator }, validationOptions);
}

/**
 * class-validator fills in `$value` and `$target` wherever they stand in a message, also in what
 * is quoted from a client: six of them in a text of a megabyte would be six megabytes.
 */
function messageOf(refusal = 'Expected an id.'): string {
  return `$property: ${refusal.replaceAll('$', '\\u0024')}`;
}

/** What `each` looks at. */
function elementsOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  return value instanceof Set || value instanceof Map ? value.values() : [value];
}
