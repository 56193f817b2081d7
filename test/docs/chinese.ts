/**
 * How Chinese is set: full punctuation, a space beside Latin text, lines that fit and break
 * where a space may stand, and no sentence that was left in English.
 */
import { linesOf, type Finding, type TextFile } from '../tidy/check.js';
import { cellsOf, isNames, withoutCode } from './sections.js';

const WIDTH = 120;
const HAN = '\\p{sc=Han}';

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`${HAN}[*\\]]*[,;:!?]|[,;:!?]${HAN}`, 'u'), 'has Latin punctuation beside Chinese'],
  [new RegExp(`${HAN}[*\\]]*\\.|\\.${HAN}`, 'u'), 'has a Latin full stop beside Chinese'],
  [new RegExp(`${HAN}\\(|\\)${HAN}|\\(${HAN}|${HAN}\\)`, 'u'), 'has Latin brackets beside Chinese'],
  [new RegExp(`${HAN}["']|["']${HAN}`, 'u'), 'has Latin quotation marks beside Chinese'],
  [/[，。；：、！？（）“”] | [，。；：、！？（）”]/u, 'has a space beside Chinese punctuation'],
  [new RegExp(`${HAN}[A-Za-z0-9\`]|[A-Za-z0-9\`%]${HAN}`, 'u'), 'lacks a space beside Latin text'],
];

/** Stars between punctuation and a letter, or the reverse, are no end of bold in CommonMark. */
const BOLD = /[*]{2}[^*]*[，。；：、！？）”][*]{2}\p{L}|\p{L}[*]{2}[（“][^*]*[*]{2}/u;

/** Four words one after another, in a cell or a line without a Chinese sign. */
const ENGLISH = /(?:\b[A-Za-z]+[,;:]? ){3}[a-z]+\b/;

/** Markdown shows the end of a line as a space, which stands between no two Chinese signs. */
const BROKEN = new RegExp(`${HAN}(\\*\\*)?\n\\s*(\\*\\*)?${HAN}`, 'u');

export function chineseFaults({ path, text }: TextFile): Finding[] {
  let isCode = false;
  const lines = linesOf(text);
  return lines.flatMap((line, at): Finding[] => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode || /^\s*```/.test(line)) return [];
    const isBroken = !line.startsWith('#') && BROKEN.test(`${line}\n${lines[at + 1] ?? ''}`);
    const broken = isBroken ? ['breaks between Chinese signs, which shows as a space'] : [];
    return [...faultsOf(line), ...broken].map((message) => ({ path, line: at + 1, message }));
  });
}

function faultsOf(line: string): string[] {
  const isWide = !/^([|#]|!\[)|\]\(https:/.test(line) && widthOf(line) > WIDTH;
  const width = isWide ? [`has ${widthOf(line)} columns; ${WIDTH} fit`] : [];
  const open = BOLD.test(withoutCode(line, '`'))
    ? ['has bold text that Markdown does not close']
    : [];
  const cells = line.startsWith('|') ? cellsOf(line).filter((cell) => !isNames(cell)) : [line];
  return [...cells.flatMap((cell) => cellFaults(bareOf(cell))), ...width, ...open];
}

/** Without the signs of Markdown, and with one sign for each piece of code. */
function bareOf(line: string): string {
  return withoutCode(line, '`')
    .replace(/!?\[|\]|\*\*/g, '')
    .replace(/^>? *- /, '');
}

function cellFaults(cell: string): string[] {
  const found = FAULTS.flatMap(([fault, message]) => {
    const at = fault.exec(cell)?.index;
    return at === undefined ? [] : [`${message}: ${cell.slice(Math.max(0, at - 8), at + 8)}`];
  });
  const isEnglish = ENGLISH.test(cell) && !/\p{sc=Han}/u.test(cell);
  return isEnglish ? [...found, `is still in English: ${cell.slice(0, 60)}`] : found;
}

/** A Chinese sign takes two columns. */
const widthOf = (line: string): number =>
  Array.from(line).reduce(
    (sum, sign) => sum + (/[\u2e80-\u9fff\uff00-\uff60“”]/.test(sign) ? 2 : 1),
    0,
  );
