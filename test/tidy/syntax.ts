/**
 * Reads a source file with the TypeScript compiler: its tree, its imports, and its text without
 * comments and string contents, so that checks match only real code.
 */
import ts from 'typescript';
import { lineAt, type TextFile } from './tree.js';

const trees = new WeakMap<TextFile, ts.SourceFile>();

/** The syntax tree of a file, parsed once for all checks. */
export function treeOf(file: TextFile): ts.SourceFile {
  let tree = trees.get(file);
  if (!tree) {
    tree = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true);
    trees.set(file, tree);
  }
  return tree;
}

/** Calls `visit` for the node and everything below it. */
function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly kind: 'value' | 'type' | 'dynamic';
}

/** Every module a file names: import, import type, export from, import(), require(). */
export function importsOf(file: TextFile): readonly Import[] {
  const found: Import[] = [];
  const tree = treeOf(file);
  walk(tree, (node) => {
    const named = moduleNamedBy(node);
    if (!named) return;
    const specifier = ts.isStringLiteralLike(named) ? named.text : `a computed name`;
    found.push({ specifier, line: lineAt(file.text, node.getStart(tree)), kind: kindOf(node) });
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

const codes = new WeakMap<TextFile, string>();

/** The text without comments and the contents of strings, templates, and patterns, as blanks. */
export function codeOf(file: TextFile): string {
  const code = codes.get(file) ?? blanked(file, treeOf(file));
  codes.set(file, code);
  return code;
}

/** Comments outside strings; other tokens are not needed to find them. */
const COMMENT = /^#![^\n]*|\/\/[^\n]*|\/\*[^]*?\*\//g;

function blanked({ text }: TextFile, tree: ts.SourceFile): string {
  let code = '';
  let at = 0;
  walk(tree, (node) => {
    if (!isText(node)) return;
    const [start, end] = [node.getStart(tree), node.getEnd()];
    code += text.slice(at, start).replace(COMMENT, blank) + blank(text.slice(start, end));
    at = end;
  });
  return code + text.slice(at).replace(COMMENT, blank);
}

const isText = (token: ts.Node): boolean =>
  ts.isStringLiteral(token) ||
  ts.isRegularExpressionLiteral(token) ||
  ts.isTemplateLiteralToken(token);

const blank = (text: string): string => text.replace(/[^\n]/g, ' ');
