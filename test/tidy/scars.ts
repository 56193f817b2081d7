/**
 * Checks that a message stands in the source as somebody wrote it. A text in several parts breaks
 * where the line is full or a sentence ends; a part that stops short in the middle of a sentence
 * is what moving the code about has left behind.
 */
import ts from 'typescript';
import { isCode, isGenerated, type Check, type Finding, type TextFile } from './check.js';
import { WALLS } from './sizes.js';
import { lineOf, treeOf, walk } from './syntax.js';

/** Columns that may stay free: the next word may be long, and somebody may like a rhythm. */
const FREE_MAX = 14;
/** A part of at most so many columns that ends what the part before began is a leftover. */
const LEFTOVER_MAX = 20;
const ENDS_WELL = /(\\n|[\n.,:;!?)\]}|>])\s*$/;

export const checkScars: Check = (files) =>
  files.filter((file) => isCode(file) && !isGenerated(file)).flatMap(scarsIn);

function scarsIn(file: TextFile): Finding[] {
  const found: Finding[] = [];
  walk(treeOf(file), (node) => {
    if (!isSum(node) || isSum(node.parent)) return;
    const parts = partsOf(node);
    for (const [at, part] of parts.entries()) {
      const next = parts[at + 1];
      if (next === undefined || !isText(part) || !isText(next)) continue;
      const text = JSON.stringify(insideOf(part).trim());
      const add = (message: string) => found.push({ path: file.path, line: lineOf(part), message });
      if (isLeftover(parts[at - 1], part)) add(`leaves ${text} of a message alone on its line`);
      else if (stopsShort(part, next))
        add(`breaks a message after ${text}, where its next word has room`);
    }
  });
  return found;
}

const isSum = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;

const partsOf = (node: ts.Expression): ts.Expression[] =>
  isSum(node) ? [...partsOf(node.left), node.right] : [node];

const isText = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

const insideOf = (node: ts.Node): string => node.getText().slice(1, -1);

/** True for the end of a sentence or a line that the part before it had no room for. */
function isLeftover(before: ts.Expression | undefined, part: ts.Expression): boolean {
  if (before === undefined || !isText(before) || ENDS_WELL.test(insideOf(before))) return false;
  return insideOf(part).trim().length <= LEFTOVER_MAX;
}

/** True where the next part's first word would have stood on the line of this one. */
function stopsShort(part: ts.Expression, next: ts.Expression): boolean {
  const text = insideOf(part);
  if (ENDS_WELL.test(text) || /^(\\n|\s)/.test(insideOf(next))) return false;
  if (lineOf(next) === lineOf(part)) return true;
  const { character } = part.getSourceFile().getLineAndCharacterOfPosition(part.getStart());
  const [word = ''] = /^(\\?`.*?`|\S*)/.exec(insideOf(next)) ?? [];
  return character + text.length + word.length + '"" +'.length <= WALLS.columns - FREE_MAX;
}
