/**
 * Reads the repository for the style checks: every file that git would keep; what is no text has an
 * empty one. It walks the disk itself, because a source archive has no git to ask.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TextFile } from './check.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** What .gitignore names, and git itself. */
const NOT_OURS = /^(\.git|node_modules|dist|coverage|\.data|\.env)$|\.(tgz|tsbuildinfo)$/;
const NOT_TEXT = /\.(png|jpe?g|gif|ico|woff2?|gz|zip)$/;

export function readTree(): TextFile[] {
  return pathsBelow('').map((path) => ({ path, text: textOf(path) }));
}

const textOf = (path: string): string =>
  NOT_TEXT.test(path) ? '' : readFileSync(`${ROOT}/${path}`, 'utf8');

function pathsBelow(folder: string): string[] {
  const entries = readdirSync(`${ROOT}/${folder}`, { withFileTypes: true });
  return entries
    .filter(({ name }) => !NOT_OURS.test(name))
    .flatMap((entry) => {
      const path = folder ? `${folder}/${entry.name}` : entry.name;
      return entry.isDirectory() ? pathsBelow(path) : entry.isFile() ? [path] : [];
    })
    .sort();
}
