/**
 * The options --form and --public select how IDs are written in arguments and output. The key of
 * public IDs comes from the environment, because every user of the machine can see an argument.
 */
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
  if (prefix !== undefined) {
    const key = env[KEY_VARIABLE] ?? '';
    if (key !== '') return publicIds({ prefix, key });
    throw usageFault(`--public needs the key of the ids in the variable ${KEY_VARIABLE}.`);
  }
  if (name === undefined) return textForms.decimal;
  const names = Object.keys(textForms) as (keyof typeof textForms)[];
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const meant = names.find((form) => plain(form) === plain(name));
  if (meant !== undefined) return textForms[meant];
  throw usageFault(`There is no text form named ${quoted(name)}. ${suggestion(name, names)}`);
}
