/**
 * From --prefix and --secret-name to `ApiKeys`.
 *
 * Promise: secrets come from the environment alone. An argument would be seen by every user of the
 * machine, and kept by the shell.
 */
import { ApiKeys } from '../api-keys/key/api-keys.js';
import type { Call, OptionSpecs } from './command.js';
import { usageFault } from './command.js';

const PEPPER_VARIABLE = 'SNOWFLAKE_API_KEY_PEPPER';
const SECRET_VARIABLE = 'SNOWFLAKE_API_KEY_SECRET';

export const KEY_OPTIONS: OptionSpecs = {
  prefix: { value: 'prefix', says: 'as in the application, e.g. shop_live' },
  'secret-name': {
    value: 'letter',
    says: `derived keys of this letter; their secret is in ${SECRET_VARIABLE}`,
  },
};

export const PEPPER_SAYS =
  'The pepper of the application, if it has one, is read from the environment: ' +
  `${PEPPER_VARIABLE}.`;

export interface NamedKeys {
  readonly keys: ApiKeys;
  /** The letter of derived keys, if they are meant. */
  readonly secretName: string | undefined;
  readonly hasPepper: boolean;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function keysFrom({ options, env }: Call): NamedKeys {
  const prefix = options.required('prefix');
  const secretName = options.text('secret-name');
  // Variables that are not set come as empty ones out of compose files.
  const pepper = env[PEPPER_VARIABLE] || undefined;
  const secret = env[SECRET_VARIABLE] || undefined;
  if (secretName !== undefined && secret === undefined) {
    throw usageFault(`--secret-name needs the secret in the variable ${SECRET_VARIABLE}.`);
  }
  const secrets = secretName === undefined ? {} : { [secretName]: secret! };
  const hasPepper = pepper !== undefined;
  const keys = new ApiKeys({ prefix, ...(hasPepper && { pepper }), secrets });
  return { keys, secretName, hasPepper };
}

export const pepperText = (hasPepper: boolean): string =>
  hasPepper ? `that of ${PEPPER_VARIABLE}` : `none; ${PEPPER_VARIABLE} is not set`;
