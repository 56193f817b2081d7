/**
 * The options --form and --public select how IDs are written in arguments and output. The key of
 * public IDs comes from the environment, because every user of the machine can see an argument.
 */
import { ApiKeys } from '../api-keys/api-keys.js';
import { publicIds, textForms, type TextForm } from '../core/index.js';
import { suggestion } from '../options.js';
import { quoted, usageFault, type Call, type OptionSpecs } from './command.js';

const KEY_VARIABLE = 'SNOWFLAKE_PUBLIC_ID_KEY';

export const FORM_OPTION: OptionSpecs = {
  form: { value: 'form', says: `${Object.keys(textForms).join(', ')}; default decimal` },
  public: { value: 'prefix', says: `public ids of this prefix; their key is in ${KEY_VARIABLE}` },
};

/**
 * The names of forms are those of `textForms`, in upper or lower case.
 * @throws SnowflakeError CONFIG_INVALID
 */
export function formFrom({ options, env }: Call): TextForm {
  const prefix = options.text('public');
  const name = options.text('form');
  if (prefix !== undefined && name !== undefined) {
    throw usageFault('Expected --form or --public, got both.');
  }
  return prefix === undefined ? formNamed(name ?? 'decimal') : publicForm(prefix, env);
}

function formNamed(name: string): TextForm {
  const names = Object.keys(textForms) as (keyof typeof textForms)[];
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const meant = names.find((form) => plain(form) === plain(name));
  if (meant !== undefined) return textForms[meant];
  throw usageFault(`There is no text form named ${quoted(name)}. ${suggestion(name, names)}`);
}

function publicForm(prefix: string, env: Call['env']): TextForm {
  const key = env[KEY_VARIABLE];
  if (key === undefined || key === '') {
    throw usageFault(`--public needs the key of the ids in the variable ${KEY_VARIABLE}.`);
  }
  return publicIds({ prefix, key });
}

/*
 * The options --prefix and --secret-name configure `ApiKeys`.
 *
 * Guarantee: secrets come only from the environment. Every user of the machine can see an argument,
 * and the shell stores it.
 */

const PEPPER_VARIABLE = 'SNOWFLAKE_API_KEY_PEPPER';
const SECRET_VARIABLE = 'SNOWFLAKE_API_KEY_SECRET';

export const KEY_OPTIONS: OptionSpecs = {
  prefix: { value: 'prefix', says: 'as in the application, e.g. shop_live', isRequired: true },
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
  /** The letter of derived keys; absent for issued keys. */
  readonly secretName: string | undefined;
  readonly hasPepper: boolean;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function keysFrom({ options, env }: Call): NamedKeys {
  const prefix = options.text('prefix')!;
  const secretName = options.text('secret-name');
  // Compose files pass an unset variable as an empty one.
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
