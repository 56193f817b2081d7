/**
 * Describes an id of a text form in OpenAPI and JSON Schema. The form itself writes the example, so
 * that it can be sent.
 */
import { DECIMAL_PATTERN } from '../core/text/decimal.js';
import type { TextForm } from '../core/text/text-form.js';
import { isSnowflakeError } from '../errors.js';

/** A real id, for messages and documentation. */
export const EXAMPLE_ID = '382366441078288384';
/** Some forms hold no id as large as that. */
const SMALL_EXAMPLE = 1n;

export interface IdSchema {
  readonly format?: 'int64';
  readonly pattern?: string;
  readonly example: string;
}

export function idSchemaOf(form: TextForm | undefined): IdSchema {
  if (form === undefined) {
    return { format: 'int64', pattern: DECIMAL_PATTERN, example: EXAMPLE_ID };
  }
  const { pattern } = form;
  return { ...(pattern !== undefined && { pattern }), example: exampleOf(form) };
}

/** An id that this form can write. */
export function exampleOf(form: TextForm): string {
  try {
    return form.encode(BigInt(EXAMPLE_ID));
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    return form.encode(SMALL_EXAMPLE);
  }
}
