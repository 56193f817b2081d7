/**
 * The tables of bench/RESULTS.md, and of pages that take rows of them.
 */
import { readTree } from '../../tidy/tree.js';
import { cellsOf } from '../sections.js';

const { text: RESULTS } = readTree().find(({ path }) => path === 'bench/RESULTS.md')!;

export const ONE_ID = 'One id, as each library gives it';
export const ONE_TEXT = 'One id as decimal text';
export const MANY = 'Many at once';
export const ALONE = 'The arithmetic alone';
export const APART = 'Taking an id apart';
export const WAITING = 'Waiting for a lock, by store';

export const sectionOf = (document: string, heading: string): string =>
  document.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;

/** The cells of each table row between a heading and the next one, the head first. */
export function tableUnder(heading: string, document = RESULTS): string[][] {
  const lines = sectionOf(document, heading).split('\n');
  const [head, , ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
  return [head!, ...rows];
}

/** What a row of the results costs, in ns. */
export function nsOf(heading: string, name: string): number {
  const [head, ...rows] = tableUnder(heading);
  const row = rows.find(([what]) => what === name)!;
  return Number(row[head!.findIndex((title) => /^ns\b/.test(title))]);
}
