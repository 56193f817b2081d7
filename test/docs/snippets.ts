/**
 * Compiles the TypeScript in Markdown blocks and in @example comments in one program. Each block is
 * a module in memory, under the rules of tsconfig.json and of a reader's stricter project.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { linesOf, type Finding, type TextFile, ROOT } from '../tidy/tree.js';

export interface Snippet {
  readonly path: string;
  /** The line of the fence, starting at 1. */
  readonly line: number;
  readonly code: string;
}

export interface Fence {
  readonly line: number;
  readonly language: string;
  readonly code: string;
  readonly isClosed: boolean;
}

/**
 * The allowed block languages. Other names for TypeScript would not be compiled; `js` marks the
 * configuration of a bundler, which `test/package/bundles.spec.ts` runs.
 */
const LANGUAGES = ['ts', 'js', 'sh', 'sql', 'prisma', ''];

export function snippetsIn(file: TextFile): Snippet[] {
  return fencesIn(file)
    .filter(({ language }) => language === 'ts')
    .map(({ line, code }) => ({ path: file.path, line, code }));
}

/** The only block of a page that contains a text, as JavaScript. */
export function blockWith(path: string, text: string): string {
  const blocks = snippetsIn({ path, text: readFileSync(join(ROOT, path), 'utf8') });
  const [block, ...others] = blocks.filter(({ code }) => code.includes(text));
  if (block === undefined || others.length > 0) throw new Error(`${path} has no one such block`);
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ES2022,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  return ts.transpileModule(block.code, { compilerOptions }).outputText;
}

/**
 * Blocks that would not be compiled: unclosed, with another mark, or an @example without a block.
 */
export function fenceFaults(file: TextFile): Finding[] {
  const { path, text } = file;
  const fences = fencesIn(file);
  const strange = fences
    .filter(({ language, isClosed }) => !isClosed || !LANGUAGES.includes(language))
    .map(({ line, language, isClosed }) => {
      const message = isClosed ? `has a block marked '${language}'; write ts` : 'is not closed';
      return { path, line, message };
    });
  const bare = linesOf(text).flatMap((said, at): Finding[] => {
    if (!/^\s*\* @example/.test(said) || fences.some(({ line }) => line === at + 2)) return [];
    return [{ path, line: at + 1, message: 'has an @example without a block below it' }];
  });
  return [...strange, ...(path.endsWith('.ts') ? bare : [])];
}

/** Removes the stars of a doc comment. */
export function fencesIn({ path, text }: TextFile): Fence[] {
  const fences: Fence[] = [];
  let open: { line: number; language: string; code: string[] } | undefined;
  const end = (isClosed: boolean) => {
    if (open) fences.push({ ...open, code: open.code.join('\n'), isClosed });
    open = undefined;
  };
  for (const [at, line] of linesOf(text).entries()) {
    const said = path.endsWith('.ts') ? line.replace(/^\s*\* ?/, '') : line;
    const language = /^ *```([^\s[]*)(?: ?\[[^\]]+\])?$/.exec(said)?.[1];
    if (language === undefined) open?.code.push(said);
    else if (open) end(true);
    else open = { line: at + 1, language, code: [] };
  }
  end(false);
  return fences;
}

/** The files that `nest new` generates next to the blocks. */
const OF_READER = new Map([[join(ROOT, 'app.module.ts'), 'export class AppModule {}\n']]);

/** Files on disk, which parse alike for every program. */
const trees = new Map<string, ts.SourceFile | undefined>();

const NOT_READ = { resolvedModule: undefined };

/** One program of all blocks and of their imports from the package. */
export class SnippetProgram {
  private readonly byPath: ReadonlyMap<string, Snippet>;
  private readonly program: ts.Program;

  /** Checks of the library's own types skip packages, which makes them several times as fast. */
  constructor(snippets: readonly Snippet[], { hasPackages = true } = {}) {
    this.byPath = new Map(snippets.map((snippet, n) => [join(ROOT, `snippet-${n}.ts`), snippet]));
    const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
    const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
    // All of `strict`, as a reader's project may use it. An example may leave a result unused.
    const strict = { strict: true, strictPropertyInitialization: true };
    const exact = { exactOptionalPropertyTypes: true };
    const rules = { ...options, ...strict, ...exact, noEmit: true, noUnusedLocals: false };
    const host = this.host(rules);
    if (!hasPackages) {
      rules.types = [];
      rules.lib = ['lib.es5.d.ts'];
      host.resolveModuleNameLiterals = (literals, from) =>
        literals.map(({ text }) =>
          text.startsWith('.') ? ts.resolveModuleName(text, from, rules, host) : NOT_READ,
        );
    }
    this.program = ts.createProgram([...this.byPath.keys()], rules, host);
  }

  /** Compiler errors, each at its line in the document. */
  faults(): Finding[] {
    return [...this.byPath].flatMap(([name, { path, line }]) => {
      const file = this.program.getSourceFile(name)!;
      const found = [
        ...this.program.getSyntacticDiagnostics(file),
        ...this.program.getSemanticDiagnostics(file),
      ];
      return found.map(({ start = 0, messageText }) => ({
        path,
        line: line + 1 + ts.getLineAndCharacterOfPosition(file, start).line,
        message: ts.flattenDiagnosticMessageText(messageText, ' '),
      }));
    });
  }

  /** The properties of an exported interface, or the values of an exported union of strings. */
  namesOf(entry: string, type: string): string[] {
    const checker = this.program.getTypeChecker();
    const symbol = this.exportsOf(entry).find(({ name }) => name === type);
    if (symbol === undefined) throw new Error(`${entry} exports no ${type}`);
    const declared = checker.getDeclaredTypeOfSymbol(symbol);
    const members = declared.isUnion() ? declared.types : [declared];
    const names = members.flatMap((member) =>
      member.isStringLiteral()
        ? [member.value]
        : checker.getPropertiesOfType(member).map(({ name }) => name),
    );
    return [...new Set(names)].toSorted();
  }

  /** Optional properties of exported interfaces that do not accept undefined. */
  exactOptionals(entry: string): Finding[] {
    const found: Finding[] = [];
    const look = (node: ts.Node): void => {
      if (isExactOptional(node)) {
        const file = node.getSourceFile();
        const { line } = file.getLineAndCharacterOfPosition(node.getStart());
        const message = `has ${node.getText()}; add | undefined`;
        found.push({ path: relative(ROOT, file.fileName), line: line + 1, message });
      }
      ts.forEachChild(node, look);
    };
    const declared = this.exportsOf(entry).flatMap(({ declarations = [] }) => declarations);
    declared.filter((node) => isTypeDeclaration(node)).forEach(look);
    return found;
  }

  private exportsOf(entry: string): ts.Symbol[] {
    const checker = this.program.getTypeChecker();
    const file = this.program.getSourceFile(join(ROOT, entry));
    const module = file && checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${entry} is in no block`);
    return checker
      .getExportsOfModule(module)
      .map((one) => (one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one));
  }

  private host(options: ts.CompilerOptions): ts.CompilerHost {
    const host = ts.createCompilerHost(options);
    host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors;
    const disk = { ...host };
    // Makes a block without import or export a module.
    const textOf = (path: string) =>
      this.byPath.has(path) ? `${this.byPath.get(path)!.code}\nexport {};\n` : OF_READER.get(path);
    host.fileExists = (path) => textOf(path) !== undefined || disk.fileExists(path);
    host.readFile = (path) => textOf(path) ?? disk.readFile(path);
    host.getSourceFile = (path, version, ...rest) => {
      const text = textOf(path);
      if (text !== undefined) return ts.createSourceFile(path, text, version);
      if (!trees.has(path)) trees.set(path, disk.getSourceFile(path, version, ...rest));
      return trees.get(path);
    };
    return host;
  }
}

const isTypeDeclaration = (node: ts.Node): boolean =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** Covers Partial too, which adds no undefined. Optional methods are excluded. */
function isExactOptional(node: ts.Node): boolean {
  if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
    return node.getText().startsWith('Partial<');
  }
  if (!ts.isPropertySignature(node) || !node.questionToken || !node.type) return false;
  const members = ts.isUnionTypeNode(node.type) ? node.type.types : [node.type];
  const admits = [ts.SyntaxKind.UndefinedKeyword, ts.SyntaxKind.UnknownKeyword];
  return !members.some(({ kind }) => admits.includes(kind));
}
