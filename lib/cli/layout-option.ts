/**
 * The layout named on the command line: a preset, a fingerprint, or a list of fields.
 *
 * The layout itself words its errors. For an unknown name, the message suggests the closest preset.
 */
import { BitLayout, layouts, moveAfter, type Epoch, type FieldSpec } from '../core/index.js';
import { readFingerprint } from '../core/layout/layout-fields.js';
import { suggestion } from '../options.js';
import {
  quoted,
  usageFault,
  wholeOf,
  type Options,
  type OptionSpecs,
  spanText,
} from './command.js';
import { wrapped } from './terminal.js';

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

/*
 * States whether IDs of a layout can follow existing IDs, in words and as JSON. moveAfter() of core
 * decides; this part explains the consequences.
 */

interface AfterFacts {
  readonly after: string;
  readonly isSafe: boolean;
  /** null means never. */
  readonly safeFrom: string | null;
  readonly epochMax: string | null;
}

/** No integer column has more digits than this. */
const MAX_ID = /^(0|[1-9]\d{0,29})$/;

/** @throws SnowflakeError CONFIG_INVALID */
export function readMaxId(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (MAX_ID.test(text)) return BigInt(text);
  throw usageFault(`Expected --after to be the largest id that exists, got ${quoted(text)}.`);
}

export function afterFacts(layout: BitLayout, maxId: bigint, nowMs: number): AfterFacts {
  const { isSafe, safeFrom, epochMax } = moveAfter(layout, maxId, nowMs);
  return {
    after: String(maxId),
    isSafe,
    safeFrom: safeFrom?.toISOString() ?? null,
    epochMax: epochMax?.toISOString() ?? null,
  };
}

/** Adds a row to the facts of the layout, if --after is given. */
export function afterRow(facts: AfterFacts | undefined): (readonly [string, string])[] {
  if (facts === undefined) return [];
  const { isSafe, safeFrom } = facts;
  const when = safeFrom === null ? 'never' : `${isSafe ? 'since' : 'from'} ${safeFrom}`;
  return [['above the old ids', when]];
}

export function afterAdvice(facts: AfterFacts): string[] {
  return sentencesOf(facts).flatMap((sentence) => wrapped(sentence));
}

function sentencesOf(facts: AfterFacts): string[] {
  const { after, isSafe, safeFrom, epochMax } = facts;
  if (isSafe) {
    return [
      `Safe: every id made from now on is above ${after}, whatever system made that one.`,
      'Read it again after the last process of the old system has stopped: only then is it the ' +
        'largest.',
    ];
  }
  const verdict =
    safeFrom === null
      ? `Not safe: ids of this layout are never all above ${after}, so one can equal an old one.`
      : `Not safe before ${safeFrom}: until then an id of this layout can equal an old one.`;
  if (epochMax === null) {
    return [verdict, 'No epoch since 1970 makes it safe either: take a layout with more bits.'];
  }
  return [
    verdict,
    `With an epoch of ${epochMax} or earlier they are safe now. An earlier epoch also means an ` +
      `earlier last date: see it with --epoch.`,
  ];
}

/*
 * The limits of a layout in numbers: its lifetime, its workers and its ID rate.
 */

/** A JavaScript number with more bits is not exact. */
const NUMBER_BITS = 53;

interface LayoutFacts {
  readonly fingerprint: string;
  readonly bits: number;
  readonly unitMs: number;
  readonly epoch: string;
  readonly lastDate: string;
  readonly lifetimeMs: number;
  readonly workers: number;
  readonly idsPerSecondAndWorker: number;
  readonly fitsNumber: boolean;
}

export function layoutFacts(layout: BitLayout): LayoutFacts {
  const workers = layout.workerIdMax + 1;
  return {
    fingerprint: layout.fingerprint,
    bits: layout.totalBits,
    unitMs: layout.unitMs,
    epoch: new Date(layout.epochMs).toISOString(),
    lastDate: layout.lastDate.toISOString(),
    lifetimeMs: layout.lifetimeMs,
    workers,
    idsPerSecondAndWorker: layout.idsPerSecond,
    fitsNumber: layout.totalBits <= NUMBER_BITS,
  };
}

/** The facts as cells, each under its label. */
export function factRows(facts: LayoutFacts): (readonly [label: string, text: string])[] {
  const count = (number: number) => number.toLocaleString('en-US');
  const { workers, idsPerSecondAndWorker: rate } = facts;
  return [
    ['fingerprint', facts.fingerprint],
    ['bits', `${facts.bits}${facts.fitsNumber ? ' (fits a JavaScript number)' : ''}`],
    ['one tick', `${count(facts.unitMs)} ms`],
    ['epoch', facts.epoch],
    ['last date', facts.lastDate],
    ['lifetime', spanText(facts.lifetimeMs)],
    ['workers', count(workers)],
    ['ids per s and worker', count(rate)],
    ['ids per s in total', count(rate * workers)],
  ];
}
