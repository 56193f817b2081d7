/**
 * What is looked for in the files of a tarball: links and texts that name what its user lacks.
 */
import { posix } from 'node:path';
import ts from 'typescript';
import { deadLinks } from '../docs/markdown.js';
import { say, type TextFile } from '../tidy/check.js';

/** Only the repository has these; npm and GitHub show links to them from there. */
const IN_THE_REPOSITORY = /^(docs\/(images|internals|zh)|sample-app)\/|^CONTRIBUTING\.md$/;

/** Links of the packed documents to what is neither packed nor such. */
export function linksToNowhere(files: ReadonlyMap<string, string>): string[] {
  const all = Array.from(files, ([path, text]): TextFile => ({ path, text }));
  const documents = all.filter(({ path }) => path.endsWith('.md'));
  const dead = deadLinks(documents, all).filter(({ path, message }) => {
    const to = posix.join(posix.dirname(path), message.replace(/^links to /, ''));
    return !IN_THE_REPOSITORY.test(to);
  });
  return dead.map(say);
}

/** A path as our messages would write it: `docs/reference/options.md`, `guarantees.md`. */
const PATH = /(?<![\w/:.-])(?:(?:docs|lib|test|bench|scripts)\/[\w./-]*\w|[\w-]+\.md)\b/g;

/** Texts of the program (messages, help) that name a file which is not packed. */
export function textsThatNameNoFile(files: ReadonlyMap<string, string>): string[] {
  const programs = [...files].filter(
    ([path, text]) => /\.c?js$/.test(path) && text.search(PATH) >= 0,
  );
  return programs.flatMap(([path, text]) =>
    textsOf(text).flatMap((said) =>
      [...said.matchAll(PATH)]
        .filter(([named]) => !files.has(named) && !files.has(`${named}/index.js`))
        .map(([named]) => `${path} says ${named}`),
    ),
  );
}

/** Every literal text of a program, also the parts of templates. */
function textsOf(program: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    const isNamed = ts.isImportDeclaration(node) || ts.isExportDeclaration(node);
    if (isNamed) return;
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('program.js', program, ts.ScriptTarget.ESNext));
  return texts;
}
