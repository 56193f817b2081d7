/**
 * `nestjs-snowflake/class-validator`: IDs in a DTO.
 *
 * Guarantee: the property keeps its value, string or bigint. Only an ID passes, and the message
 * explains why any other value does not.
 */
import {
  ValidateBy,
  type ValidationArguments,
  type ValidationOptions,
  type ValidatorConstraintInterface,
} from 'class-validator';
import {
  COUNT_MAX,
  IdListCheck,
  type SnowflakeIdListChecks,
  IdCheck,
  type SnowflakeIdChecks,
} from './check-id.js';

export type { SnowflakeIdListChecks, SnowflakeIdChecks };

/**
 * The property is an ID, as decimal string or bigint.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake';
 * import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
 *
 * const layout = layouts.snowflake();
 * class CreateOrder {@IsSnowflakeId({ layout, notInFuture: true }) customerId!: string}
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
 * The property is an array of 0 to 10,000 IDs, as decimal strings or bigints; `countMin` and
 * `countMax` change the limits. A longer list is rejected unread, and the first value that is not
 * an ID ends the check. `@IsSnowflakeId({}, { each: true })` has the same limit, which cannot be
 * changed; `@ArrayMaxSize()` does not keep it from reading every value.
 *
 * @example
 * ```ts
 * import { IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
 *
 * class CreateOrder {@IsSnowflakeIds({ countMax: 100 }) couponIds!: string[]}
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
      if (Array.isArray(read)) return messageOf();
      return messageOf(read.index === undefined ? read.message : `[${read.index}] ${read.message}`);
    },
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
 * With `each`, class-validator calls this for every value of a list, even after one was rejected.
 * It passes the same arguments object each time, which identifies the rest of a rejected list.
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
    if (count > COUNT_MAX) {
      return `Expected at most ${COUNT_MAX} ids, got ${count}. Send them in several requests.`;
    }
    for (const value of elementsOf(values)) {
      const refusal = check.refusalOf(value);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return { validate: passes, defaultMessage: (args) => messageOf(refusalIn(args?.value)) };
}

/**
 * class-validator replaces `$value` and `$target` anywhere in a message, even in text quoted from a
 * client. Six of them in a string of one megabyte would make six megabytes.
 */
function messageOf(refusal = 'Expected an id.'): string {
  return `$property: ${refusal.replaceAll('$', '\\u0024')}`;
}

/** The elements that `each` visits; a single value is a list of one. */
function elementsOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  return value instanceof Set || value instanceof Map ? value.values() : [value];
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value instanceof Set || value instanceof Map ? value.size : 1;
}
