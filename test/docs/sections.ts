/** Parses Markdown pages: links, table rows, and commands. */
import { posix } from 'node:path';
import { lineAt, linesOf, type Finding, type TextFile } from '../tidy/tree.js';
import { fencesIn } from './snippets.js';

export function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Relative links whose file, folder, or heading is not in the tree. */
export function deadLinks(documents: readonly TextFile[], tree: readonly TextFile[]): Finding[] {
  const byPath = new Map(tree.map((file) => [file.path, file]));
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match): Finding[] => {
      const [target = '', anchor] = match[1]!.split('#');
      if (/^[a-z]+:/.test(target)) return [];
      const to = target === '' ? path : posix.join(posix.dirname(path), target);
      const isThere = byPath.has(to) || tree.some((file) => file.path.startsWith(`${to}/`));
      const places = anchor === undefined ? [] : placesOf(byPath.get(to)?.text ?? '');
      if (isThere && (anchor === undefined || places.includes(anchor))) return [];
      return [{ path, line: lineAt(text, match.index), message: `links to ${match[1]}` }];
    }),
  );
}

/** Link targets: headings, and rows with an anchor. */
export function placesOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
  return [...headings, ...[...text.matchAll(ADDRESS)].map(([, id]) => id!)];
}

/** The anchor before the name in a row of the reference, for GitHub and the site. */
export const ADDRESS = /<a id="([^"]+)"><\/a>/g;

/** The anchor that GitHub derives from a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The rows of the tables whose first column has this title, by the code in their first cell. */
export function rowsOf(text: string, title: string): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  let isMeant = false;
  let isHead = true;
  for (const line of linesOf(text)) {
    if (!line.startsWith('|')) {
      isHead = true;
      continue;
    }
    const [first = '', ...cells] = line
      .replaceAll(ADDRESS, '')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (isHead) isMeant = first === title;
    else if (isMeant && !/^-+$/.test(first)) rows.set(first.replace(/^`([^`]*)`$/, '$1'), cells);
    isHead = false;
  }
  return rows;
}

const WIDTH = 120;

/**
 * Padded table rows that are wider than a page. The padding doubles the file, aligns nothing
 * visible, and changes with every cell.
 */
export function paddedRows({ path, text }: TextFile): Finding[] {
  return linesOf(text).flatMap((row, at): Finding[] => {
    const isPadded = row.startsWith('|') && row.length > WIDTH && / {3,}\|/.test(row);
    const message = 'is a wide row with blanks; put <!-- prettier-ignore --> before its table';
    return isPadded ? [{ path, line: at + 1, message }] : [];
  });
}

/*
 * The commands in documents: every line of a block marked `sh`, and every line after `$ ` in an
 * unmarked block, with the documented output.
 */

export interface ShownCommand {
  readonly path: string;
  /** The line, starting at 1. */
  readonly line: number;
  /** The command without `npx` and comments, with `nestjs-snowflake` in its short form. */
  readonly text: string;
  /** The documented output lines; empty if the document shows no output. */
  readonly output: readonly string[];
}

export function commandsIn(file: TextFile): ShownCommand[] {
  return fencesIn(file).flatMap(({ line, language, code }) => {
    const lines = linesOf(code).map((said, at) => ({ said, line: line + 1 + at }));
    if (language === 'sh') return lines.flatMap((one) => commandOf(file.path, one, []));
    if (language !== '') return [];
    return lines.flatMap((one, at) => {
      if (!one.said.startsWith('$ ')) return [];
      const after = lines.slice(at + 1).map(({ said }) => said);
      const next = after.findIndex((said) => said.startsWith('$ '));
      const output = next < 0 ? after : after.slice(0, next);
      return commandOf(file.path, { ...one, said: one.said.slice(2) }, output);
    });
  });
}

function commandOf(
  path: string,
  { said, line }: { said: string; line: number },
  output: readonly string[],
): ShownCommand[] {
  const text = said
    .replace(/(^|\s)#.*$/, '')
    .replace(/^npx /, '')
    .replace(/^nestjs-snowflake /, 'snowflake ')
    .trim();
  return text === '' ? [] : [{ path, line, text, output }];
}

/** The words of a command as in a shell, if all quotation marks are closed. */
export function wordsOf(command: string): string[] {
  const words = command.match(/('[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/['"]/g, ''));
}

/** Whether the output matches: a line `...` matches any lines, and `...` within a line any text. */
export function isShown(output: readonly string[], printed: readonly string[]): boolean {
  const pattern = output
    .map((line) => {
      if (line.trim() === '...') return '(?:.*\n)*?';
      const isCut = line.endsWith(' ...');
      return `${quoted(isCut ? line.slice(0, -4) : line)}${isCut ? '.*' : ''}\n`;
    })
    .join('');
  return new RegExp(`^${pattern}$`).test(printed.map((line) => `${line.trimEnd()}\n`).join(''));
}

const quoted = (text: string): string => text.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
