/**
 * A source of ids: what stands behind an IdMaker.
 *
 * It makes ids at once or refuses; who holds worker ids or ranges for it is not known here.
 */
import type { CallFields } from './call-words.js';

export interface IdSource {
  nextId(fields?: CallFields): bigint;
  /** One id, or a retryable error at once where nextId() would wait for the clock in place. */
  nextIdAtOnce(fields?: CallFields): bigint;
  nextIdString(fields?: CallFields): string;
  nextIdNumber(fields?: CallFields): number;
  nextIds(count: number, fields?: CallFields): bigint[];
  nextIdStrings(count: number, fields?: CallFields): string[];
  fill(target: BigUint64Array | BigInt64Array, fields?: CallFields): void;
}
