/**
 * The options of `ApiKeyModule`, checked; every fault is reported at start.
 *
 * Guarantee: only `ApiKeys` keeps secrets, and shows none.
 */
import { randomBytes } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import { formatShort } from '../../messages.js';
import { ApiKeys } from '../key/api-keys.js';
import {
  KEY_OPTION_NAMES,
  kindOf,
  readKeyOptions,
  refuseFaults,
  type ApiKeysOptions,
} from '../key/key-options.js';

/** Options of ApiKeyModule: those of ApiKeys, the look-up of hashes, and the header. */
export interface ApiKeyModuleOptions extends ApiKeysOptions, KeyRecords {
  /**
   * The one header in which keys are sent. `authorization` as `Bearer <key>`; any other, such as
   * `x-api-key`, as the key alone. Default `authorization`, which proxies and tools know to hold a
   * secret: they keep it out of logs and caches, and do not send it on to another host.
   */
  readonly header?: string | undefined;
}

/** The dependencies of the guard. */
export interface ApiKeyConfig {
  readonly keys: ApiKeys;
  readonly records: KeyRecords;
  /** The name in lower case. */
  readonly header: string;
}

/** The compiler keeps the list complete. */
const GUARD_NAMES: Record<keyof KeyRecords | 'header', true> = {
  find: true,
  isRevoked: true,
  header: true,
};
const OPTION_NAMES = [...KEY_OPTION_NAMES, ...Object.keys(GUARD_NAMES)];

export const AUTHORIZATION = 'authorization';
/** A token of HTTP, without characters that no header has in practice. */
const HEADER = /^[a-z0-9-]{1,64}$/i;

/** @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults` */
export function resolveGuardOptions(options: ApiKeyModuleOptions): ApiKeyConfig {
  const read = readKeyOptions(options, OPTION_NAMES);
  const { find, isRevoked, header = AUTHORIZATION } = options ?? {};
  const faults = [
    ...read.faults,
    functionFault('find', find),
    functionFault('isRevoked', isRevoked),
    headerFault(header),
  ];
  if (find === undefined && read.resolved.secrets.size === 0) {
    faults.push(
      'No key could ever be let in: give `find`, which looks up stored keys, or `secrets` of ' +
        'derived ones.',
    );
  }
  if (isRevoked !== undefined && read.resolved.secrets.size === 0) {
    faults.push('`isRevoked` is asked for derived keys alone, and there are no `secrets`.');
  }
  refuseFaults(faults.filter((fault) => fault !== undefined));
  return { keys: keysOf(options), records: recordsOf(options), header: header.toLowerCase() };
}

function keysOf({ prefix, secrets, deriveWith, ...rest }: ApiKeyModuleOptions): ApiKeys {
  const pepper = 'pepper' in rest && { pepper: rest.pepper };
  return new ApiKeys({ prefix, ...pepper, secrets, deriveWith });
}

/** Calls the options, so that methods of a class work; closures show nothing of them. */
function recordsOf(options: ApiKeyModuleOptions): KeyRecords {
  return {
    ...(options.find && { find: (keyId: string) => options.find!(keyId) }),
    ...(options.isRevoked && { isRevoked: (keyId: string) => options.isRevoked!(keyId) }),
  };
}

function functionFault(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'function') return undefined;
  return `Expected \`${name}\` to be a function of the key id, got a ${typeof value}.`;
}

function headerFault(header: unknown): string | undefined {
  if (typeof header === 'string' && HEADER.test(header)) return undefined;
  const isShort = typeof header !== 'string' || header.length <= 16;
  const got = isShort ? formatShort(header) : 'another text, which is not shown';
  return `Expected \`header\` to be the name of a header, such as 'x-api-key', got ${got}.`;
}

/**
 * The injection token of the guard's dependencies. It is a symbol of the global registry, so that
 * two copies of the package share it.
 */
export const API_KEY_CONFIG = Symbol.for('nestjs-snowflake:api-keys');

/*
 * The verdict on a key, without Nest.
 *
 * Guarantee: a text that is no key costs no query. An unknown, a wrong and a revoked key get one
 * answer after the same work: one query, one hash, one comparison. If the records cannot be read,
 * no key is right and none is wrong.
 */

/** The record of an issued key. */
export interface StoredApiKey {
  /** The `hash` of `issue()`. */
  readonly hash: string;
  /** True for a key that must not be let in any more, for whatever reason. */
  readonly revoked: boolean;
}

type MaybeLater<T> = T | Promise<T>;

/** The look-up of keys. */
export interface KeyRecords {
  /**
   * Looks an issued key up by its id, decimal text; undefined or null for one that is not stored.
   * An error is answered with 503. Without it no issued key is let in.
   */
  readonly find?: ((keyId: string) => MaybeLater<StoredApiKey | null | undefined>) | undefined;
  /**
   * True if a derived key is on the list of those that must not be let in any more. It is called
   * after the key was found right. Default: none is, so that only removing its secret ends a
   * derived key.
   */
  readonly isRevoked?: ((keyId: string) => MaybeLater<boolean>) | undefined;
}

type Admission =
  | { readonly keyId: string }
  | { readonly refusal: 'malformed' | 'wrong' }
  | { readonly refusal: 'unavailable'; readonly cause: unknown };

/** @param sent the value of the header, or undefined */
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

/** Takes the place of a missing row, and is read and compared like one. */
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

/** An incomplete row is a fault of the application. */
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
