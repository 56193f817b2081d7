/**
 * Packages of the application that start together and yet do not fit: what npm puts beside each
 * other without a word, and the tests of the application then cannot load.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldersAbove } from './application-name.js';

/** @param entryPoint process.argv[1]; without it nothing is known */
export function packageAdvice(entryPoint: string | undefined = process.argv[1]): string[] {
  const folders = foldersAbove(entryPoint);
  const core = versionOf('@nestjs/core', folders);
  const schedule = versionOf('@nestjs/schedule', folders);
  // The scheduler has the number of Nest from 12 on, where Nest became ES modules alone.
  if (!(majorOf(core) < 12) || !(majorOf(schedule) >= 12)) return [];
  return [
    `@nestjs/schedule ${schedule} in an application of Nest ${core}: it runs, but it is made of ` +
      'ES modules alone, which the Jest of such an application cannot load ("Must use import to ' +
      'load ES Module"). Write `npm install @nestjs/schedule@6`.',
  ];
}

const majorOf = (version: string | undefined): number => Number.parseInt(version ?? '', 10);

/** Of the package as Node would find it from the innermost of the folders. */
function versionOf(name: string, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    try {
      const text = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
      const { version } = JSON.parse(text) as { version?: unknown };
      return typeof version === 'string' ? version : undefined;
    } catch {
      // It does not lie here: then in a folder further out.
    }
  }
  return undefined;
}
