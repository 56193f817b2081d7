// What a reader sees of one group: its title, its explanation and its table.
//
// Guarantee: the terminal and the file of results get the same words and cells.
import { markdownTable, plainTable } from './table.mjs';

/** @typedef {import('./turns.mjs').BenchGroup} BenchGroup */

const COLUMNS_MAX = 100;

function wrapped(/** @type {string} */ text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length <= COLUMNS_MAX) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

export const plainSection = (
  /** @type {BenchGroup} */ { title, explanation, columns },
  /** @type {string[][]} */ rows,
) => `\n${title}\n${wrapped(explanation)}\n\n${plainTable(columns, rows)}`;

export const markdownSection = (
  /** @type {BenchGroup} */ { title, explanation, columns },
  /** @type {string[][]} */ rows,
  /** @type {string} */ stamp,
) => `## ${title}\n\n${wrapped(explanation)}\n\n${stamp}\n\n${markdownTable(columns, rows)}\n`;
