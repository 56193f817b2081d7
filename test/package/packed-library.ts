/**
 * Packs the library as `npm publish` would, from a copy of its sources, so that the build neither
 * disturbs the working folder nor profits from what lies there.
 */
import { cp, mkdir, readFile, readdir, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ROOT } from '../tidy/tree.js';
import { run } from './command.js';

/** Folders the package is not made from. */
const NOT_PACKED = /^(\.git|\.data|dist|coverage|test|sample-app)(\/|$)|(^|\/)node_modules(\/|$)/;

/** Builds and packs below `folder`; answers the path of the tarball. */
export async function packLibrary(folder: string): Promise<string> {
  const copy = `${folder}/library`;
  const isPacked = (path: string): boolean => !NOT_PACKED.test(relative(ROOT, path));
  await cp(ROOT, copy, { recursive: true, filter: isPacked });
  await symlink(`${ROOT}/node_modules`, `${copy}/node_modules`, 'dir');
  await run(copy, 'npm', 'pack', '--pack-destination', folder);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack answered no tarball');
  return `${folder}/${tarball}`;
}

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
