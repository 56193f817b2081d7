/**
 * What is in a tarball of the library, and what the tools of the project say of it.
 */
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ROOT } from '../tidy/tree.js';
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
