/**
 * The version of this package, read from its package.json; `unknown` if the program was moved out
 * of the package.
 */
import { readFileSync, realpathSync } from 'node:fs';

/** From dist/esm/cli/main.js to the package. */
const FOLDERS_UP = 4;

export function versionOf(program: string | undefined): string {
  try {
    // A bin is a symbolic link.
    const folders = realpathSync(program ?? '').split(/[\\/]/);
    const path = [...folders.slice(0, -FOLDERS_UP), 'package.json'].join('/');
    const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version?: string };
    return version ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
