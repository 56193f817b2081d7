/**
 * Checks names and heads: kebab-case files, no drawers that hold anything (`utils`, `types`), and a
 * comment at the head of each file of lib that says what the file is for.
 */
import { isCode, isGenerated, isLib, isLua, linesOf } from './check.js';
import type { Check, Finding, TextFile } from './check.js';

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
const DRAWERS = /^(utils?|helpers?|commons?|interfaces?|types?)$/;

/** Sentences of a head, a table not counted; an index file lists names and may do with one. */
const HEAD = { atLeast: 2, atMost: 6 } as const;

export const checkFileNames: Check = (files) =>
  files.flatMap(({ path }) =>
    path
      .split('/')
      .filter((name) => !KEBAB_CASE.test(name.replace(/^\./, '')))
      .map((name) => ({ path, message: `names a file or folder ${name}; names are kebab-case` })),
  );

export const checkFolderNames: Check = (files) =>
  files.flatMap(({ path }) =>
    path
      .split('/')
      .slice(0, -1)
      .filter((folder) => DRAWERS.test(folder))
      .map((folder) => ({
        path,
        message: `lies in a drawer named ${folder}; name the folder after an idea`,
      })),
  );

export const checkHeads: Check = (files) =>
  files
    .filter((file) => isLib(file) && !isGenerated(file) && (isCode(file) || isLua(file)))
    .flatMap((file) => {
      const fault = isLua(file) ? luaHeadFault(file) : headFault(file);
      return fault ? [{ path: file.path, line: 1, message: fault }] : [];
    });

/** Keys and arguments have names, in the lines that a script starts with, and no number after. */
export const checkScriptArguments: Check = (files) =>
  files.filter(isLua).flatMap(({ path, text }) => {
    const lines = linesOf(text);
    const first = lines.findIndex((line) => !/^(--|local [\w, ]+ = (?!redis)|$)/.test(line));
    const numbered = lines.map((line, at): Finding[] =>
      first >= 0 && at >= first && /\b(ARGV|KEYS)\[\d/.test(line)
        ? [{ path, line: at + 1, message: 'reads by number what has no name at the top' }]
        : [],
    );
    return numbered.flat();
  });

function headFault(file: TextFile): string | undefined {
  const said = headOf(file).filter((line) => /\w/.test(line) && !line.startsWith(' * |')).length;
  const atLeast = file.path.endsWith('/index.ts') ? 1 : HEAD.atLeast;
  if (said === 0) return 'starts without a comment that says what the file is for';
  if (said >= atLeast && said <= HEAD.atMost) return undefined;
  return `has a head of ${said} lines; a head has ${HEAD.atLeast} to ${HEAD.atMost}`;
}

/** The lines of the comment a source file starts with; a program has the shell's line before. */
function headOf({ text }: TextFile): string[] {
  const [head = ''] = /^(\/\*.*?\*\/|(\/\/[^\n]*\n)+)/s.exec(text.replace(/^#!.*\n/, '')) ?? [];
  return linesOf(head);
}

/** The head of a script names its keys and arguments too, so it may be longer. */
function luaHeadFault({ text }: TextFile): string | undefined {
  const [head = ''] = /^(--[^\n]*\n)+/.exec(text) ?? [];
  const body = text.slice(head.length);
  const missing = ['KEYS', 'ARGV'].filter((name) => body.includes(name) && !head.includes(name));
  if (linesOf(head).length < HEAD.atLeast) return 'starts without a comment on purpose and answer';
  return missing.length > 0 ? `has a head that does not name ${missing.join(', ')}` : undefined;
}
