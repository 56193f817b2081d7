/**
 * The layout named on the command line: a preset, a fingerprint, or a list of fields.
 *
 * The layout itself words its errors. For an unknown name, the message suggests the closest preset.
 */
import { BitLayout, layouts, type Epoch, type FieldSpec } from '../core/index.js';
import { readFingerprint } from '../core/layout/layout-fields.js';
import { suggestion } from '../options.js';
import { quoted, usageFault, wholeOf, type Options, type OptionSpecs } from './command.js';

/** Short runs of letters and digits: neither a URL nor a password. */
const LIKE_FINGERPRINT =
  /^[a-z]\d{1,3}(?:-[a-z]?\d{1,3}[a-z]?){1,8}(?:\/\d{0,7}\w{0,2})?(?:@\d{0,15})?$/i;
const PRESETS = 'a preset such as twitter (all: snowflake layout --help), or a fingerprint';

/** For commands that only compare with a layout if one is given. */
export const GIVEN_LAYOUT_OPTIONS: OptionSpecs = {
  layout: { value: 'preset', says: PRESETS },
  fields: { value: 'fields', says: 'another layout, e.g. timestamp:41,worker:10,sequence:12' },
  epoch: { value: 'time', says: 'when the time in ids starts; ISO text or Unix milliseconds' },
  unit: { value: 'duration', says: 'length of one tick with --fields, e.g. 10ms; default 1ms' },
};

export const LAYOUT_OPTIONS: OptionSpecs = {
  ...GIVEN_LAYOUT_OPTIONS,
  layout: { value: 'preset', says: `${PRESETS}; default snowflake` },
};

/** True when the command line names a layout. */
export function namesLayout(options: Options): boolean {
  return options.text('layout') !== undefined || options.text('fields') !== undefined;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function layoutFrom(options: Options): BitLayout {
  const [layout, fields] = [options.text('layout'), options.text('fields')];
  const epoch = readEpochText(options.text('epoch'));
  const unitMs = options.duration('unit');
  if (fields === undefined) {
    if (unitMs !== undefined) throw usageFault('--unit needs --fields; a preset has its own unit.');
    return named('layout', layout ?? 'snowflake', epoch);
  }
  if (layout !== undefined) throw usageFault('Give --layout or --fields, not both.');
  return new BitLayout({ epoch, unitMs, fields: readFields(fields) });
}

/** The layout that a present option names. @throws SnowflakeError CONFIG_INVALID */
export function layoutNamed(option: string, options: Options): BitLayout {
  return named(option, options.text(option)!, readEpochText(options.text('epoch')));
}

/** The layout of a fingerprint, with fields named after their roles, or undefined. */
export function layoutOfFingerprint(fingerprint: string): BitLayout | undefined {
  const options = readFingerprint(fingerprint);
  if (options === undefined) return undefined;
  try {
    return new BitLayout(options);
  } catch {
    return undefined;
  }
}

function named(option: string, name: string, epoch: Epoch | undefined): BitLayout {
  const names = Object.keys(layouts) as (keyof typeof layouts)[];
  const meant = names.find((preset) => preset.toLowerCase() === name.toLowerCase());
  if (meant !== undefined) return layouts[meant]({ epoch });
  const parts = readFingerprint(name);
  if (parts === undefined) {
    const got = LIKE_FINGERPRINT.test(name) ? JSON.stringify(name) : quoted(name);
    const example = layouts.snowflake().fingerprint;
    throw usageFault(
      `Expected --${option} to be a preset, or a fingerprint like ${example}, as \`snowflake ` +
        `layout\` and \`snowflake registry inspect\` print it, got ${got}. ` +
        suggestion(name, names),
    );
  }
  const layout = new BitLayout(parts);
  return epoch === undefined ? layout : layout.withEpoch(epoch);
}

function readEpochText(text: string | undefined): Epoch | undefined {
  return text === undefined ? undefined : (wholeOf(text) ?? text);
}

/** `name:bits` or `name:bits:call`, the most significant first; the layout checks the rest. */
export function readFields(text: string): FieldSpec[] {
  return text.split(',').map((part) => {
    const [name = '', width = '', ...roles] = part.trim().split(':');
    const bits = wholeOf(width);
    if (bits === undefined || roles.length > 1) {
      throw usageFault(`Expected a field to be like worker:10, got ${quoted(part)}.`);
    }
    return [name, bits, ...roles] as unknown as FieldSpec;
  });
}
