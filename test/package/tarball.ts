/**
 * The contents of a tarball of the library, and the results of the project's tools for it.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { deadLinks } from '../docs/sections.js';
import { say, type TextFile, ROOT } from '../tidy/tree.js';
import { run } from './command.js';
/** Every file of the tarball with its contents, by its path in the package. */
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

/** Runs a tool from the project's dev dependencies on the tarball. */
export function inspect(tarball: string, tool: string, ...args: string[]): Promise<string> {
  return run(ROOT, `${ROOT}/node_modules/.bin/${tool}`, ...args, tarball);
}

/*
 * Finds links and strings in a tarball that name files which its user does not have.
 */

/** Absolute links of the pages to files in the repository. */
const IN_THE_REPOSITORY =
  /https:\/\/github\.com\/nestjs-snowflake\/nestjs-snowflake\/(?:blob|raw)\/[^/]+\/([^)\s#]+)/g;

/** Links in packed documents to files that are neither packed nor in the repository. */
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

/** A path as a message of the library writes it: `docs/reference/options.md`, `guarantees.md`. */
const PATH = /(?<![\w/:.-])(?:(?:docs|lib|test|bench|scripts)\/[\w./-]*\w|[\w-]+\.md)\b/g;

/** Strings of the program (messages, help) that name a file outside the package. */
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

/** Every string literal of a program, including the parts of templates. */
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
