/**
 * `nestjs-snowflake/swagger`: IDs in an OpenAPI document.
 *
 * The document describes an ID as a string, so that generated clients never read it as a number. It
 * validates nothing.
 */
import { ApiParam, ApiProperty, ApiQuery } from '@nestjs/swagger';
import type { TextForm } from '../core/text/text-form.js';
import { idSchemaOf, type IdSchema } from './check-id.js';

/** Further facts about an ID in a document, in addition to its form. */
export interface ApiSnowflakeOptions {
  /** The text form of the ID, such as that of `publicIds()`. Default: decimal. */
  readonly form?: TextForm | undefined;
  readonly description?: string | undefined;
  /** Default: an ID of the default layout, in this form. */
  readonly example?: string | undefined;
  /** Default true. */
  readonly required?: boolean | undefined;
  readonly deprecated?: boolean | undefined;
}

/** The documentation of a query parameter with an ID. */
export interface ApiSnowflakeQueryOptions extends ApiSnowflakeOptions {
  /** Accepts several IDs, as `?id=1&id=2`. */
  readonly isArray?: boolean | undefined;
}

/** The documentation of a property with an ID. */
export interface ApiSnowflakePropertyOptions extends ApiSnowflakeOptions {
  /** A list of IDs. */
  readonly isArray?: boolean | undefined;
  readonly nullable?: boolean | undefined;
  readonly readOnly?: boolean | undefined;
}

const DESCRIPTION = 'A 64-bit id as decimal text. Keep it as text; a number would lose digits.';
const descriptionOf = (form: TextForm | undefined): string =>
  form === undefined ? DESCRIPTION : `An id as ${form.name} text. Keep it as it is.`;

/** The OpenAPI schema of an ID: `int64` in decimal, and the pattern of its form. */
export interface SnowflakeSchema extends IdSchema {
  readonly type: 'string';
}

/**
 * The schema of an ID that is neither a property nor a parameter, as in a response that is a list
 * of IDs.
 *
 * @example
 * ```ts
 * import { ApiOkResponse } from '@nestjs/swagger';
 * import { snowflakeSchema } from 'nestjs-snowflake/swagger';
 *
 * export const ApiIds = () =>
 *   ApiOkResponse({ schema: { type: 'array', items: snowflakeSchema() } });
 * ```
 */
export function snowflakeSchema(example?: string, form?: TextForm): SnowflakeSchema {
  const schema = idSchemaOf(form);
  return { type: 'string', ...schema, example: example ?? schema.example };
}

/**
 * Documents a property that is an ID.
 *
 * @example
 * ```ts
 * import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';
 *
 * class Order {@ApiSnowflakeProperty({ readOnly: true }) id!: string}
 * class Gift {@ApiSnowflakeProperty({ nullable: true }) receiverId!: string | null}
 * ```
 */
export function ApiSnowflakeProperty(options: ApiSnowflakePropertyOptions = {}): PropertyDecorator {
  const { form, description = descriptionOf(form), example, isArray, ...passedOn } = options;
  const id = snowflakeSchema(example, form);
  const schema = isArray ? { type: 'array' as const, items: id } : id;
  return ApiProperty({ ...passedOn, ...schema, description });
}

/**
 * Documents an ID in the path.
 *
 * @example
 * ```ts
 * import { Param } from '@nestjs/common';
 * import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
 * import { ApiSnowflakeParam } from 'nestjs-snowflake/swagger';
 *
 * class Orders {@ApiSnowflakeParam('id') one(@Param('id', ParseSnowflakePipe) id: bigint) {}}
 * ```
 */
export function ApiSnowflakeParam(
  name: string,
  options: ApiSnowflakeOptions = {},
): MethodDecorator & ClassDecorator {
  const { form, description = descriptionOf(form), example, ...passedOn } = options;
  return ApiParam({ ...passedOn, name, description, schema: snowflakeSchema(example, form) });
}

/** Documents an ID, or a list of IDs, in the query. */
export function ApiSnowflakeQuery(
  name: string,
  options: ApiSnowflakeQueryOptions = {},
): MethodDecorator & ClassDecorator {
  const { form, description = descriptionOf(form), example, isArray, ...passedOn } = options;
  const described = { ...passedOn, name, description };
  const schema = snowflakeSchema(example, form);
  if (!isArray) return ApiQuery({ ...described, schema });
  // The type of the handler's parameter, Array, would override a schema; it does not override type.
  const list = { type: String, isArray, example: [schema.example] };
  return ApiQuery({ ...schema, ...described, ...list });
}
