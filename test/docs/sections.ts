/**
 * A page of Markdown, section by section: its heading, and what of it no translation changes.
 */
import { linesOf } from '../tidy/check.js';

export interface Section {
  /** As it is written, without the signs before it; empty before the first heading. */
  readonly heading: string;
  /** How many signs; 0 before the first heading. */
  readonly level: number;
  /** Of the heading, counted from 1. */
  readonly line: number;
  readonly fences: readonly string[];
  /** Such as `6 x 3`. */
  readonly tables: readonly string[];
  readonly spans: readonly string[];
  readonly links: readonly string[];
  /** Cells that name tests, which are called the same in every language. */
  readonly names: readonly string[];
  /** Outside of code and of the targets of links. */
  readonly numbers: readonly string[];
}

/** The lines of a section, from its heading on. */
interface Part {
  readonly line: number;
  readonly code: string[][];
  readonly prose: string[];
}

export function sectionsOf(text: string): Section[] {
  return partsOf(text)
    .filter(({ prose, code }) => prose.some((line) => line !== '') || code.length > 0)
    .map(sectionOf);
}

/** A line of code is no heading, whatever it begins with. */
function partsOf(text: string): Part[] {
  const parts: Part[] = [{ line: 1, code: [], prose: [] }];
  let isCode = false;
  for (const [at, line] of linesOf(text).entries()) {
    if (!isCode && /^#+ /.test(line)) parts.push({ line: at + 1, code: [], prose: [] });
    const part = parts.at(-1)!;
    const isFence = /^\s*```/.test(line);
    if (isFence && !isCode) part.code.push([line]);
    else if (isCode) part.code.at(-1)!.push(line);
    else part.prose.push(line);
    if (isFence) isCode = !isCode;
  }
  return parts;
}

function sectionOf({ line, code, prose }: Part): Section {
  const [, signs = '', heading = ''] = /^(#+) (.*)$/.exec(prose[0] ?? '') ?? [];
  const text = prose.join('\n');
  return {
    heading,
    level: signs.length,
    line,
    fences: code.map((lines) => lines.join('\n')),
    tables: tablesIn(prose),
    spans: [...text.matchAll(SPAN)].map(([span]) => span.replace(/\s+/g, ' ')),
    links: [...text.replace(SPAN, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!),
    names: prose
      .filter((line) => line.startsWith('|'))
      .flatMap((row) => cellsOf(row).filter(isNames)),
    numbers: numbersIn(withoutCode(text)),
  };
}

/** Code within a line, which may go on in the next one. */
const SPAN = /(`+)(?!`)[^]*?[^`]\1(?!`)/g;

/** What readers read: code stands as one sign, links without their targets. */
export function withoutCode(text: string, sign = ''): string {
  return text.replace(SPAN, sign).replace(/\]\([^)\s]+\)/g, ']');
}

const MANY: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9, 万: 1e4, 亿: 1e8 };

const MONTHS = `January February March April May June July August September October November
  December`.split(/\s+/);
const DATED = new RegExp(`(${MONTHS.join('|')})(?= \\d)`, 'g');

/** Chinese counts by ten thousands, 41 million are 4100 万, and numbers the months. */
function numbersIn(text: string): string[] {
  const dated = text.replace(DATED, (month) => `${MONTHS.indexOf(month) + 1}`);
  return [...dated.matchAll(/(\d+(?:[.,]\d+)*)(?:\s(million|billion|万|亿))?/g)].map(
    ([, digits = '', many]) => (many ? String(Number(digits) * MANY[many]!) : digits),
  );
}

function tablesIn(lines: readonly string[]): string[] {
  const tables: string[][] = [];
  for (const [at, line] of lines.entries()) {
    if (!line.startsWith('|')) continue;
    if (!lines[at - 1]?.startsWith('|')) tables.push([]);
    tables.at(-1)!.push(line);
  }
  return tables.map((rows) => `${rows.length} x ${Math.max(...rows.map(columnsOf))}`);
}

const columnsOf = (row: string): number => cellsOf(row).length;

export function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Such as "`test/a.spec.ts`: is safe; chaos: kill -9". */
export function isNames(cell: string): boolean {
  return /^(`test\/[^`]+`|chaos|contract|mistake|mutant|simulation): /.test(cell);
}
