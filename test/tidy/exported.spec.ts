/**
 * The docstrings of the public interface: each name has one that an editor shows in full and that
 * names no file of the repository. Only relative imports are followed, which is fast. The kinds of
 * names are in test/package/api.txt.
 */
import { posix } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { treeOf } from './syntax.js';
import { readTree, type TextFile } from './tree.js';

/** The symbols of each entry. A missing entry file exports nothing. */
function exportsOf(files: readonly TextFile[], entries: Readonly<Record<string, string>>) {
  const program = programOf(files, Object.values(entries));
  const checker = program.getTypeChecker();
  const symbolsOf = (path: string): ts.Symbol[] => {
    const tree = program.getSourceFile(path);
    const module = tree && checker.getSymbolAtLocation(tree);
    return module ? checker.getExportsOfModule(module) : [];
  };
  const symbols = Object.entries(entries).map(([name, path]) => [name, symbolsOf(path)] as const);
  return { checker, symbols };
}

type Exports = ReturnType<typeof exportsOf>;

/** A program that contains only these files. */
function programOf(files: readonly TextFile[], roots: readonly string[]): ts.Program {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const host: ts.CompilerHost = {
    getSourceFile: (path) => (byPath.has(path) ? treeOf(byPath.get(path)!) : undefined),
    fileExists: (path) => byPath.has(path),
    readFile: (path) => byPath.get(path)?.text,
    resolveModuleNameLiterals: (literals, from) =>
      literals.map(({ text }) => ({ resolvedModule: resolve(from, text, byPath) })),
    getDefaultLibFileName: () => 'lib.d.ts',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    writeFile: () => undefined,
  };
  const options: ts.CompilerOptions = { noLib: true, types: [], target: ts.ScriptTarget.ESNext };
  return ts.createProgram(
    [...roots].filter((path) => byPath.has(path)),
    options,
    host,
  );
}

function resolve(
  from: string,
  specifier: string,
  byPath: ReadonlyMap<string, TextFile>,
): ts.ResolvedModuleFull | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
  return byPath.has(path) ? { resolvedFileName: path, extension: ts.Extension.Ts } : undefined;
}

/** The allowed tags of docstrings. */
const TAGS = ['deprecated', 'example', 'param', 'returns', 'throws'];
/** A file or folder of the repository; a path on a user's machine begins with `/`. */
const PATH = /(?<![\w/.-])(?:lib|test|docs|scripts|site|bench)\/\S|[a-z]+[\w.-]*\.ts\b/;
/** `{@link Name}` and `{@link Name.member}`; any other content is text. */
const LINK = /\{@link\s+([\w.]+)/g;

/** One sentence per error: `name: error`. */
function docstringFaults({ checker, symbols }: Exports): string[] {
  const named = new Map<ts.Symbol, string>();
  for (const symbol of symbols.flatMap(([, list]) => list)) {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    named.set(isAlias ? checker.getAliasedSymbol(symbol) : symbol, symbol.name);
  }
  const names = new Set(named.values());
  return [...named].flatMap(([symbol, name]) => [
    ...(docOf(symbol) === '' ? [`${name}: has no docstring`] : []),
    ...membersOf(symbol).flatMap((one) => faultsOf(one, nameOf(one, symbol, name), names)),
  ]);
}

const nameOf = (one: ts.Symbol, symbol: ts.Symbol, name: string) =>
  one === symbol ? name : `${name}.${one.name}`;

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

/** Text that TypeScript mistakes for tags, due to a space before `@`: decorators and packages. */
const cutsIn = (symbol: ts.Symbol): string[] =>
  docsOf(symbol)
    .flatMap(({ tags = [] }) => tags.map(({ tagName }) => tagName.text))
    .filter((name) => !TAGS.includes(name));

/** The text of all its docstrings, including tags. */
function docOf(symbol: ts.Symbol): string {
  return docsOf(symbol)
    .map((doc) => doc.getText().replaceAll(/^\s*(\/\*\*|\*\/|\*)/gm, ''))
    .join('\n')
    .trim();
}

/** A file header is not a docstring. */
const docsOf = ({ declarations = [] }: ts.Symbol): ts.JSDoc[] =>
  declarations.flatMap((node) => ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc));

const EXPORTS = exportsOf(readTree(), ENTRY_FILES);

const planted = (texts: Readonly<Record<string, string>>, entry: string): Exports =>
  exportsOf(
    Object.entries(texts).map(([path, text]) => ({ path, text })),
    { it: entry },
  );

const faultsIn = (text: string) => {
  const entry = "/** The entry. */\nexport * from './b.js';\n";
  return docstringFaults(planted({ 'lib/a.ts': entry, 'lib/b.ts': text }, 'lib/a.ts'));
};

it('every exported name has a clear docstring', () => {
  expect(docstringFaults(EXPORTS)).toEqual([]);
});

it('reports a name without a docstring, even below the header of its file', () => {
  expect(faultsIn('/** The head. */\nimport "x";\nexport const a = 1;')).toEqual([
    'a: has no docstring',
  ]);
  expect(faultsIn('/** It. */\nexport const a = 1;')).toEqual([]);
});

it('reports a path, even in a member, unless the member is private', () => {
  expect(faultsIn('/** As lib/core says. */\nexport type A = 1;')).toEqual([
    'A: names the path lib/c',
  ]);
  const inClass = (modifier: string) =>
    faultsIn(`/** A. */\nexport class A {\n/** See clock.ts. */\n${modifier} b = 1;\n}`);
  expect(inClass('readonly')).toEqual(['A.b: names the path clock.ts']);
  expect(inClass('private')).toEqual([]);
  expect(faultsIn('/** In /var/lib/shop. */\nexport type A = 1;')).toEqual([]);
});

it('reports a link to a name that cannot be imported', () => {
  expect(faultsIn('/** See {@link A.b} and {@link Hidden}. */\nexport type A = 1;')).toEqual([
    'A: links to Hidden',
  ]);
});

it('reports text that an editor truncates at a decorator or a package name', () => {
  const format = (...lines: string[]) => {
    const text = lines.map((line) => ` * ${line}\n`).join('');
    return faultsIn(`/**\n * It.\n${text} */\nexport type A = 1;`);
  };
  const example = (...code: string[]) => format('@example', '```ts', ...code, '```');
  expect(example('class Order {', '  @Id()', '  id!: string;', '}')).toEqual([
    'A: is cut off at @Id in an editor',
  ]);
  expect(example('class Order { @Id() id!: string }')).toHaveLength(1);
  expect(example('class Order {@Id() id!: string}')).toEqual([]);
  expect(format('Before @nestjs/terminus 12.')).toHaveLength(1);
  expect(format('Before `@nestjs/terminus` 12.')).toEqual([]);
});
