/**
 * Checks that no files import each other in a circle, whether values or types: of two such files
 * neither can be read, moved or tested without the other.
 */
import { posix } from 'node:path';
import { isCode, type Check, type TextFile } from './check.js';
import { commentsOf, importsOf } from './syntax.js';

export const checkCircles: Check = (files) => {
  const byPath = new Map(files.filter(isCode).map((file) => [file.path, file]));
  const importsBy = new Map([...byPath].map(([path, file]) => [path, targetsOf(file, byPath)]));
  const found = [...byPath.keys()].map((path) => circleOf(path, importsBy));
  return (
    found
      .filter((circle) => circle.length > 0)
      // Each circle once, named by the file that comes first.
      .filter((circle) => circle.every((path) => path >= circle[0]!))
      .map(([path = '', ...others]) => ({
        path,
        message: `imports itself by ${[...others, path].join(', ')}`,
      }))
  );
};

/** How modules that are no TypeScript name types: `import('./x.mjs').X`, `@import { X } from`. */
const IN_COMMENT = /\bimport\('(\.[^']+)'\)|@import [^'@]*'(\.[^']+)'/g;

function specifiersOf(file: TextFile): string[] {
  const inComments = [...commentsOf(file).matchAll(IN_COMMENT)];
  return [
    ...importsOf(file).map(({ specifier }) => specifier),
    ...inComments.map(([, called, declared]) => called ?? declared!),
  ];
}

function targetsOf(file: TextFile, byPath: ReadonlyMap<string, TextFile>): string[] {
  const named = specifiersOf(file).filter((specifier) => specifier.startsWith('.'));
  return named.flatMap((specifier) => {
    const path = posix.join(posix.dirname(file.path), specifier);
    return [path, path.replace(/\.js$/, '.ts')].filter((candidate) => byPath.has(candidate));
  });
}

/** The shortest way from a file back to itself; empty where there is none. */
function circleOf(path: string, importsBy: ReadonlyMap<string, readonly string[]>): string[] {
  const cameFrom = new Map<string, string>();
  const queue = [path];
  for (const at of queue) {
    for (const next of importsBy.get(at) ?? []) {
      if (next === path) return wayTo(at, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      queue.push(next);
    }
  }
  return [];
}

function wayTo(path: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const before = cameFrom.get(path);
  return before === undefined ? [path] : [...wayTo(before, cameFrom), path];
}
