/**
 * The parts of an ID, as text for people and as JSON for programs. In JSON an ID is a string,
 * because a JavaScript number loses its last digits.
 */
import type { BitLayout } from '../core/index.js';
import { tableLines } from './terminal.js';
import { localText, utcText } from './command.js';
import type { PlausibleLayout } from './plausible-layouts.js';

export function idRecord(layout: BitLayout, id: bigint) {
  const { timestampMs, workerId, sequence, fields } = layout.parse(id);
  return { id: String(id), time: utcText(timestampMs), timestampMs, workerId, sequence, fields };
}

/** @param title the ID as given */
export function idLines(layout: BitLayout, id: bigint, title: string): string[] {
  const { time, timestampMs, workerId, sequence, fields } = idRecord(layout, id);
  const rows = [
    ['time', time],
    ['local', localText(timestampMs)],
    ['worker id', String(workerId)],
    ['sequence', String(sequence)],
    ...layout.callFields.map(({ name }) => [name, String(fields[name])]),
  ];
  if (title !== String(id)) rows.unshift(['id', String(id)]);
  return [title, ...tableLines(rows, '  '), ...bitDiagram(layout, fields)];
}

/*
 * Draws the bits of an ID:
 *
 *      63 62            22 21     12 11        0
 *     |  | 41 timestamp   | 10 worker | 12 sequence |
 *
 * Each of the 64 bits is in exactly one cell, the most significant on the left.
 */

interface Cell {
  readonly positions: string;
  /** The text of each line of the diagram. */
  readonly lines: readonly string[];
}

/** @param values the fields of an ID; without them, the diagram shows only the layout */
export function bitDiagram(layout: BitLayout, values?: Readonly<Record<string, number>>): string[] {
  const cells = layout.fields.map(({ name, bits, shift }) => {
    const value = values?.[name];
    const lines = [`${bits} ${name}`];
    if (value !== undefined) lines.push(value.toString(2).padStart(bits, '0'), String(value));
    return cellOf(lines, shift + bits - 1, shift);
  });
  const { totalBits } = layout;
  if (totalBits < 64) cells.unshift(unusedCell(64 - totalBits, values !== undefined));
  const rule = `+${cells.map(({ positions }) => '-'.repeat(positions.length + 2)).join('+')}+`;
  const lineCount = values === undefined ? 1 : 3;
  return [
    cells
      .map(({ positions }) => `  ${positions} `)
      .join('')
      .trimEnd(),
    rule,
    ...Array.from(
      { length: lineCount },
      (_, at) => `|${cells.map((cell) => ` ${textOf(cell, at)} `).join('|')}|`,
    ),
    rule,
  ];
}

/** The sign bit, which is always 0, and the bits above the fields of a shorter layout. */
function unusedCell(bits: number, hasValues: boolean): Cell {
  const name = bits === 1 ? '' : `${bits} unused`;
  return cellOf(hasValues ? [name, '0'.repeat(bits)] : [name], 63, 64 - bits);
}

function cellOf(lines: readonly string[], high: number, low: number): Cell {
  const ends = high === low ? [String(high)] : [String(high), String(low)];
  const width = Math.max(ends.join(' ').length, ...lines.map(({ length }) => length));
  const [first = '', last = ''] = ends;
  return { positions: first.padEnd(width - last.length) + last, lines };
}

const textOf = ({ positions, lines }: Cell, at: number): string =>
  (lines[at] ?? '').padEnd(positions.length);

/*
 * The presets that an ID can belong to. They are lines under the parts of an ID that `snowflake
 * decode` read with the default layout, and a record of `--json`.
 */

export function plausibleRecord({ presets, timestampMs, ...rest }: PlausibleLayout) {
  return { presets, time: utcText(timestampMs), ...rest };
}

export function plausibleLines(fits: readonly PlausibleLayout[]): string[] {
  if (fits.length === 0) {
    return [
      '  Read as snowflake, the default. Its time fits no preset: perhaps it has another',
      '  epoch, or comes from a counter.',
    ];
  }
  const rows = fits.map(({ presets, timestampMs, workerId, sequence }) => [
    utcText(timestampMs),
    `worker ${workerId}`,
    `sequence ${sequence}`,
    presets.join(', '),
  ]);
  return [
    '  Read as snowflake, the default. An id does not say its layout; by its time it can be of,',
    '  likeliest first:',
    ...tableLines(rows, '    '),
  ];
}
