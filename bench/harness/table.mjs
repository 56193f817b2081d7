// A table as plain text for the terminal and as Markdown for the file of results.
//
// Guarantee: a row with too few or too many cells throws; text that has a meaning in Markdown
// tables is escaped, but for the bold that marks the rows of this library.

const BOLD = /\*\*(.+?)\*\*/g;

export const bold = (/** @type {string} */ text) => `**${text}**`;

function checkedLines(/** @type {string[]} */ columns, /** @type {string[][]} */ rows) {
  for (const row of rows) {
    if (row.length !== columns.length)
      throw new Error(`Expected ${columns.length} cells, got: ${row.join(', ')}.`);
  }
  return [columns, ...rows];
}

export function plainTable(/** @type {string[]} */ columns, /** @type {string[][]} */ rows) {
  const lines = checkedLines(columns, rows).map((cells) =>
    cells.map((cell) => cell.replaceAll(BOLD, '$1')),
  );
  const widths = columns.map((_, at) => Math.max(...lines.map((cells) => cells[at].length)));
  const padded = lines.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at])));
  return padded.map((cells) => `${cells.join('  ').trimEnd()}\n`).join('');
}

export function markdownTable(/** @type {string[]} */ columns, /** @type {string[][]} */ rows) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |\n`;
  const [head, ...body] = checkedLines(columns, rows).map((cells) =>
    cells.map((cell) => cell.replaceAll(/[|<]/g, '\\$&')),
  );
  return line(head) + line(columns.map(() => '---')) + body.map(line).join('');
}
