/**
 * A replacer for whoever calls JSON.stringify, or sets up a framework that does.
 *
 * Promise: bigint becomes decimal text, everything else stays what it is.
 */

/**
 * Makes `JSON.stringify` write a bigint as decimal text, where it would throw otherwise.
 *
 * @example
 * ```ts
 * import { bigintAsText } from 'nestjs-snowflake/http';
 *
 * JSON.stringify({ id: 382366441078288384n }, bigintAsText); // '{"id":"382366441078288384"}'
 * ```
 */
export function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
