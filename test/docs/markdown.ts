/**
 * What is read out of Markdown: links that lead nowhere, and the rows of its tables.
 */
import { posix } from 'node:path';
import { lineAt, linesOf, type Finding, type TextFile } from '../tidy/check.js';

/** Relative links whose file, folder or heading is not in the tree. */
export function deadLinks(documents: readonly TextFile[], tree: readonly TextFile[]): Finding[] {
  const byPath = new Map(tree.map((file) => [file.path, file]));
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match): Finding[] => {
      const [target = '', anchor] = match[1]!.split('#');
      if (/^[a-z]+:/.test(target)) return [];
      const to = target === '' ? path : posix.join(posix.dirname(path), target);
      const isThere = byPath.has(to) || tree.some((file) => file.path.startsWith(`${to}/`));
      const headings = anchor === undefined ? [] : headingsOf(byPath.get(to)?.text ?? '');
      if (isThere && (anchor === undefined || headings.includes(anchor))) return [];
      return [{ path, line: lineAt(text, match.index), message: `links to ${match[1]}` }];
    }),
  );
}

function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
}

/** As GitHub names a heading in links. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, '')
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
 * Rows of tables that are filled up with blanks though they are wider than a page: half of the
 * file, of which nobody reads a column, and all of which changes with one cell.
 */
export function paddedRows({ path, text }: TextFile): Finding[] {
  return linesOf(text).flatMap((row, at): Finding[] => {
    const isPadded = row.startsWith('|') && row.length > WIDTH && / {3,}\|/.test(row);
    const message = 'is a wide row with blanks; put <!-- prettier-ignore --> before its table';
    return isPadded ? [{ path, line: at + 1, message }] : [];
  });
}
