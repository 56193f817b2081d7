/**
 * Reads the repository for the style checks: every file that git would keep, with an empty text for
 * binary files. It walks the disk, because a source archive has no git.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** The entries of .gitignore, and .git itself. */
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

// A check is a function from files to findings. It reads no disk, so tests can plant violations.

/** A file as a check sees it; the path is relative to the repository and has forward slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  /** The line, starting at 1; absent if the finding is about the whole file. */
  readonly line?: number;
  readonly message: string;
}

/** One line that an editor can open: `lib/core/x.ts:12 imports node:fs; core may ...`. */
export function say({ path, line, message }: Finding): string {
  return line === undefined ? `${path} ${message}` : `${path}:${line} ${message}`;
}

/** The line, starting at 1, of a position in a text. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

export function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

export const isCode = ({ path }: TextFile): boolean => /\.(tsx?|mts|cts|mjs|cjs|js)$/.test(path);
export const isLua = ({ path }: TextFile): boolean => path.endsWith('.lua');
export const isGenerated = ({ path }: TextFile): boolean => /\.generated\.\w+$/.test(path);
export const isLib = ({ path }: TextFile): boolean => path.startsWith('lib/');
