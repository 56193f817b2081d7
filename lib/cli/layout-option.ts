/**
 * The layout named on the command line: a preset, a fingerprint, or a list of fields.
 *
 * Faults in a layout are reported in the words of the layout itself; for an unknown name the
 * closest preset is suggested.
 */
import { BitLayout, layouts, type Epoch, type FieldSpec } from '../core/index.js';
import { readFingerprint } from '../core/layout/fingerprint.js';
import { quoted, usageFault, type Options, type OptionSpecs } from './command.js';
import { wholeOf } from './whole.js';
import { suggestion } from '../nearest.js';

const PRESETS = `${Object.keys(layouts).join(', ')}, or a fingerprint`;

/** For commands that only compare with a layout, if one is given. */
export const GIVEN_LAYOUT_OPTIONS: OptionSpecs = {
  layout: { value: 'preset', says: PRESETS },
  fields: { value: 'fields', says: 'another layout, e.g. timestamp:41,worker:10,sequence:12' },
  epoch: { value: 'time', says: 'when the time in ids starts; ISO text or Unix milliseconds' },
  unit: { value: 'time', says: 'length of one tick with --fields, e.g. 10ms or 1s; default 1ms' },
};

export const LAYOUT_OPTIONS: OptionSpecs = {
  ...GIVEN_LAYOUT_OPTIONS,
  layout: { value: 'preset', says: `${PRESETS}; default snowflake` },
};

/** True when the command line says which layout. */
export function namesLayout(options: Options): boolean {
  return options.text('layout') !== undefined || options.text('fields') !== undefined;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function layoutFrom(options: Options): BitLayout {
  const [layout, fields] = [options.text('layout'), options.text('fields')];
  const epoch = readEpochText(options.text('epoch'));
  const unit = options.text('unit');
  if (fields === undefined) {
    if (unit !== undefined) throw usageFault('--unit needs --fields; a preset has its own unit.');
    return presetOf(layout ?? 'snowflake', epoch);
  }
  if (layout !== undefined) throw usageFault('Give --layout or --fields, not both.');
  return new BitLayout({ epoch, unitMs: readUnit(unit ?? '1ms'), fields: readFields(fields) });
}

/** The layout of a fingerprint, with fields named after their role, or undefined. */
export function layoutOfFingerprint(fingerprint: string): BitLayout | undefined {
  const options = readFingerprint(fingerprint);
  if (options === undefined) return undefined;
  try {
    return new BitLayout(options);
  } catch {
    return undefined;
  }
}

function presetOf(name: string, epoch: Epoch | undefined): BitLayout {
  const names = Object.keys(layouts) as (keyof typeof layouts)[];
  const meant = names.find((preset) => preset.toLowerCase() === name.toLowerCase());
  if (meant !== undefined) return layouts[meant]({ epoch });
  const layout = layoutOfFingerprint(name);
  if (layout === undefined) {
    throw usageFault(`There is no layout named ${quoted(name)}. ${suggestion(name, names)}`);
  }
  return epoch === undefined ? layout : layout.withEpoch(epoch);
}

function readEpochText(text: string | undefined): Epoch | undefined {
  return text === undefined ? undefined : (wholeOf(text) ?? text);
}

function readUnit(text: string): number {
  const [, count, unit = 'ms'] = /^(0|[1-9]\d{0,6})\s?(ms|s)?$/.exec(text) ?? [];
  if (count === undefined) {
    throw usageFault(`Expected --unit to be like 1ms, 10ms or 1s, got ${quoted(text)}.`);
  }
  return Number(count) * (unit === 's' ? 1000 : 1);
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
