/**
 * Draws the bits of an id:
 *
 *      63 62            22 21     12 11        0
 *     |  | 41 timestamp   | 10 worker | 12 sequence |
 *
 * Each of the 64 bits is in exactly one cell, the most significant on the left.
 */
import type { BitLayout } from '../core/index.js';

interface Cell {
  readonly positions: string;
  /** One text for each line of the diagram. */
  readonly lines: readonly string[];
}

/** @param values the fields of an id; without them only the layout is drawn */
export function bitDiagram(layout: BitLayout, values?: Readonly<Record<string, number>>): string[] {
  const cells = layout.fields.map(({ name, bits, shift }) => {
    const value = values?.[name];
    const lines = [`${bits} ${name}`];
    if (value !== undefined) lines.push(value.toString(2).padStart(bits, '0'), String(value));
    return drawn(lines, shift + bits - 1, shift);
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
  return drawn(hasValues ? [name, '0'.repeat(bits)] : [name], 63, 64 - bits);
}

function drawn(lines: readonly string[], high: number, low: number): Cell {
  const ends = high === low ? [String(high)] : [String(high), String(low)];
  const width = Math.max(ends.join(' ').length, ...lines.map(({ length }) => length));
  const [first = '', last = ''] = ends;
  return { positions: first.padEnd(width - last.length) + last, lines };
}

const textOf = ({ positions, lines }: Cell, at: number): string =>
  (lines[at] ?? '').padEnd(positions.length);
