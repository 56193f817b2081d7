/**
 * What an editor shows of each exported name: that there is something to show, that it is shown
 * whole, and that it names no file of the repository, which those who installed the package do not
 * have.
 */
import ts from 'typescript';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import type { TextFile } from './check.js';
import { programOf } from './exported-names.js';

/** The tags that docstrings have. */
const TAGS = ['example', 'param', 'returns', 'throws'];
/** A file or folder of ours; a path in an address of the user's own machine begins with `/`. */
const PATH = /(?<![\w/.-])(?:lib|test|docs|scripts|site|bench)\/\S|[a-z]+[\w.-]*\.ts\b/;
/** `{@link Name}` and `{@link Name.member}`; whatever else stands in it is words. */
const LINK = /\{@link\s+([\w.]+)/g;

/** One sentence per fault: `name: what is wrong`. */
export function docstringFaults(
  files: readonly TextFile[],
  entries: Readonly<Record<string, string>> = ENTRY_FILES,
): string[] {
  const program = programOf(files, Object.values(entries));
  const checker = program.getTypeChecker();
  const named = new Map<ts.Symbol, string>();
  for (const path of Object.values(entries)) {
    const tree = program.getSourceFile(path);
    const module = tree && checker.getSymbolAtLocation(tree);
    for (const symbol of module ? checker.getExportsOfModule(module) : []) {
      named.set(resolved(symbol, checker), symbol.name);
    }
  }
  const names = new Set(named.values());
  return [...named].flatMap(([symbol, name]) => [
    ...(docOf(symbol) === '' ? [`${name}: has no docstring`] : []),
    ...membersOf(symbol).flatMap((one) => faultsOf(one, nameOf(one, symbol, name), names)),
  ]);
}

const resolved = (symbol: ts.Symbol, checker: ts.TypeChecker) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

const nameOf = (one: ts.Symbol, symbol: ts.Symbol, name: string) =>
  one === symbol ? name : `${name}.${one.name}`;

/** It, and what of it is not private. */
function membersOf(symbol: ts.Symbol): ts.Symbol[] {
  const all = [...(symbol.members?.values() ?? []), ...(symbol.exports?.values() ?? [])];
  const isOpen = ({ declarations = [] }: ts.Symbol) =>
    declarations.every(
      (node) => (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) === 0,
    );
  return [symbol, ...all.filter(isOpen)];
}

function faultsOf(symbol: ts.Symbol, name: string, names: ReadonlySet<string>): string[] {
  const text = docOf(symbol);
  const path = PATH.exec(text)?.[0];
  const links = [...text.matchAll(LINK)].map(([, to = '']) => to.split('.')[0]!);
  return [
    ...cutsIn(symbol).map((tag) => `${name}: is cut off at @${tag} in an editor`),
    ...(path === undefined ? [] : [`${name}: names the path ${path}`]),
    ...links.filter((to) => !names.has(to)).map((to) => `${name}: links to ${to}`),
  ];
}

/** What TypeScript takes for tags, since a space is before its `@`: decorators, packages. */
const cutsIn = (symbol: ts.Symbol): string[] =>
  docsOf(symbol)
    .flatMap(({ tags = [] }) => tags.map(({ tagName }) => tagName.text))
    .filter((name) => !TAGS.includes(name));

/** The text of all its docstrings, with their tags. */
function docOf(symbol: ts.Symbol): string {
  return docsOf(symbol)
    .map((doc) => doc.getText().replaceAll(/^\s*(\/\*\*|\*\/|\*)/gm, ''))
    .join('\n')
    .trim();
}

/** A head of a file is none. */
const docsOf = ({ declarations = [] }: ts.Symbol): ts.JSDoc[] =>
  declarations.flatMap((node) => ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc));
