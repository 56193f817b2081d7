/**
 * What the operator sees of a process that says nothing itself: the name of its package.
 *
 * npm tells it; under a plain `node dist/main` it stands in the package.json of the entry point.
 * Promise: never an error; `unnamed` where there is no name to be found.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @param entryPoint process.argv[1]; absent in a REPL and under `node --eval` */
export function applicationName(
  env: Readonly<Record<string, string | undefined>> = process.env,
  entryPoint: string | undefined = process.argv[1],
): string {
  const told = env['npm_package_name'];
  if (told) return told;
  if (!entryPoint) return 'unnamed';
  let folder = dirname(entryPoint);
  for (let above = dirname(folder); ; above = dirname((folder = above))) {
    const name = nameIn(join(folder, 'package.json'));
    if (name !== undefined) return name;
    if (above === folder) return 'unnamed';
  }
}

/** A build may put a package.json without a name beside its output: the search goes on above. */
function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
