/**
 * Rows as lines whose columns stand below each other.
 *
 * Promise: no line ends in spaces, and an empty table is no line.
 */

/** @param right columns of numbers, which end below each other */
export function tableLines(
  rows: readonly (readonly string[])[],
  indent = '',
  right: readonly number[] = [],
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) => {
    const cells = row.map((cell, at) =>
      right.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!),
    );
    return (indent + cells.join('  ')).trimEnd();
  });
}
