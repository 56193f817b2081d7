/**
 * A replacer for JSON.stringify, and for frameworks that take one. It writes bigint as decimal text
 * and leaves everything else unchanged.
 */

/**
 * Makes `JSON.stringify` write a bigint as decimal text; without it a bigint throws.
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
