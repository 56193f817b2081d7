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

/** @param values the fields of an ID; without them, the diagram shows only the layout */
export function bitDiagram(layout: BitLayout, values?: Readonly<Record<string, number>>): string[] {
  const cells = layout.fields.map(({ name, bits, shift }) => {
    const value = values?.[name];
    const shown = value === undefined ? [] : [value.toString(2).padStart(bits, '0'), String(value)];
    return { high: shift + bits - 1, low: shift, lines: [`${bits} ${name}`, ...shown] };
  });
  // The sign bit, which is always 0, and the bits above the fields of a shorter layout.
  const unused = 64 - layout.totalBits;
  if (unused > 0) {
    const name = unused === 1 ? '' : `${unused} unused`;
    const shown = values === undefined ? [] : ['0'.repeat(unused), ''];
    cells.unshift({ high: 63, low: layout.totalBits, lines: [name, ...shown] });
  }
  const columns = cells.map(({ high, low, lines }) => {
    const last = high === low ? '' : String(low);
    const ends = `${high} ${last}`.trim();
    const width = Math.max(ends.length, ...lines.map(({ length }) => length));
    const positions = String(high).padEnd(width - last.length) + last;
    return [positions, ...lines.map((line) => line.padEnd(width))];
  });
  const rule = `+${columns.map(([positions]) => '-'.repeat(positions!.length + 2)).join('+')}+`;
  const [positions = '', ...rows] = columns[0]!.map((_, at) =>
    columns.map((column) => ` ${column[at]} `).join('|'),
  );
  return [
    ` ${positions.replaceAll('|', ' ')}`.trimEnd(),
    rule,
    ...rows.map((row) => `|${row}|`),
    rule,
  ];
}

/*
 * The presets that an ID can belong to. They are lines under the parts of an ID that `snowflake
 * decode` read with the default layout.
 */

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
