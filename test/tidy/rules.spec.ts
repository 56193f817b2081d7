/**
 * House rules that oxlint lacks, as a table: a pattern, the files and the view that it applies to,
 * and texts that break or keep the rule. The rules run on the tree and on their own examples. In
 * the code view, strings and comments are blanked out.
 */
import { describe, expect, it, test } from '@jest/globals';
import { isCode, isGenerated, isLib, lineAt, ROOT, readTree, type TextFile } from './tree.js';
import { codeOf } from './syntax.js';

interface Rule {
  readonly rule: string;
  readonly in: 'code' | 'text' | 'path';
  readonly of: (file: TextFile) => boolean;
  readonly found: RegExp;
  /** Files without this word need not be parsed as code. */
  readonly word?: RegExp;
  /** Matches that are allowed. */
  readonly except?: (match: RegExpExecArray, file: TextFile) => boolean;
  /** A path, followed by texts that match; in a rule of paths, the text is the path. */
  readonly breaks: readonly [path: string, ...texts: string[]];
  readonly keeps: readonly [path: string, ...texts: string[]];
}

const isOurs = ({ path }: TextFile): boolean =>
  /^(lib|sample-app\/src|schematics|test|scripts)\/|^bench\/.*\.mjs$/.test(path);
const isOurCode = (file: TextFile): boolean => isOurs(file) && isCode(file);
/** The dashboard page is one copy in one browser, with its own clock. */
const isLibrary = (file: TextFile): boolean =>
  isLib(file) && isCode(file) && !isGenerated(file) && !file.path.startsWith('lib/dashboard/page');
const isTestCode = ({ path }: TextFile): boolean =>
  /^test\/.*\.ts$/.test(path) && path !== 'test/until.ts';
const everywhere = (): boolean => true;

/** The comment is above the statement, or above the match within it. */
function isExplained({ index }: RegExpExecArray, { text }: TextFile): boolean {
  const above = text.slice(0, index).split('\n').slice(0, -1);
  const last = above.findLast((line) => /^\s*(\/\/|\*\/|\/\*)|[;{}]$/.test(line));
  return last !== undefined && /^\s*(\/\/|\*\/|\/\*)/.test(last);
}

/** `x.y = 1`, `x[y] = 1`, `x.push(1)`, `delete x.y`. */
function isNeverWritten([, name]: RegExpExecArray, { text }: TextFile): boolean {
  const part = String.raw`\b${name}(\.\w+|\[[^\]]+\])`;
  const writes = 'push|pop|shift|unshift|splice|sort|reverse|fill|set|add|delete|clear';
  const called = String.raw`\b${name}\.(${writes})\(`;
  return !new RegExp(String.raw`${part}\s*[-+*|&?]*=[^=]|\bdelete ${part}|${called}`).test(text);
}

const BUILT_IN =
  'Error|BigInt|Date|Map|Set|URL|RegExp|Promise|(?:Shared)?ArrayBuffer|\\w+Array|Abort\\w+';
const CONTAINER = 'Map|Set|WeakMap|WeakSet|WeakRef|Array|Object|\\w+Array|\\w*Buffer';

/** Assembled here, so this file does not contain the text that it searches for. */
const address = (host: string): string => ['https:', '', host, 'a/-/a-1.0.0.tgz'].join('/');
const home = (...parts: string[]): string => ['', 'home', ...parts].join('/');

const RULES: readonly Rule[] = [
  {
    rule: 'no class that exists gets a method',
    in: 'code',
    of: isOurCode,
    word: /\bprototype\b|\bsetPrototypeOf\b/,
    found: new RegExp(
      String.raw`\.prototype(\.\w+|\[[^\]]*\])?\s*=(?!=)|\bsetPrototypeOf\b|` +
        String.raw`\b(defineProperty|assign)\(\s*[\w.]+\.prototype\b`,
      'g',
    ),
    breaks: ['test/x.ts', 'A.prototype[b] = c;', 'Object.assign(A.prototype, b);'],
    keeps: ['test/x.ts', 'if (A.prototype === b) c();', '// A.prototype.b = c'],
  },
  {
    rule: 'time is read in lib/core/clock.ts',
    in: 'code',
    of: (file) => isLibrary(file) && file.path !== 'lib/core/clock.ts',
    found: /\bnew Date\b(\(\s*\)|(?!\s*\())|(?<!new )\bDate\(\)/g,
    breaks: ['lib/x.ts', 'const now = new Date();', 'const now = new Date;', 'const now = Date();'],
    keeps: ['lib/x.ts', 'const then = new Date(0);', 'new DateRange();', '// new Date()'],
  },
  {
    rule: 'no class is asked by instanceof: a second copy of the package has another',
    in: 'code',
    of: isLibrary,
    // A lowercase name is a class passed as an argument.
    found: new RegExp(`\\binstanceof (?!(?:${BUILT_IN})\\b)([A-Z]\\w*)`, 'g'),
    // A class that is private to its file never meets objects of another copy.
    except: ([, name], { text }) => new RegExp(`^class ${name}\\b`, 'm').test(text),
    breaks: ['lib/x.ts', 'if (x instanceof IdMaker) f();', 'x instanceof Redis'],
    keeps: [
      'lib/x.ts',
      'x instanceof Error || x instanceof BigUint64Array || x instanceof entity',
      'class Visit {}\nx instanceof Visit;',
    ],
  },
  {
    rule: 'no module keeps state: process-wide.ts does',
    in: 'code',
    of: (file) => isLibrary(file) && file.path !== 'lib/process-wide.ts',
    found: new RegExp(
      '^(?:export )?let .*|' +
        String.raw`^(?:export const|const| +(?:\w+ )*static(?: \w+)*) \w+(?:: (?!Readonly)[^=]+)?` +
        String.raw` = new (?:${CONTAINER})\b(?:<[^;]*>)?(?:\([^;]*\))?;$`,
      'gm',
    ),
    breaks: [
      'lib/x.ts',
      'let count = 0;',
      'export let last: bigint | undefined;',
      'const inUse = new Map<number, string>();',
      'class A {\n  private static readonly all = new Set<A>();\n}',
    ],
    keeps: [
      'lib/x.ts',
      'const NAMES: ReadonlySet<string> = new Set([1]);',
      'export function f() {\n  let count = 0;\n  const seen = new Map();\n}',
      'export class A {\n  all = new Set<A>();\n  static readonly size = 4;\n}',
    ],
  },
  {
    rule: 'no module writes to what it keeps',
    in: 'code',
    of: (file) => isLibrary(file) && file.path !== 'lib/process-wide.ts',
    found: /^(?:export )?const (\w+)\b[^=\n]*=\s*[[{]/gm,
    except: isNeverWritten,
    breaks: [
      'lib/x.ts',
      'const a = [];\na.push(x);',
      'const a: A = {};\nf(() => { a.b = 1; });',
      'const a = { b: 1 };\ndelete a.b;',
    ],
    keeps: ['lib/x.ts', 'const a = [1];\nf(a.includes(x));', 'const a = { b: 1 };\nf(a.b === x);'],
  },
  {
    rule: 'no error is swallowed by .catch(() => ...) without a comment that says why',
    in: 'code',
    of: isLibrary,
    found: /\.catch\((\(\) =>|function \(\))/g,
    except: isExplained,
    breaks: [
      'lib/x.ts',
      'await f().catch(() => undefined);',
      'f()\n  .then(g)\n  .catch(function () {});',
    ],
    keeps: [
      'lib/x.ts',
      '// Nobody waits.\nf()\n  .then(g)\n  .catch(() => undefined);',
      'f().catch((error) => note(error));',
    ],
  },
  {
    rule: 'nobody is taught a worker id by default: two processes would make the same ids',
    in: 'text',
    of: ({ path }) => path.endsWith('.md') || path.startsWith('lib/'),
    found: /(\?\?|\|\||:-)\s*['"`]?static:/g,
    breaks: ['docs/x.md', "env.SUPPORT ?? 'static:1'", 'env.A || "static:7"', '${A:-static:1}'],
    keeps: ['docs/x.md', "support: 'static:1', // or redis://"],
  },
  {
    rule: 'no test waits for a fixed time without a comment that says why (test/until.ts)',
    in: 'code',
    of: isTestCode,
    word: /\b(sleep|setTimeout|waitForTimeout)\(/,
    found: /(?<!\bjest\.)\b(sleep|setTimeout|waitForTimeout)\(/g,
    except: isExplained,
    breaks: ['test/x.ts', 'await sleep(50);', 'f();\nawait page.waitForTimeout(5);'],
    keeps: [
      'test/x.ts',
      '// It keeps a timer.\nawait sleep(9);',
      "'sleep(5)'",
      'jest.setTimeout(6);',
    ],
  },
  {
    rule: 'no test ends sessions without a comment that says whose they are (test/own-database.ts)',
    in: 'text',
    of: ({ path }) => /^test\/(?!chaos\/|tidy\/).*\.ts$/.test(path),
    found: /WITH \(FORCE\)|\bpg_(terminate|cancel)_backend\b|\bKILL (CONNECTION|QUERY)\b/gi,
    except: isExplained,
    breaks: [
      'test/x.ts',
      'await run(`DROP DATABASE ${name} WITH (FORCE)`);',
      "f();\nawait run('SELECT pg_terminate_backend(1)');",
    ],
    keeps: [
      'test/x.ts',
      '// Its own alone.\nawait run(\n  `SELECT pg_terminate_backend(pid)`);',
      'await run(`DROP DATABASE ${name}`);',
    ],
  },
  {
    rule: 'nothing tells where it was made (install with omit-lockfile-registry-resolved)',
    in: 'text',
    of: everywhere,
    found: new RegExp(
      String.raw`"resolved":\s*"https?:[^"]*"|` +
        String.raw`//[\w-]*registry[\w-]*\.[\w.-]+|\bregistry\s*=\s*https?:\S+|` +
        String.raw`(?<![\w.~/-])(/home|/Users)/[\w.-]+|\b[A-Z]:\\Users\\\w+` +
        // A clone in `/app` is not a reason: other files may mean another `/app`.
        (ROOT.split('/').length > 2
          ? String.raw`|(?<![\w./-])${ROOT.replace(/[^\w/-]/g, '\\$&')}(?![\w-])`
          : ''),
      'g',
    ),
    breaks: [
      'package-lock.json',
      `"resolved": "${address('example.org')}"`,
      address('my-registry.example.org'),
      ['registry', address('a.b')].join('='),
      `cd ${home('ada')}/code`,
      `"${ROOT}/lib/x.ts"`,
    ],
    keeps: [
      'package-lock.json',
      '"integrity": "sha512-abc"',
      'const registry = new Registry();',
      'https://www.npmjs.com/package/a',
      'https://example.org/home/start',
    ],
  },
];

const TREE = readTree();

const viewOf = (file: TextFile, view: Rule['in']): string =>
  view === 'path' ? file.path : view === 'text' ? file.text : codeOf(file);

function findings(
  { in: view, of, found, word, except }: Rule,
  files: readonly TextFile[],
): string[] {
  return files.filter(of).flatMap((file) => {
    if (word && !word.test(file.text)) return [];
    // A word that the whole text lacks is not in its code either, so most files need no parsing.
    if (view === 'code' && file.text.search(found) < 0) return [];
    const seen = viewOf(file, view);
    const matches = [...seen.matchAll(found)].filter((match) => !except?.(match, file));
    return matches.map(({ 0: text, index }) => {
      const line = view === 'path' ? '' : `:${lineAt(seen, index)}`;
      return `${file.path}${line} ${text.trim().slice(0, 80)}`;
    });
  });
}

describe.each(RULES.map((rule) => [rule.rule, rule] as const))('%s', (_name, rule) => {
  const [breaking, ...broken] = rule.breaks;
  const [keeping, ...kept] = rule.keeps;
  const inFile = (path: string, text: string): string[] =>
    findings(rule, [rule.in === 'path' ? { path: text, text: '' } : { path, text }]);

  it('holds in the tree', () => {
    expect(findings(rule, TREE)).toEqual([]);
  });

  test.each(broken)('reports a violation: %#', (text) => {
    expect(inFile(breaking, text)).toHaveLength(1);
  });

  test.each(kept)('accepts valid text: %#', (text) => {
    expect(inFile(keeping, text)).toEqual([]);
  });
});

it('the tree includes known files', () => {
  expect(TREE.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['package.json', 'lib/errors.ts', 'test/tidy/rules.spec.ts']),
  );
});
