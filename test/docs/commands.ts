/**
 * The commands in documents: every line of a block marked `sh`, and every line after a `$ ` of an
 * unmarked block, with what the document shows below it.
 */
import { linesOf, type TextFile } from '../tidy/check.js';
import { fencesIn } from './snippets.js';

export interface ShownCommand {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  /** Without `npx` and comments, `nestjs-snowflake` called by its shorter name. */
  readonly text: string;
  /** The lines that are shown as its output; none where the document shows no output. */
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

/** The words of a command as a shell takes them, for quotation marks that are closed. */
export function wordsOf(command: string): string[] {
  const words = command.match(/('[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/['"]/g, ''));
}

/** Whether this was printed: `...` on a line of its own is any lines, at an end any text. */
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
