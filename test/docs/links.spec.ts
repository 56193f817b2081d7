/** Links and file paths in documents have existing targets. */
import { expect, it, test, describe, jest } from '@jest/globals';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { systemClock } from '../../lib/core/clock.js';
import { IS_PUBLISHED } from '../../site/published.mjs';
import { command } from '../cli/run-command.js';
import { lineAt, say, readTree } from '../tidy/tree.js';
import type { Finding, TextFile } from '../tidy/tree.js';
import { deadLinks, commandsIn, isShown, wordsOf } from './sections.js';
import type { ShownCommand } from './sections.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) =>
  /^(docs|skills)\/.*\.md$|^[^/]*\.md$|^llms\.txt$/.test(path),
);
const planted = (text: string): TextFile => ({ path: 'docs/planted.md', text });

it('links target existing files and headings', () => {
  expect(deadLinks(DOCUMENTS, TREE).map(say)).toEqual([]);
  const text =
    '# A b\n[1](start.md) [2](#a-b) [3](https://x.y)\n[4](x.md) [5](start.md#no) [6](#b)';
  expect(deadLinks([planted(text)], [...TREE, planted(text)]).map(say)).toEqual([
    'docs/planted.md:3 links to x.md',
    'docs/planted.md:3 links to start.md#no',
    'docs/planted.md:3 links to #b',
  ]);
});

/** A path of the repository or of lib. A star matches anything, and the extension is optional. */
const PATH = new RegExp(
  String.raw`\`((?:lib|test|scripts|site|bench|schematics|sample-app|\.ci|\.github)/[\w./*-]*|` +
    // A reader's own application has src and the test that Nest generates.
    String.raw`(?!src/)[a-z-]+(?:/[\w.*-]+)+\.(?:ts|mjs|lua))(?<!\.e2e-spec\.ts)\``,
  'g',
);

function deadPaths(documents: readonly TextFile[]): Finding[] {
  const paths = TREE.map(({ path }) => `/${path}`).join('\n');
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(PATH)].flatMap((match): Finding[] => {
      const [first] = match[1]!.split('/');
      const inLib = TREE.some((file) => file.path.startsWith(`lib/${first}/`));
      const named = match[1]!.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '[^/\\n]*');
      if (new RegExp(`^/(${inLib ? 'lib/' : ''})?${named}(/|\\.\\w+$|$)`, 'm').test(paths))
        return [];
      return [{ path, line: lineAt(text, match.index), message: `names ${match[1]}` }];
    }),
  );
}

it('paths in documents are paths of existing files and folders', () => {
  const named = TREE.filter(({ path }) => path.startsWith('.github/') || path === '.ci/run');
  // A changelog may name files that no longer exist.
  const isPast = /^(CHANGELOG|docs\/internals\/changes-before-1)\.md$/;
  const current = DOCUMENTS.filter(({ path }) => !isPast.test(path));
  expect(deadPaths([...current, ...named]).map(say)).toEqual([]);
});

test.each(['lib/gone.ts', 'test/core/gone/', 'core/gone.ts', 'test/gone*.ts', 'scripts/clean'])(
  '`%s` is found or reported as missing',
  (path) => {
    const found = path.includes('gone') ? [`docs/planted.md:2 names ${path}`] : [];
    expect(deadPaths([planted(`# A\n\`${path}\``)]).map(say)).toEqual(found);
  },
);

it.each(['README.md', 'README.zh-CN.md', 'docs/start.md', 'docs/zh/start.md'])(
  '%s explains a local installation until the package is on npm',
  (page) => {
    const { text } = TREE.find(({ path }) => path === page)!;
    expect(text.includes('npm pack')).toBe(!IS_PUBLISHED);
  },
);

// Each command in a document exists, and a command without a store prints the documented output.

const PAGES = TREE.filter(({ path }) => /^(docs\/.*|README[^/]*)\.md$/.test(path));
const SHOWN = PAGES.filter(({ path }) => !path.startsWith('docs/zh/')).flatMap(commandsIn);

/** Commands run here if they need no store and always print the same. */
const RUN_HERE =
  /^snowflake (decode(?! --who)|encode|range|layout(?! move)|sql(?! --widen)|explain)\b(?!.*\|)/;

/** The time at which documents run their commands. */
const NOW_MS = Date.parse('2026-11-21T09:00:00.001Z');

/** Input that a document passes with `<`. */
const FILES: Readonly<Record<string, string>> = { 'ids.txt': '382366441078288384\nxyz\n' };

const placeOf = ({ path, line, text }: ShownCommand): string => `${path}:${line} ${text}`;

describe('a command in a document', () => {
  it('is found in blocks of both kinds', () => {
    expect(SHOWN.length).toBeGreaterThan(30);
  });

  it('has its own mention on the page of the command line', () => {
    const { text } = TREE.find(({ path }) => path === 'docs/operating/command-line.md')!;
    const isNamed = (name: string): boolean => new RegExp(`(\`|snowflake )${name}\\b`).test(text);
    expect(COMMANDS.map(({ name }) => name).filter((name) => !isNamed(name))).toEqual([]);
    expect(isNamed('eat')).toBe(false);
  });

  it('exists with its options', () => {
    const runbooks = PAGES.filter(({ path }) => path.endsWith('/runbooks.md'));
    const inText = runbooks.flatMap(({ text }) =>
      [...text.matchAll(/`(?:npx )?snowflake ([^`]+)`/g)].map(([, named]) => named!),
    );
    const inBlocks = SHOWN.flatMap(({ text }) => /^snowflake ([^|]+)/.exec(text)?.[1] ?? []);
    expect(inText.length).toBeGreaterThan(80);
    expect(commandFaults([...inText, ...inBlocks])).toEqual([]);
    expect(commandFaults(['wrokers', 'workers --hosts'])).toHaveLength(2);
  });

  const runHere = SHOWN.filter(({ text }) => RUN_HERE.test(text));
  it.each(runHere.map((one) => ({ ...one, location: placeOf(one) })))(
    'prints the documented output: $place',
    async ({ text, output }) => {
      jest.spyOn(systemClock, 'now').mockReturnValue(NOW_MS);
      const [asked = '', file = ''] = text.split(' < ');
      const answer = await command(wordsOf(asked).slice(1), { stdin: FILES[file] ?? '' });
      jest.restoreAllMocks();
      // The zone depends on the machine.
      const told = `${answer.out}${answer.err}`.split('\n').slice(0, -1).filter(isOfNoZone);
      const format = output.filter(isOfNoZone);
      expect(isShown(format, told) ? format : told).toEqual(format);
    },
  );
});

const isOfNoZone = (line: string): boolean => !line.startsWith('  local ');

describe('the checks of commands', () => {
  it('detect an output that differs from the document', () => {
    const text =
      '```sh\nsnowflake eat 1 # all\n```\n\n```\n$ npx snowflake decode 1\n1\n...\n```\n';
    const [first, known] = commandsIn({ path: 'docs/planted.md', text });
    expect(placeOf(first!)).toBe('docs/planted.md:2 snowflake eat 1');
    expect(isShown(known!.output, ['1', 'a', 'b'])).toBe(true);
    expect(isShown(known!.output, ['2', 'a', 'b'])).toBe(false);
    expect(isShown(['a ...', 'b'], ['a c', 'b'])).toBe(true);
    expect(isShown(['a'], ['a', 'b'])).toBe(false);
  });

  it('split words like a shell', () => {
    expect(wordsOf(`snowflake a --b 'c d' "e"`)).toEqual(['snowflake', 'a', '--b', 'c d', 'e']);
  });
});

/** The commands that do not exist or that lack an option. */
function commandFaults(shown: readonly string[]): string[] {
  return shown.flatMap((text) => {
    const found = COMMANDS.filter(({ name }) => `${text} `.startsWith(`${name} `)).at(-1);
    if (found === undefined) return [`there is no command ${text}`];
    const options = [...text.matchAll(/--([a-z-]+)/g)].map(([, option]) => option!);
    const unknown = options.filter((option) => !(option in found.options));
    return unknown.map((option) => `${found.name} has no --${option}`);
  });
}
