/**
 * Checks the forbidden words. Code words are looked for in code alone and comment words in
 * comments alone, so that a message or an explanation may name what the code must not use.
 */
import ts from 'typescript';
import { isCode, isGenerated, isLib, isTest, lineAt } from './check.js';
import type { Check, Finding, TextFile } from './check.js';
import { codeOf, commentsOf } from './syntax.js';

interface ForbiddenWord {
  readonly word: RegExp;
  readonly where: (file: TextFile) => boolean;
  readonly instead: string;
}

const isCli = ({ path }: TextFile): boolean => path.startsWith('lib/cli/');
const isScript = ({ path }: TextFile): boolean => /^(scripts|bench)\//.test(path);
const everywhere = (): boolean => true;
/** The page of the dashboard runs in a browser, which has timers and a clock of its own. */
const isPage = ({ path }: TextFile): boolean => path.startsWith('lib/dashboard/page/');
const libExcept =
  (path: string) =>
  (file: TextFile): boolean =>
    isLib(file) && !isPage(file) && file.path !== path;

const CODE_WORDS: readonly ForbiddenWord[] = [
  { word: /\bas any\b/g, where: everywhere, instead: 'say which type it is, or `unknown`' },
  {
    word: /\bconsole\s*\./g,
    where: (file) => !isCli(file) && !isTest(file) && !isScript(file),
    instead: 'log through Nest in nest/ or the sample app; other rooms do not log',
  },
  {
    word: /\bprocess\.exit\b/g,
    where: (file) => !isCli(file) && !isScript(file),
    instead: 'throw, or set process.exitCode',
  },
  {
    word: /\.prototype(\.\w+|\[[^\]]*\])?\s*=(?!=)|__proto__|\bsetPrototypeOf\b/g,
    where: everywhere,
    instead: 'add no methods to classes that exist',
  },
  {
    word: /\bdefineProperty\(\s*[\w.]+\.prototype\b|\bassign\(\s*[\w.]+\.prototype\b/g,
    where: everywhere,
    instead: 'add no methods to classes that exist',
  },
  {
    word: /\.only\s*[(.]|\b(describe|it|test)(\.\w+)*\.skip\b|\b[fx](describe|it|test)\b/g,
    where: isTest,
    instead: 'every test runs',
  },
  {
    word: /\b(setTimeout|setInterval|setImmediate)\b/g,
    where: libExcept('lib/time/timers.ts'),
    instead: 'timers are made in lib/time/timers.ts',
  },
  {
    word: /\b(Date|performance)\.now\b|\bnew Date\b(\(\s*\)|(?!\s*\())|(?<!new )\bDate\(\)/g,
    where: libExcept('lib/core/clock.ts'),
    instead: 'time is read in lib/core/clock.ts',
  },
  {
    // The holder mixes it into its random text, as a number that nobody else has.
    word: /\bhrtime\b/g,
    where: libExcept('lib/time/process-identity.ts'),
    instead: 'time is read in lib/core/clock.ts',
  },
];

const COMMENT_WORDS: readonly ForbiddenWord[] = [
  {
    word: /\b(TODO|FIXME)\b(?!\(#\d+\))/g,
    where: everywhere,
    instead: 'do it, or open an issue and write TODO(#12)',
  },
];

export const checkCodeWords: Check = (files) =>
  files.filter(isCode).flatMap((file) => occurrences(file, codeOf(file), CODE_WORDS));

export const checkCommentWords: Check = (files) =>
  files.flatMap((file) =>
    occurrences(file, isCode(file) ? commentsOf(file) : file.text, COMMENT_WORDS),
  );

function occurrences(file: TextFile, seen: string, words: readonly ForbiddenWord[]): Finding[] {
  return words
    .filter(({ where }) => where(file))
    .flatMap(({ word, instead }) =>
      [...seen.matchAll(word)].map((match) => ({
        path: file.path,
        line: lineAt(seen, match.index),
        message: `says \`${match[0].trim()}\`; ${instead}`,
      })),
    );
}

/** Commented-out code: a comment line that looks like a statement and parses as one. */
export const checkDeadCode: Check = (files) =>
  files
    .filter((file) => isCode(file) && !isGenerated(file))
    .flatMap((file) =>
      withoutDocs(commentsOf(file))
        .split('\n')
        .map((line, index) => ({ said: saidBy(line), index }))
        .filter(({ said }) => isStatement(said))
        .map(({ said, index }) => ({
          path: file.path,
          line: index + 1,
          message: `keeps code in a comment (${said}); git remembers it`,
        })),
    );

/** What a line of a comment says, without its marks. */
const saidBy = (line: string): string =>
  line.replace(/^\s*(\/\/|\/\*|\*(?!\/))?\s*/, '').replace(/\s*(\*\/)?\s*$/, '');

/** TSDoc may show code: its examples are meant to be read. */
const withoutDocs = (comments: string): string =>
  comments.replace(/\/\*\*.*?\*\//gs, (doc) => doc.replace(/[^\n]/g, ' '));

const LOOKS_LIKE_CODE = /[;{]$|^(import|export|const|let|return|await|throw|if|for)\b.*[(={].*/;
const HOLDS_CODE = /[=().]|^(return|break|continue)\b/;

function isStatement(said: string): boolean {
  if (!LOOKS_LIKE_CODE.test(said) || !HOLDS_CODE.test(said)) return false;
  const closed = said.replace(/\{$/, '{}');
  const wrapped = `async function* f() {\n${closed.replace(/^export /, '')}\n}`;
  const asTopLevel = /^import\b/.test(said) ? closed : wrapped;
  const { diagnostics = [] } = ts.transpileModule(asTopLevel, { reportDiagnostics: true });
  return diagnostics.length === 0;
}
