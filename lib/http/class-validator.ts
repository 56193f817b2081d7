/**
 * `nestjs-snowflake/class-validator`: ids in a DTO.
 *
 * Promise: the property is left as it is, text or bigint; only what is an id passes, and the
 * message says why the rest does not.
 */
import {
  ValidateBy,
  type ValidationArguments,
  type ValidationOptions,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { COUNT_MAX, IdListCheck, type SnowflakeIdListChecks } from './check-id-list.js';
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
 *   customerId!: string;
 * }
 * ```
 */
export function IsSnowflakeId(
  checks: SnowflakeIdChecks = {},
  validationOptions?: ValidationOptions,
): PropertyDecorator {
  const check = new IdCheck(checks);
  const validator = validationOptions?.each ? eachOf(check) : oneOf(check);
  return ValidateBy({ name: 'isSnowflakeId', constraints: [checks], validator }, validationOptions);
}

/**
 * The property is an array of ids, as decimal text or bigint: 0 to 10,000 of them, unless
 * `countMin` and `countMax` say otherwise. A longer list is refused unread, and the first value
 * that is no id ends the search. `@IsSnowflakeId({}, { each: true })` has the same bound of 10,000,
 * and cannot be given another; beside `@ArrayMaxSize()` it reads every value all the same.
 *
 * @example
 * ```ts
 * import { IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
 *
 * class CreateOrder {
 *   @IsSnowflakeIds({ countMax: 100 })
 *   couponIds!: string[];
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
    defaultMessage: (args?: ValidationArguments) => messageOf(listRefusal(check, args?.value)),
  };
  const name = 'isSnowflakeIds';
  return ValidateBy({ name, constraints: [checks], validator }, validationOptions);
}

function oneOf(check: IdCheck): ValidatorConstraintInterface {
  return {
    validate: (value) => check.find(value) !== undefined,
    defaultMessage: (args) => messageOf(check.refusalOf(args?.value)),
  };
}

/**
 * With `each` class-validator asks for every value of a list, also when one was refused. It hands
 * the same arguments over each time: by them the rest of a refused list is known.
 */
function eachOf(check: IdCheck): ValidatorConstraintInterface {
  const refused = new WeakSet<ValidationArguments>();
  const passes = (value: unknown, args?: ValidationArguments): boolean => {
    if (args === undefined) return check.find(value) !== undefined;
    if (refused.has(args)) return false;
    if (countOf(args.value) <= COUNT_MAX && check.find(value) !== undefined) return true;
    refused.add(args);
    return false;
  };
  const refusalIn = (values: unknown): string | undefined => {
    const count = countOf(values);
    if (count > COUNT_MAX) return tooMany(count);
    for (const value of elementsOf(values)) {
      const refusal = check.refusalOf(value);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return { validate: passes, defaultMessage: (args) => messageOf(refusalIn(args?.value)) };
}

function tooMany(count: number): string {
  return `Expected ${COUNT_MAX} ids at most, got ${count}. Send them in several requests.`;
}

function listRefusal(check: IdListCheck, list: unknown): string | undefined {
  const read = check.read(list);
  if (Array.isArray(read)) return undefined;
  const { index, message } = read;
  return index === undefined ? message : `[${index}] ${message}`;
}

/**
 * class-validator fills in `$value` and `$target` wherever they stand in a message, also in what
 * is quoted from a client: six of them in a text of a megabyte would be six megabytes.
 */
function messageOf(refusal = 'Expected an id.'): string {
  return `$property: ${refusal.replaceAll('$', '\\u0024')}`;
}

/** What `each` looks at; a single value stands for itself. */
function elementsOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  return value instanceof Set || value instanceof Map ? value.values() : [value];
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value instanceof Set || value instanceof Map ? value.size : 1;
}
