/**
 * Reads an ID from a path, a query or a body.
 *
 * Guarantee: a handler receives an ID or is not called. Any other value from a client gets 400 and
 * the reason, never 500.
 */
import { BadRequestException, Injectable, Optional, type PipeTransform } from '@nestjs/common';
import type { TextForm } from '../core/text/text-form.js';
import { isSnowflakeError } from '../errors.js';
import { choice, later, typed, type OptionTable } from '../options.js';
import { CHECKS, IdCheck, type SnowflakeIdChecks } from './check-id.js';

/** Options of ParseSnowflakePipe. */
export interface ParseSnowflakePipeOptions extends SnowflakeIdChecks {
  /** The type that the handler receives: a bigint, or the ID as canonical decimal string. */
  readonly as?: 'bigint' | 'text' | undefined;
  /**
   * Text forms to read in addition to decimal, tried in this order with decimal last. The first one
   * that reads an ID that passes the checks is used. Today's IDs have more digits in decimal than
   * characters in any other form. If small decimal numbers are IDs too, list `textForms.decimal`
   * first.
   */
  readonly forms?: readonly TextForm[] | undefined;
  /** Passes a missing or empty value as undefined. */
  readonly optional?: boolean | undefined;
}

export const PIPE = {
  ...CHECKS,
  as: [choice('bigint', 'text'), 'bigint'],
  forms: [later, undefined],
  optional: [typed('boolean'), false],
} satisfies OptionTable<ParseSnowflakePipeOptions>;

/**
 * Checks an ID and passes it on as bigint or string; responds with 400 to any other value.
 *
 * @example
 * ```ts
 * import { Param, Query } from '@nestjs/common';
 * import { layouts } from 'nestjs-snowflake';
 * import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
 *
 * const after = new ParseSnowflakePipe({
 *   as: 'text',
 *   optional: true,
 *   layout: layouts.snowflake(),
 *   notInFuture: true,
 * });
 *
 * class OrdersController {
 *   one(@Param('id', ParseSnowflakePipe) id: bigint) {}
 *
 *   page(@Query('after', after) after?: string) {}
 * }
 * ```
 */
@Injectable()
export class ParseSnowflakePipe implements PipeTransform<unknown, bigint | string | undefined> {
  private readonly check: IdCheck;

  constructor(@Optional() private readonly options: ParseSnowflakePipeOptions = {}) {
    this.check = new IdCheck(options, options.forms, PIPE);
  }

  transform(value: unknown): bigint | string | undefined {
    const isMissing = value === undefined || value === null || value === '';
    if (this.options.optional && isMissing) return undefined;
    try {
      const id = this.check.idOf(value);
      return this.options.as === 'text' ? id.toString() : id;
    } catch (error) {
      if (!isSnowflakeError(error)) throw error;
      // If an exception has a cause, Nest 11 omits its own description.
      throw new BadRequestException(error.message, { cause: error, description: 'Bad Request' });
    }
  }
}
