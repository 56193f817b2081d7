/**
 * Whether a key that was sent is let in: the rules of the guard, without Nest.
 *
 * Promise: a text that is no key costs no query. An unknown, a wrong and a revoked key get one
 * answer after the same work: one query, one hash, one comparison. Whoever cannot be asked makes
 * nobody right and nobody wrong.
 */
import { randomBytes } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import type { ApiKeys } from '../key/api-keys.js';
import { kindOf } from '../key/secrets.js';

/** What is stored about an issued key. */
export interface StoredApiKey {
  /** The `hash` of `issue()`. */
  readonly hash: string;
  /** True for a key that is not to be let in any more, for whatever reason. */
  readonly revoked: boolean;
}

type MaybeLater<T> = T | Promise<T>;

/** Who is asked about a key. */
export interface KeyRecords {
  /**
   * Looks an issued key up by its id, decimal text; undefined or null for one that is not stored.
   * What it throws is answered with 503. Without it no issued key is let in.
   */
  readonly find?: ((keyId: string) => MaybeLater<StoredApiKey | null | undefined>) | undefined;
  /**
   * Whether a derived key is on the list of those that are not let in any more. It is asked after
   * the key was found right. Default: none is, so that only removing its secret ends a derived key.
   */
  readonly isRevoked?: ((keyId: string) => MaybeLater<boolean>) | undefined;
}

export type Admission =
  | { readonly keyId: string }
  | { readonly refusal: 'malformed' | 'wrong' }
  | { readonly refusal: 'unavailable'; readonly cause: unknown };

/** @param sent what stood in the header, or undefined */
export async function admit(
  keys: ApiKeys,
  records: KeyRecords,
  sent: string | undefined,
): Promise<Admission> {
  const parsed = sent === undefined ? undefined : keys.parse(sent);
  if (sent === undefined || parsed === undefined) return { refusal: 'malformed' };
  const { keyId, secretName } = parsed;
  try {
    const isDerived = secretName !== undefined;
    const isRight = isDerived
      ? keys.verifyDerived(sent) && !(await isListed(records, keyId))
      : await isStored(keys, records, { sent, keyId });
    return isRight ? { keyId } : { refusal: 'wrong' };
  } catch (cause) {
    return { refusal: 'unavailable', cause };
  }
}

/** Takes the place of a row that is not there, and is read and compared as one. */
const NOBODY: StoredApiKey = { hash: randomBytes(32).toString('hex'), revoked: true };

async function isStored(
  keys: ApiKeys,
  records: KeyRecords,
  { sent, keyId }: { readonly sent: string; readonly keyId: string },
): Promise<boolean> {
  const { hash, revoked } = checkedRecord((await records.find?.(keyId)) ?? NOBODY);
  const isRight = keys.verify(sent, hash);
  return isRight && !revoked;
}

async function isListed(records: KeyRecords, keyId: string): Promise<boolean> {
  if (records.isRevoked === undefined) return false;
  const answer: unknown = await records.isRevoked(keyId);
  if (typeof answer === 'boolean') return answer;
  throw unusable('`isRevoked` to answer true or false', answer);
}

/** What is half a row is a fault of the application. */
function checkedRecord(found: unknown): StoredApiKey {
  const { hash, revoked } = found as Partial<StoredApiKey>;
  if (typeof hash === 'string' && typeof revoked === 'boolean') return found as StoredApiKey;
  const what = '`find` to answer { hash, revoked } of text and true or false, or undefined';
  throw unusable(what, typeof hash === 'string' ? revoked : hash);
}

const unusable = (what: string, got: unknown): SnowflakeError =>
  new SnowflakeError(
    'ARGUMENT_INVALID',
    `Expected ${what}, got ${kindOf(got)} for one of them. Nobody was let in.`,
  );
