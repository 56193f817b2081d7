// What users of each entry see: its exported names, as the declarations of the package have them,
// without what is private.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { ENTRY_FILES } from '../../scripts/entries.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @typedef {{
 *   name: string, kind: string, text: string, tags: { name: string, text: string }[],
 *   code: string, mentions: string[],
 * }} Declared
 * @typedef {{ entry: string, text: string, names: Declared[] }} DeclaredEntry
 */

/** @returns {DeclaredEntry[]} in the order of the table of entries */
export function declaredEntries() {
  const texts = declarations();
  const program = programOf(texts);
  const checker = program.getTypeChecker();
  const entries = Object.entries(ENTRY_FILES).map(([entry, path]) => {
    const tree = program.getSourceFile(declarationOf(path));
    const module = tree && checker.getSymbolAtLocation(tree);
    const symbols = module ? checker.getExportsOfModule(module) : [];
    return { entry, path, symbols: symbols.filter(({ name }) => name !== 'default') };
  });
  const exported = new Set(entries.flatMap(({ symbols }) => symbols.map(({ name }) => name)));
  return entries.map(({ entry, path, symbols }) => ({
    entry,
    text: headOf(readFileSync(join(ROOT, path), 'utf8')),
    names: symbols
      .map((symbol) => declared(symbol, checker, exported))
      .toSorted((a, b) => a.name.localeCompare(b.name, 'en')),
  }));
}

const declarationOf = (/** @type {string} */ path) => join(ROOT, path).replace(/\.ts$/, '.d.ts');

/** By the compiler, which writes down the types that the sources leave to it. */
function declarations() {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.lib.json'), (path) =>
    ts.sys.readFile(path),
  );
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const roots = Object.values(ENTRY_FILES).map((path) => join(ROOT, path));
  const program = ts.createProgram(roots, {
    ...options,
    emitDeclarationOnly: true,
    outDir: undefined,
    noEmit: false,
  });
  /** @type {Map<string, string>} */
  const texts = new Map();
  program.emit(undefined, (path, text) => texts.set(path, text));
  return texts;
}

/** It knows these texts and nothing else: names are looked up in it, no types. */
function programOf(/** @type {Map<string, string>} */ texts) {
  const trees = new Map(
    Array.from(texts, ([path, text]) => [
      path,
      ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true),
    ]),
  );
  /** @type {ts.CompilerHost} */
  const host = {
    getSourceFile: (path) => trees.get(path),
    fileExists: (path) => trees.has(path),
    readFile: (path) => texts.get(path),
    getDefaultLibFileName: () => 'lib.d.ts',
    getCurrentDirectory: () => ROOT,
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    writeFile: () => undefined,
    resolveModuleNameLiterals: (literals, from) =>
      literals.map(({ text }) => ({ resolvedModule: resolved(join(from, '..', text), trees) })),
  };
  return ts.createProgram([...trees.keys()], { noLib: true, types: [] }, host);
}

function resolved(/** @type {string} */ target, /** @type {Map<string, ts.SourceFile>} */ trees) {
  const resolvedFileName = target.replace(/\.js$/, '.d.ts');
  return trees.has(resolvedFileName)
    ? { resolvedFileName, extension: ts.Extension.Dts }
    : undefined;
}

/** @returns {Declared} */
function declared(
  /** @type {ts.Symbol} */ symbol,
  /** @type {ts.TypeChecker} */ checker,
  /** @type {Set<string>} */ exported,
) {
  const { name } = symbol;
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  const { declarations: nodes = [] } = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
  const docs = nodes.flatMap((node) => ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc));
  const mentions = new Set(nodes.flatMap((node) => typesIn(node)));
  return {
    name,
    kind: [...new Set(nodes.map(kindOf))].join(' and '),
    ...docOf(docs.map((doc) => doc.getText())),
    code: nodes.map((node) => codeOf(node, exported)).join('\n\n'),
    mentions: [...mentions].filter((one) => one !== name && exported.has(one)).toSorted(),
  };
}

function kindOf(/** @type {ts.Node} */ node) {
  if (ts.isClassDeclaration(node)) return 'class';
  if (ts.isFunctionDeclaration(node)) return 'function';
  return ts.isVariableDeclaration(node) ? 'value' : 'type';
}

/** It begins a line: no decorator does in a docstring, where an editor takes it for a tag too. */
const TAG = /^@(\w+) ?/;

function docOf(/** @type {string[]} */ comments) {
  /** @type {{ name: string, text: string }[]} */
  const parts = [];
  for (const comment of comments) {
    parts.push({ name: '', text: '' });
    for (const line of wordsOf(comment).split('\n')) {
      const [start = '', name] = TAG.exec(line) ?? [];
      if (name !== undefined) parts.push({ name, text: line.slice(start.length) });
      else parts[parts.length - 1].text += `\n${line}`;
    }
  }
  const trimmed = parts.map(({ name, text }) => ({ name, text: text.trim() }));
  const text = trimmed.filter(({ name }) => name === '').map((part) => part.text);
  return { text: text.join('\n\n'), tags: trimmed.filter(({ name }) => name !== '') };
}

/** Of a comment, without its stars. */
const wordsOf = (/** @type {string} */ comment) =>
  comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .replaceAll(/^[ \t]*\*? ?/gm, '')
    .trim();

/** The names of types in it that are not private. */
function typesIn(/** @type {ts.Node} */ node) {
  /** @type {string[]} */
  const names = [];
  const visit = (/** @type {ts.Node} */ one) => {
    if (isHidden(one)) return;
    if (ts.isTypeReferenceNode(one)) names.push(one.typeName.getText());
    if (ts.isExpressionWithTypeArguments(one)) names.push(one.expression.getText());
    if (ts.isTypeQueryNode(one)) names.push(one.exprName.getText());
    ts.forEachChild(one, visit);
  };
  visit(node);
  return names;
}

function isHidden(/** @type {ts.Node} */ node) {
  if (!ts.isClassElement(node)) return false;
  if (node.name !== undefined && ts.isPrivateIdentifier(node.name)) return true;
  return (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0;
}

/** A constructor that takes what nobody can import is for the library itself. */
function isForUs(/** @type {ts.Node} */ node, /** @type {Set<string>} */ exported) {
  if (!ts.isConstructorDeclaration(node)) return false;
  const own = node.parameters.flatMap((one) => typesIn(one));
  return own.some((name) => !exported.has(name) && !(name in globalThis));
}

/** The declaration with the docstrings of its members, and without its own and what is private. */
function codeOf(/** @type {ts.Node} */ node, /** @type {Set<string>} */ exported) {
  const whole = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  const start = whole.getStart();
  const full = whole.getSourceFile().text;
  let code = full.slice(start, whole.end);
  const members = ts.isClassDeclaration(node) ? [...node.members] : [];
  for (const member of members.toReversed()) {
    if (!isHidden(member) && !isForUs(member, exported)) continue;
    code = code.slice(0, member.pos - start) + code.slice(member.end - start);
  }
  return code
    .replaceAll(/import\("[^"]*"\)\./g, '')
    .replace(/^export /, '')
    .replace(/^(default )?(declare )?/, '')
    .replaceAll(/^(?: {4})+/gm, (spaces) => spaces.slice(spaces.length / 2));
}

/** The first comment of a file, in which it says what it is for. */
function headOf(/** @type {string} */ text) {
  return wordsOf(/^\/\*\*.*?\*\//s.exec(text)?.[0] ?? '');
}
