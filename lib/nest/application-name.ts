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
  if (!entryPoint) return 'unnamed';
  let folder = dirname(entryPoint);
  for (let parent = dirname(folder); ; parent = dirname((folder = parent))) {
    const name = nameIn(join(folder, 'package.json'));
    if (name !== undefined) return name;
    if (parent === folder) return 'unnamed';
  }
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
