/**
 * The TypeScript in prose: fenced blocks of Markdown and of @example in doc comments, checked by
 * the compiler as modules of the project.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface Snippet {
  /** Where the block begins: file and line. */
  readonly place: string;
  readonly code: string;
}

/** Blocks marked `ts`; the stars of a doc comment are taken off. */
export function snippetsOf(path: string, text: string): Snippet[] {
  const snippets: Snippet[] = [];
  let begun: { line: number; code: string[] } | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const bare = path.endsWith('.ts') ? line.replace(/^\s*\* ?/, '') : line;
    if (begun === undefined && bare === '```ts') begun = { line: at + 1, code: [] };
    else if (begun !== undefined && bare === '```') {
      snippets.push({ place: `${path}:${begun.line}`, code: begun.code.join('\n') });
      begun = undefined;
    } else begun?.code.push(bare);
  }
  return snippets;
}

/** What the compiler has to say, each with the place of its block. */
export function snippetFaults(snippets: readonly Snippet[], root = process.cwd()): string[] {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const files = new Map(
    snippets.map(({ code }, n) => [join(root, `snippet-${n}.ts`), `${code}\nexport {};\n`]),
  );
  const places = new Map(snippets.map(({ place }, n) => [join(root, `snippet-${n}.ts`), place]));
  const host = ts.createCompilerHost({ ...options, noEmit: true });
  const disk = ts.createCompilerHost({ ...options, noEmit: true });
  host.fileExists = (path) => files.has(path) || disk.fileExists(path);
  host.readFile = (path) => files.get(path) ?? disk.readFile(path);
  host.getSourceFile = (path, languageVersion) => {
    const text = files.get(path);
    if (text === undefined) return disk.getSourceFile(path, languageVersion);
    return ts.createSourceFile(path, text, languageVersion);
  };
  const rules = { ...options, noEmit: true, noUnusedLocals: false };
  const program = ts.createProgram([...files.keys()], rules, host);
  return [...files.keys()].flatMap((path) => {
    const file = program.getSourceFile(path)!;
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map(
      ({ messageText }) =>
        `${places.get(path)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  });
}

/** Relative links of a Markdown text. */
export function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target));
}

export function read(path: string): string {
  return readFileSync(path, 'utf8');
}

/** Files below a folder by their ending; Node 20 has no glob of its own. */
export function globSync(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}
