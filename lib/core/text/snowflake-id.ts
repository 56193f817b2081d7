/**
 * The type of the text of an id, for who wants the compiler to tell ids from other texts.
 *
 * It is a type alone: nothing asks for it, so that plain strings do everywhere in this package.
 */

/**
 * The text of an id: a string that no other string can be assigned to, and no number. With a name
 * it is that of one kind of thing, and ids of another cannot be assigned to it either.
 *
 * @example
 * ```ts
 * import { IdMaker, type SnowflakeId } from 'nestjs-snowflake';
 *
 * type OrderId = SnowflakeId<'Order'>;
 *
 * export function newOrderId(ids: IdMaker): OrderId {
 *   return ids.nextIdString() as OrderId;
 * }
 * ```
 */
export type SnowflakeId<Kind extends string = string> = string & {
  /** For the compiler; no text has it. A name, not a symbol, is one for both module formats. */
  readonly 'is the id of': Kind;
};
