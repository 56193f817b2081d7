/**
 * Checks sizes: lines of a file, of a function and of a Lua script, columns, parameters.
 * These are walls; the usual size is far below them. Generated files are exempt, and so is the
 * callback of a `describe`, which is a chapter and not a function.
 */
import ts from 'typescript';
import { isCode, isGenerated, isLua, isTest, linesOf } from './check.js';
import type { Check, Finding, TextFile } from './check.js';
import { lineOf, treeOf, walk } from './syntax.js';

/** From here on a file that is no test says at its head why it stays in one. */
const ALARM_LINES = 350;

export const WALLS = {
  fileLines: 500,
  testFileLines: 500,
  luaLines: 80,
  functionLines: 60,
  columns: 100,
  parameters: 4,
} as const;

export const checkFileSizes: Check = (files) =>
  written(files).flatMap((file) => {
    const wall = isLua(file)
      ? WALLS.luaLines
      : isTest(file)
        ? WALLS.testFileLines
        : WALLS.fileLines;
    const { length } = linesOf(file.text);
    if (length <= wall) return [];
    return [{ path: file.path, message: `has ${length} lines; the wall is ${wall}` }];
  });

/** The comments that a file starts with. */
const HEAD = /^(?:(?:\/\/.*|#!.*|'use strict';)?\n)*(?:\/\*\*[^]*?\*\/)?/;
/** As in "In one file, since ...". */
const EXPLAINED = /\b[Ii]n one file\b/;

export const checkLongFiles: Check = (files) =>
  written(files)
    .filter((file) => !isTest(file) && isCode(file))
    .filter(({ text }) => !EXPLAINED.test(HEAD.exec(text)?.[0] ?? ''))
    .map(({ path, text }) => ({ path, length: linesOf(text).length }))
    .filter(({ length }) => length > ALARM_LINES)
    .map(({ path, length }) => ({
      path,
      message: `has ${length} lines; split it, or say at its head why it is "in one file"`,
    }));

/** A line that is one long word, such as an address, cannot be broken and may stay. */
export const checkColumns: Check = (files) =>
  written(files).flatMap((file) =>
    linesOf(file.text).flatMap((line, index): Finding[] => {
      const columns = Array.from(line).length;
      if (columns <= WALLS.columns || /https?:\/\/\S{40}/.test(line)) return [];
      const message = `has ${columns} columns; the wall is ${WALLS.columns}`;
      return [{ path: file.path, line: index + 1, message }];
    }),
  );

export const checkFunctions: Check = (files) => written(files).filter(isCode).flatMap(functionsOf);

const written = (files: readonly TextFile[]): TextFile[] =>
  files.filter((file) => (isCode(file) || isLua(file)) && !isGenerated(file));

function functionsOf(file: TextFile): Finding[] {
  const found: Finding[] = [];
  walk(treeOf(file), (node) => {
    if (!ts.isFunctionLike(node)) return;
    const at = { path: file.path, line: lineOf(node) };
    const lines = lengthOf(node);
    if (lines > WALLS.functionLines && !isChapter(node)) {
      const message = `${nameOf(node)} has ${lines} lines; the wall is ${WALLS.functionLines}`;
      found.push({ ...at, message });
    }
    const parameters = parametersOf(node);
    if (parameters > WALLS.parameters) {
      const taken = `takes ${parameters} parameters`;
      const message = `${nameOf(node)} ${taken}; the wall is ${WALLS.parameters}`;
      found.push({ ...at, message });
    }
  });
  return found;
}

function lengthOf(node: ts.SignatureDeclaration): number {
  const tree = node.getSourceFile();
  return tree.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(node);
}

/** The elements of a tuple count: a parameter that is hidden in one is a parameter. */
const parametersOf = (node: ts.SignatureDeclaration): number =>
  node.parameters
    .filter(({ name }) => name.getText() !== 'this')
    .reduce((sum, parameter) => sum + tupleLength(parameter), 0);

function tupleLength({ type }: ts.ParameterDeclaration): number {
  const bare =
    type !== undefined && ts.isTypeOperatorNode(type) && ts.isTupleTypeNode(type.type)
      ? type.type
      : type;
  return bare !== undefined && ts.isTupleTypeNode(bare) ? bare.elements.length : 1;
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'the constructor';
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named ? `\`${named.getText()}\`` : 'a function';
}

/** The callback of describe(...) or describe.each(...)(...), or a function describeX() of many. */
function isChapter(node: ts.SignatureDeclaration): boolean {
  if (/^describe[A-Z]/.test(node.name?.getText() ?? '')) return true;
  return ts.isCallExpression(node.parent) && /^describe\b/.test(node.parent.expression.getText());
}
