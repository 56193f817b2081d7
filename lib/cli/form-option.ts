/**
 * The option --form: how ids are written in arguments and output, in decimal or another text form.
 * The names are those of `textForms`, in upper or lower case.
 */
import { textForms, type TextForm } from '../core/index.js';
import { quoted, usageFault, type Options, type OptionSpecs } from './command.js';
import { suggestion } from './nearest.js';

export const FORM_OPTION: OptionSpecs = {
  form: { value: 'form', says: `${Object.keys(textForms).join(', ')}; default decimal` },
};

/** @throws SnowflakeError CONFIG_INVALID */
export function formFrom(options: Options): TextForm {
  const name = options.text('form') ?? 'decimal';
  const names = Object.keys(textForms) as (keyof typeof textForms)[];
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const meant = names.find((form) => plain(form) === plain(name));
  if (meant !== undefined) return textForms[meant];
  throw usageFault(`There is no text form named ${quoted(name)}. ${suggestion(name, names)}`);
}
