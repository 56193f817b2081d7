/**
 * The options of `ApiKeyModule`, checked; every fault is reported at start.
 *
 * Promise: what is kept holds no secret but inside of `ApiKeys`, which shows none.
 */
import { shownShort } from '../../shown.js';
import { ApiKeys } from '../key/api-keys.js';
import {
  KEY_OPTION_NAMES,
  readKeyOptions,
  refuseFaults,
  type ApiKeysOptions,
} from '../key/key-options.js';
import type { KeyRecords } from './admission.js';

/** Options of ApiKeyModule: those of ApiKeys, where hashes are found, and the header. */
export interface ApiKeyModuleOptions extends ApiKeysOptions, KeyRecords {
  /**
   * The one header in which keys are sent. `authorization` as `Bearer <key>`; any other, such as
   * `x-api-key`, as the key alone. Default `authorization`, which proxies and tools know to hold a
   * secret: they keep it out of logs and caches, and do not send it on to another host.
   */
  readonly header?: string | undefined;
}

/** What the guard works with. */
export interface ApiKeyConfig {
  readonly keys: ApiKeys;
  readonly records: KeyRecords;
  /** In lower case. */
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
/** A token of HTTP, without what no name of a header has in practice. */
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

/** Called on the options, so that methods of a class work; closures show nothing of them. */
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
  const got = isShort ? shownShort(header) : 'another text, which is not shown';
  return `Expected \`header\` to be the name of a header, such as 'x-api-key', got ${got}.`;
}
