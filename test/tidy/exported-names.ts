/**
 * Reads the names each entry of the package exports, values and types apart, so that a name cannot
 * join or leave the public interface unseen. Only relative imports are followed: names are wanted,
 * not the types of other packages, and it stays fast.
 */
import { posix } from 'node:path';
import ts from 'typescript';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import type { TextFile } from './check.js';
import { treeOf } from './syntax.js';

/** Each name an entry exports, sorted, and whether it is there at run time. */
export type ExportedNames = Record<string, 'value' | 'type'>;

/** Per entry, its names. An entry whose file is absent exports nothing. */
export function exportedNames(
  files: readonly TextFile[],
  entries: Readonly<Record<string, string>> = ENTRY_FILES,
): Record<string, ExportedNames> {
  const program = programOf(files, Object.values(entries));
  const checker = program.getTypeChecker();
  const namesOf = (path: string): ExportedNames => {
    const tree = program.getSourceFile(path);
    const module = tree && checker.getSymbolAtLocation(tree);
    const symbols = module ? checker.getExportsOfModule(module) : [];
    const names = symbols.map(({ name }) => name).sort();
    const values = new Set(symbols.filter((symbol) => isValue(symbol, checker)).map((s) => s.name));
    return Object.fromEntries(names.map((name) => [name, values.has(name) ? 'value' : 'type']));
  };
  return Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, namesOf(path)]));
}

/** A class exported by `export type` anywhere on its way out is a type to the user. */
function isValue(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  let step: ts.Symbol | undefined = symbol;
  while (step && step.flags & ts.SymbolFlags.Alias) {
    if (step.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration)) return false;
    step = checker.getImmediateAliasedSymbol(step);
  }
  return step !== undefined && (step.flags & ts.SymbolFlags.Value) !== 0;
}

/** A program that knows these files and nothing else. */
export function programOf(files: readonly TextFile[], roots: readonly string[]): ts.Program {
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
