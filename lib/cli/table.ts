/**
 * Formats rows as lines with aligned columns. No line ends in spaces, and an empty table gives no
 * line.
 */

/** @param right the columns to align on the right, such as numbers */
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
