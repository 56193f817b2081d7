/**
 * The default of the option `application`: the name of the package that runs.
 *
 * npm passes it in the environment; under a plain `node dist/main` it is read from the package.json
 * nearest to the entry point. Without one the name is `unnamed`; nothing here throws.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @param entryPoint process.argv[1]; absent in a REPL and under `node --eval` */
export function applicationName(
  env: Readonly<Record<string, string | undefined>> = process.env,
  entryPoint: string | undefined = process.argv[1],
): string {
  const fromNpm = env['npm_package_name'];
  if (fromNpm) return fromNpm;
  for (const folder of foldersAbove(entryPoint)) {
    const name = nameIn(join(folder, 'package.json'));
    if (name !== undefined) return name;
  }
  return 'unnamed';
}

/** The folder of a file and those that it lies in, up to the root; none of no file. */
export function foldersAbove(file: string | undefined): string[] {
  const folders: string[] = [];
  for (let at = file; at && dirname(at) !== at; at = dirname(at)) folders.push(dirname(at));
  return folders;
}

/** A build may put a package.json without a name next to its output: then the parent is read. */
function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
