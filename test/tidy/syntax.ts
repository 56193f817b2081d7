/**
 * Reads a source file with the TypeScript compiler: its tree, its imports, and two views of its
 * text, one without comments and string contents and one of the comments alone. Words are then
 * looked for where they mean something. Positions are the same in both views and in the text.
 */
import ts from 'typescript';
import type { TextFile } from './check.js';

const trees = new WeakMap<TextFile, ts.SourceFile>();

/** The syntax tree of a file, parsed once however many checks ask. */
export function treeOf(file: TextFile): ts.SourceFile {
  let tree = trees.get(file);
  if (!tree) {
    tree = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true);
    trees.set(file, tree);
  }
  return tree;
}

export function lineOf(node: ts.Node): number {
  const tree = node.getSourceFile();
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

/** Calls `visit` for the node and everything below it. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly kind: 'value' | 'type' | 'dynamic';
}

const imports = new WeakMap<TextFile, Import[]>();

/** Every module a file names: import, import type, export from, import(), require(). */
export function importsOf(file: TextFile): readonly Import[] {
  const known = imports.get(file);
  if (known) return known;
  const found: Import[] = [];
  imports.set(file, found);
  walk(treeOf(file), (node) => {
    const named = moduleNamedBy(node);
    if (!named) return;
    const specifier = ts.isStringLiteralLike(named) ? named.text : `a computed name`;
    found.push({ specifier, line: lineOf(node), kind: kindOf(node) });
  });
  return found;
}

function moduleNamedBy(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return node.argument.literal;
  return isLoad(node) ? node.arguments[0] : undefined;
}

/** `import(name)` or `require(name)`. */
function isLoad(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node)) return false;
  const { expression: callee } = node;
  const isRequire = ts.isIdentifier(callee) && callee.text === 'require';
  return isRequire || callee.kind === ts.SyntaxKind.ImportKeyword;
}

function kindOf(node: ts.Node): Import['kind'] {
  if (isLoad(node)) return 'dynamic';
  if (ts.isImportTypeNode(node)) return 'type';
  if (ts.isExportDeclaration(node)) return node.isTypeOnly ? 'type' : 'value';
  if (!ts.isImportDeclaration(node)) return 'value';
  return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type' : 'value';
}

interface Views {
  readonly code: string;
  readonly comments: string;
}

const views = new WeakMap<TextFile, Views>();

/** The text with comments and the contents of strings, templates and patterns blanked out. */
export function codeOf(file: TextFile): string {
  return viewsOf(file).code;
}

/** The text with everything but the comments blanked out. */
export function commentsOf(file: TextFile): string {
  return viewsOf(file).comments;
}

function viewsOf(file: TextFile): Views {
  const known = views.get(file);
  if (known) return known;
  const found = bothViews(file, treeOf(file));
  views.set(file, found);
  return found;
}

/** A comment, where no text stands: the tokens of all else are not needed to tell them apart. */
const COMMENT = /^#![^\n]*|\/\/[^\n]*|\/\*[^]*?\*\//g;

function bothViews({ text }: TextFile, tree: ts.SourceFile): Views {
  const view = { code: '', comments: '' };
  let at = 0;
  const pass = (end: number, kept?: keyof Views): void => {
    const part = text.slice(at, end);
    const blanked = blank(part);
    view.code += kept === 'code' ? part : blanked;
    view.comments += kept === 'comments' ? part : blanked;
    at = end;
  };
  const passCode = (end: number): void => {
    const start = at;
    for (const { 0: comment, index } of text.slice(start, end).matchAll(COMMENT)) {
      pass(start + index, 'code');
      pass(start + index + comment.length, 'comments');
    }
    pass(end, 'code');
  };
  walk(tree, (node) => {
    if (!isText(node)) return;
    passCode(node.getStart(tree));
    pass(node.getEnd());
  });
  passCode(text.length);
  return view;
}

const isText = (token: ts.Node): boolean =>
  ts.isStringLiteral(token) ||
  ts.isRegularExpressionLiteral(token) ||
  ts.isTemplateLiteralToken(token);

const blank = (text: string): string =>
  text.includes('\n') ? text.replace(/[^\n]/g, ' ') : ' '.repeat(text.length);
