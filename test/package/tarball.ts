/**
 * What is in a tarball of the library, and what the tools of the project say of it.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { deadLinks } from '../docs/sections.js';
import { say, type TextFile, ROOT } from '../tidy/tree.js';
import { run } from './command.js';
/** Every file of the tarball, by its path in the package, and what it holds. */
export async function unpack(tarball: string, folder: string): Promise<Map<string, string>> {
  await mkdir(folder);
  await run(folder, 'tar', 'xzf', tarball, '--strip-components=1');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  const texts = paths.map(
    async (path) => [relative(folder, path), await readFile(path, 'utf8')] as const,
  );
  return new Map(await Promise.all(texts));
}

/** Runs a tool of the project's own dev dependencies on the tarball. */
export function inspect(tarball: string, tool: string, ...args: string[]): Promise<string> {
  return run(ROOT, `${ROOT}/node_modules/.bin/${tool}`, ...args, tarball);
}

/*
 * What is looked for in the files of a tarball: links and texts that name what its user lacks.
 */

/** What the pages link to in the repository, by an absolute address. */
const IN_THE_REPOSITORY =
  /https:\/\/github\.com\/nestjs-snowflake\/nestjs-snowflake\/(?:blob|raw)\/[^/]+\/([^)\s#]+)/g;

/** Links of the packed documents to what is neither packed nor in the repository. */
export function linksToNowhere(files: ReadonlyMap<string, string>): string[] {
  const all = Array.from(files, ([path, text]): TextFile => ({ path, text }));
  const documents = all.filter(({ path }) => /\.md$|^llms\.txt$/.test(path));
  const absolute = documents.flatMap(({ path, text }) =>
    [...text.matchAll(IN_THE_REPOSITORY)]
      .filter(([, to]) => !existsSync(`${ROOT}/${to}`))
      .map(([link]) => `${path} links to ${link}`),
  );
  return [...deadLinks(documents, all).map(say), ...absolute];
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
