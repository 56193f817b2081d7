// From the figures of several rounds to cells, and from cells to a table: as plain text for the
// terminal and as Markdown for the file of results.
//
// Guarantee: one round alone shows no span, so that nobody takes it for a measured one. A row with
// too few or too many cells throws; text that has a meaning in Markdown tables is escaped, but for
// the bold that marks the rows of this library.

export function median(/** @type {number[]} */ values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** By the nearest rank. */
export function percentile(/** @type {number[]} */ values, /** @type {number} */ percent) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
}

/** The figures of each round under one name: [{ a: 1 }, { a: 2 }] -> [1, 2]. */
export const column = (/** @type {Record<string, any>[]} */ rounds, /** @type {string} */ name) =>
  rounds.map((round) => round[name]);

/** Three digits that count, whether it is 1.52 or 1880. */
export function figure(/** @type {number} */ value) {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** E.g. "1,024". */
export const whole = (/** @type {number} */ value) => Math.round(value).toLocaleString('en');

export const times = (/** @type {number} */ value, /** @type {number} */ base) =>
  (value / base).toFixed(2);

/** E.g. "58.1–66.0", for a column of its own beside the median. */
export const span = (/** @type {number[]} */ values) => spanBy(values, figure);

/** E.g. "0.61 (0.58–0.66)": the median and the span in one cell. */
export function spread(/** @type {number[]} */ values, /** @type {number} */ digits) {
  const text = (/** @type {number} */ value) => value.toFixed(digits);
  const behind = spanBy(values, text);
  return behind === '' ? text(median(values)) : `${text(median(values))} (${behind})`;
}

function spanBy(/** @type {number[]} */ values, /** @type {(value: number) => string} */ text) {
  if (values.length === 1) return '';
  return `${text(Math.min(...values))}–${text(Math.max(...values))}`;
}

// Tables.

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
