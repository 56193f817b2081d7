/**
 * Whether a Chinese page says what its English one says, as far as a program can tell: the same
 * sections with the same code, tables, links and numbers. It is about what is there, never about
 * whether it is well said.
 */
import { posix } from 'node:path';
import { linesOf, type Finding, type TextFile } from '../tidy/tree.js';
import { anchorOf, cellsOf, isNames, sectionsOf, withoutCode, type Section } from './sections.js';
const CHINESE = 'docs/zh/';
const README: readonly [string, string] = ['README.md', 'README.zh-CN.md'];

/** Stands in a Chinese page whose author left it to others; see CONTRIBUTING.md. */
const WANTED = '<!-- translation wanted -->';

export const isWanted = ({ text }: TextFile): boolean => text.includes(WANTED);

/** An English page and its Chinese one, which may be absent, or the reverse. */
interface Pair {
  readonly english: TextFile | undefined;
  readonly chinese: TextFile | undefined;
  readonly path: string;
}

/**
 * Pages that one language lacks, and what differs in those that both have. A page that is marked
 * as wanted may differ, and links may lead to any heading of it.
 */
export function untranslated(tree: readonly TextFile[]): Finding[] {
  const translated = pairsOf(tree);
  const wanted = new Set(tree.filter(isWanted).map(({ path }) => path));
  const place = (link: string): string => {
    const [path = ''] = link.split('#');
    // A picture with words in it has a Chinese one beside it.
    return wanted.has(path) ? path : link.replace(/^docs\/zh\/images\//, 'docs/images/');
  };
  const target = (link: string): string => chineseTarget(link, tree);
  return translated.flatMap(({ english, chinese, path }): Finding[] => {
    if (!english)
      return [{ path: chinese!.path, message: `translates ${path}, which is not there` }];
    if (!chinese) {
      const message = `has no Chinese page; write ${chinesePath(path)} (CONTRIBUTING.md)`;
      return [{ path, message }];
    }
    return isWanted(chinese) ? [] : differences(english, chinese, { target, place });
  });
}

const isTranslated = (path: string): boolean =>
  path === README[0] || (/^docs\/.*\.md$/.test(path) && !/^docs\/(internals|zh)\//.test(path));

export const isChinese = (path: string): boolean =>
  path === README[1] || (path.startsWith(CHINESE) && path.endsWith('.md'));

function chinesePath(path: string): string {
  return path === README[0] ? README[1] : path.replace(/^docs\//, CHINESE);
}

function englishPath(path: string): string {
  return path === README[1] ? README[0] : path.replace(CHINESE, 'docs/');
}

function pairsOf(tree: readonly TextFile[]): Pair[] {
  const byPath = new Map(tree.map((file) => [file.path, file]));
  const english = tree.map(({ path }) => path).filter(isTranslated);
  const chinese = tree
    .map(({ path }) => path)
    .filter(isChinese)
    .map(englishPath);
  return [...new Set([...english, ...chinese])]
    .toSorted()
    .map((path) => ({ path, english: byPath.get(path), chinese: byPath.get(chinesePath(path)) }));
}

/**
 * Where a Chinese page leads to for what an English one links to; both from the root. Each README
 * links to the other.
 */
function chineseTarget(link: string, tree: readonly TextFile[]): string {
  const [path = '', anchor] = link.split('#');
  if (isChinese(path)) return englishPath(path);
  if (!isTranslated(path)) return link;
  const to = chinesePath(path);
  if (anchor === undefined) return to;
  const headings = (file: string) =>
    sectionsOf(tree.find((one) => one.path === file)?.text ?? '').map(({ heading }) => heading);
  const at = headings(path).findIndex((heading) => anchorOf(heading) === anchor);
  return `${to}#${anchorOf(headings(to)[at] ?? '')}`;
}

/** Where a link leads in Chinese, and how much of a link is compared. */
interface Links {
  readonly target: (link: string) => string;
  readonly place: (link: string) => string;
}

function differences(english: TextFile, chinese: TextFile, { target, place }: Links): Finding[] {
  const [theirs, ours] = [sectionsOf(english.text), sectionsOf(chinese.text)];
  const at = theirs.findIndex(({ level }, index) => level !== ours[index]?.level);
  if (at !== -1 || ours.length > theirs.length) {
    const [wanted, found] = [theirs, ours].map((all) =>
      headingAt(all, at === -1 ? theirs.length : at),
    );
    const message = `has ${found} where ${english.path} has ${wanted}`;
    return [{ path: chinese.path, line: (ours[at] ?? ours.at(-1)!).line, message }];
  }
  return theirs.flatMap((section, index) => {
    const same = ours[index]!;
    const links = absolute(section.links, english.path).map((link) => place(target(link)));
    const wanted = { ...section, links };
    const found = { ...same, links: absolute(same.links, chinese.path).map(place) };
    return sectionDifferences(wanted, found).map((said): Finding => {
      const message = `${said} (${english.path}:${section.line})`;
      return { path: chinese.path, line: same.line, message };
    });
  });
}

function headingAt(sections: readonly Section[], at: number): string {
  const section = sections[at];
  return section ? `the heading "${'#'.repeat(section.level)} ${section.heading}"` : 'no heading';
}

/** Links as paths from the root, so that those of two pages can be compared. */
function absolute(links: readonly string[], from: string): string[] {
  return links.map((link) => {
    if (/^[a-z]+:/.test(link)) return link;
    return link.startsWith('#') ? from + link : posix.join(posix.dirname(from), link);
  });
}

function sectionDifferences(wanted: Section, found: Section): string[] {
  const spans = (section: Section) => [...new Set(section.spans)];
  return [
    difference('blocks of code', wanted.fences, withEnglishComments(found.fences, wanted.fences)),
    difference('tables of rows x columns', wanted.tables, found.tables),
    difference('inline code', spans(wanted), spans(found)),
    difference('links', wanted.links, found.links),
    difference('names of tests', wanted.names, found.names),
    difference('numbers', wanted.numbers, found.numbers),
  ].filter((said) => said !== '');
}

const COMMENT = /^(.*?(?:^|\s)(?:\/\/|#|--) +)(.*)$/;
const numbersIn = (text: string): string => (text.match(/\d[\d.]*/g) ?? []).join(' ');

/** A comment in Chinese stands for the English one beside the same code, if its numbers do. */
function withEnglishComments(chinese: readonly string[], english: readonly string[]): string[] {
  return chinese.map((fence, at) => {
    const theirs = english[at]?.split('\n') ?? [];
    const lines = fence.split('\n').map((line, row) => {
      const [, code, comment = ''] = COMMENT.exec(line) ?? [];
      const [, sameCode, meant = ''] = COMMENT.exec(theirs[row] ?? '') ?? [];
      const isSaid = code !== undefined && code === sameCode && /\p{sc=Han}/u.test(comment);
      return isSaid && numbersIn(comment) === numbersIn(meant) ? theirs[row]! : line;
    });
    return lines.join('\n');
  });
}

/** What one list has and the other lacks, however they are ordered; empty if they agree. */
function difference(what: string, wanted: readonly string[], found: readonly string[]): string {
  const lacks = without(wanted, found);
  const adds = without(found, wanted);
  const said = [
    ...(lacks.length > 0 ? [`lacks ${lacks.map(short).join(' and ')}`] : []),
    ...(adds.length > 0 ? [`adds ${adds.map(short).join(' and ')}`] : []),
  ];
  return said.length > 0 ? `differs in ${what}: ${said.join(', ')}` : '';
}

function without(all: readonly string[], taken: readonly string[]): string[] {
  const left = [...taken];
  return all.filter((one) => {
    const at = left.indexOf(one);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

const short = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 77)}...` : line;
};

/*
 * How Chinese is set: full punctuation, a space beside Latin text, lines that fit and break
 * where a space may stand, and no sentence that was left in English.
 */

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
