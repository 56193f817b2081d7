/**
 * The sentences that people read: of documents, of comments and of messages. Code, URLs and what is
 * marked as code count as one word each.
 */
import ts from 'typescript';
import { treeOf } from './syntax.js';
import { isCode, isGenerated, isLib, lineAt, type TextFile } from './tree.js';

export interface Sentence {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export function sentencesOf(file: TextFile): Sentence[] {
  if (isDocument(file)) return ofParagraphs(file, documentParagraphs(file.text));
  if (!isLib(file) || !isCode(file) || isGenerated(file)) return [];
  return [
    ...ofParagraphs(file, commentParagraphs(file.text)),
    ...ofParagraphs(file, messageParagraphs(file)),
  ];
}

const isDocument = ({ path }: TextFile): boolean =>
  /^(README|docs\/(?!zh\/|internals\/).*)\.md$/.test(path);

/** Consecutive lines of prose; the line of the first. */
type Paragraph = readonly [line: number, text: string];

function ofParagraphs({ path }: TextFile, paragraphs: readonly Paragraph[]): Sentence[] {
  return paragraphs.flatMap(([first, paragraph]) => {
    // What is code is one word, and has no words of its own.
    const plain = paragraph
      .replace(/`[^`]*`/g, (code) => '`'.padEnd(code.length, '_'))
      .replace(/\]\([^)]*\)/g, (target) => ']'.padEnd(target.length, '_'));
    return [...plain.matchAll(SENTENCE)].map(({ 0: text, index }) => ({
      path,
      line: first + (plain.slice(0, index).match(/\n/g)?.length ?? 0),
      text: text.trim(),
    }));
  });
}

const SENTENCE = /\S[^]*?(?:[.!?:]["'*)]*(?=\s+["'`*[(]*[A-Z`0-9_])|$)/g;

export const wordCount = (text: string): number =>
  text.split(/\s+/).filter((word) => /\w/.test(word)).length;

function documentParagraphs(text: string): Paragraph[] {
  return paragraphsOf(
    text.replace(/^( *)(```|~~~)[^]*?^\1\2$/gm, (code) => code.replace(/[^\n]+/g, '')),
  );
}

/** Headings, items of lists, cells of tables and empty lines separate paragraphs. */
function paragraphsOf(text: string, first = 1): Paragraph[] {
  const found: [number, string][] = [];
  let isOpen = false;
  for (const [at, line] of text.split('\n').entries()) {
    const isRow = /^\s*\|/.test(line);
    const isStart = /^\s*(#|[-*] |\d+\. |>|@\w|:::)/.test(line) || isRow;
    if (line.trim() === '' || /^\s*(<!--|\|[ :|-]+\|$)/.test(line)) isOpen = false;
    else if (isRow) {
      found.push(...line.split(/(?<!\\)\|/).map((cell): [number, string] => [first + at, cell]));
      isOpen = false;
    } else if (isOpen && !isStart) found.at(-1)![1] += `\n${line}`;
    else {
      found.push([first + at, line]);
      isOpen = !/^\s*#/.test(line);
    }
  }
  return found;
}

/** A comment of lines is one text. */
const COMMENTS = /\/\*\*?([^]*?)\*\/|(?:^[ \t]*\/\/[^\n]*\n)+|(?<=[\s;{])\/\/ [^\n]*/gm;

function commentParagraphs(text: string): Paragraph[] {
  return [...text.matchAll(COMMENTS)].flatMap(({ 0: comment, index }) => {
    const prose = comment
      .replace(/\*\/$/, '')
      .replace(/^[ \t]*(\/\*\*?|\*(?!\*)|\/\/)/gm, '')
      .replace(/^ *```[^]*?```/gm, (code) => code.replace(/[^\n]+/g, ''))
      // What is drawn has blanks between its words.
      .replace(/^.*\S {2,}\S.*$/gm, '');
    return paragraphsOf(prose, lineAt(text, index));
  });
}

/** Texts with blanks; what is filled in is one word. */
function messageParagraphs(file: TextFile): Paragraph[] {
  const tree = treeOf(file);
  const found: Paragraph[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text === undefined) ts.forEachChild(node, visit);
    else if (isProse(text)) found.push([lineAt(file.text, node.getStart(tree)), text]);
  };
  visit(tree);
  return found;
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => `_${literal.text}`).join('');
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) {
    return undefined;
  }
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : (left ?? '_') + (right ?? '_');
}

/** SQL, HTML and scripts are texts with blanks, too. */
const isProse = (text: string): boolean =>
  /^["'`_]?[\w-]+[,:]? [^]* /.test(text) && !CODE.test(text) && !NAMES.test(text);

/** A list of names, of which one is no word. */
const NAMES = /^(?=[^]*[_a-z][A-Z_])[\w-]+( [\w-]+)+ ?$/;

const CODE = /^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|DROP|SET) |[<>{};]\n/i;
