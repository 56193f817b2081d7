/** What the documents point at is there: links, and the paths of files that they name. */
import { expect, it, test, describe, jest } from '@jest/globals';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { systemClock } from '../../lib/core/clock.js';
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

it('links lead to files and headings that exist', () => {
  expect(deadLinks(DOCUMENTS, TREE).map(say)).toEqual([]);
  const text =
    '# A b\n[1](start.md) [2](#a-b) [3](https://x.y)\n[4](x.md) [5](start.md#no) [6](#b)';
  expect(deadLinks([planted(text)], [...TREE, planted(text)]).map(say)).toEqual([
    'docs/planted.md:3 links to x.md',
    'docs/planted.md:3 links to start.md#no',
    'docs/planted.md:3 links to #b',
  ]);
});

/** Of the repository, or of lib; a star stands for anything, and an ending may be left out. */
const PATH = new RegExp(
  String.raw`\`((?:lib|test|scripts|site|bench|schematics|sample-app|\.ci|\.github)/[\w./*-]*|` +
    // A reader's own application has src, and the test that Nest makes.
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

it('paths that are named are those of files and folders', () => {
  const named = TREE.filter(({ path }) => path.startsWith('.github/') || path === '.ci/run');
  // What a release changed may be gone since.
  const isPast = /^(CHANGELOG|docs\/internals\/changes-before-1)\.md$/;
  const current = DOCUMENTS.filter(({ path }) => !isPast.test(path));
  expect(deadPaths([...current, ...named]).map(say)).toEqual([]);
});

test.each(['lib/gone.ts', 'test/core/gone/', 'core/gone.ts', 'test/gone*.ts', 'scripts/clean'])(
  'of `%s`, it is known whether it is there',
  (path) => {
    const found = path.includes('gone') ? [`docs/planted.md:2 names ${path}`] : [];
    expect(deadPaths([planted(`# A\n\`${path}\``)]).map(say)).toEqual(found);
  },
);

// Every command in a document is run here and prints what the document shows, or is run by another
// test, or says here why it is not run. A command that no row knows fails.

/** The blocks of Chinese pages are those of the English ones: translation.spec.ts. */
const SHOWN = TREE.filter(({ path }) => /^(docs\/(?!zh\/).*|README[^/]*)\.md$/.test(path)).flatMap(
  commandsIn,
);

/** Run here: what needs no store and prints the same each time. */
const RUN_HERE = /^snowflake (decode(?! --who)|encode|range|layout(?! move)|sql|explain)\b(?!.*\|)/;

/** The moment at which documents run their commands. */
const NOW_MS = Date.parse('2026-11-21T09:00:00.001Z');

/** What a document sends in by `<`. */
const FILES: Readonly<Record<string, string>> = { 'ids.txt': '382366441078288384\nxyz\n' };

/** Run by another test, which starts what the command needs, and what stands there. */
const RUN_BY: readonly (readonly [says: RegExp, path: string, text: string])[] = [
  [/^snowflake decode --who /, 'test/cli/store-findings.spec.ts', "'decode', '--who'"],
  [/^snowflake workers /, 'test/cli/store-findings.spec.ts', "run('workers')"],
  [/^snowflake release /, 'test/cli/store-findings.spec.ts', 'release'],
  [/^snowflake registry inspect /, 'test/cli/store-findings.spec.ts', "run('registry inspect')"],
  [/^snowflake layout move /, 'test/cli/moves.spec.ts', "'layout', 'move'"],
  [/^(npx )?snowflake registry move /, 'test/cli/moves.spec.ts', "'registry', 'move'"],
  [/^snowflake registry settle /, 'test/cli/store-commands.spec.ts', "'settle', '--yes'"],
  [
    /^snowflake registry create /,
    'test/cli/store-findings.spec.ts',
    "run('registry create --yes')",
  ],
  [/^snowflake doctor .*redis:/, 'test/cli/store-findings.spec.ts', "run('doctor')"],
  [
    /^snowflake doctor .*mysql:/,
    'test/cli/store-findings.spec.ts',
    'innodb_flush_log_at_trx_commit',
  ],
  [/^snowflake counters create /, 'test/cli/commands.spec.ts', 'counters create order'],
  [/^snowflake counters list /, 'test/cli/commands.spec.ts', 'counters list'],
  [/^snowflake partitions .*--sql/, 'test/cli/partition-guide.spec.ts', "'--sql'"],
  [/^snowflake partitions (?!.*--sql)/, 'test/cli/partitions.spec.ts', "'--keep', '90d'"],
  [/^snowflake locks /, 'test/cli/commands.spec.ts', "'locks'"],
  [/^snowflake cron /, 'test/cli/commands.spec.ts', "run('cron')"],
  [/^snowflake regions /, 'test/stores/regions.spec.ts', "'regions', '--regions'"],
  [/^snowflake key issue /, 'test/cli/ids.spec.ts', "'key', 'issue'"],
  [/^snowflake key read /, 'test/cli/ids.spec.ts', "'key', 'read'"],
  [/^npm install nestjs-snowflake /, 'test/package/newcomers.spec.ts', 'installLine'],
  [/^(export SNOWFLAKE_SUPPORT=.*|npm start)$/, 'test/package/newcomers.spec.ts', 'whileStarted'],
  [/^curl .*\/orders\/id$/, 'test/package/newcomers.spec.ts', 'curl'],
  [/^nest add nestjs-snowflake$/, 'test/package/newcomers.spec.ts', "'add', 'nestjs-snowflake'"],
  [/^npm run start:replicas$/, 'test/sample-app/shop-process.ts', 'scripts/start-replicas.mjs'],
  [/^typeorm migration:run /, 'test/nest/with-redis.spec.ts', 'migration:run'],
  [/^NODE_EXTRA_CA_CERTS=/, 'test/chaos/mistakes/servers.mjs', 'NODE_EXTRA_CA_CERTS'],
  // By a driver, where the document has the client program of the server.
  [/^snowflake sql --worker 1023 \| psql shop$/, 'test/cli/sql-command.spec.ts', 'sql'],
  [/^snowflake sql .* \| mariadb shop$/, 'test/cli/sql-command.spec.ts', "'mariadb'"],
  [/^etcdctl role /, 'test/stores/etcd-access.spec.ts', 'auth/role/grant'],
  [/^etcdctl user /, 'test/stores/etcd-access.spec.ts', 'auth/user/add'],
];

/** Not run by a test, and why. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^npm ci && npm (start|test)$/, 'they run this test; CI does so in a fresh clone'],
  [/^docker run .* redis:7$/, 'the tests have a Redis of their own'],
  [/^curl .*\/sales-reports$/, 'only shows what the replicas made, which a test reads itself'],
  [/^\w+=\S+ npm test -- /, 'the same specs on the Redis of a reader; each runs in CI'],
];

const placeOf = ({ path, line, text }: ShownCommand): string => `${path}:${line} ${text}`;
const isKnown = ({ text }: ShownCommand): boolean =>
  RUN_HERE.test(text) || [...RUN_BY, ...NOT_RUN].some(([says]) => says.test(text));

describe('a command in a document', () => {
  it('is found, in blocks of both kinds', () => {
    expect(SHOWN.length).toBeGreaterThan(30);
  });

  it('is each that there is, on the page of the command line', () => {
    const { text } = TREE.find(({ path }) => path === 'docs/operating/command-line.md')!;
    const isNamed = (name: string): boolean => new RegExp(`(\`|snowflake )${name}\\b`).test(text);
    expect(COMMANDS.map(({ name }) => name).filter((name) => !isNamed(name))).toEqual([]);
    expect(isNamed('eat')).toBe(false);
  });

  it('is run, or says why not', () => {
    expect(SHOWN.filter((one) => !isKnown(one)).map(placeOf)).toEqual([]);
  });

  it('is run where its row says, and every row is needed', () => {
    const textOf = new Map(TREE.map(({ path, text }) => [path, text]));
    expect(RUN_BY.filter(([, path, text]) => !textOf.get(path)?.includes(text))).toEqual([]);
    const unused = [...RUN_BY, ...NOT_RUN].filter(
      ([says]) => !SHOWN.some(({ text }) => says.test(text)),
    );
    expect(unused).toEqual([]);
  });

  const runHere = SHOWN.filter(({ text }) => RUN_HERE.test(text));
  it.each(runHere.map((one) => ({ ...one, location: placeOf(one) })))(
    'prints what is shown: $place',
    async ({ text, output }) => {
      jest.spyOn(systemClock, 'now').mockReturnValue(NOW_MS);
      const [asked = '', file = ''] = text.split(' < ');
      const answer = await command(wordsOf(asked).slice(1), { stdin: FILES[file] ?? '' });
      jest.restoreAllMocks();
      // The zone is that of the machine.
      const told = `${answer.out}${answer.err}`.split('\n').slice(0, -1).filter(isOfNoZone);
      const format = output.filter(isOfNoZone);
      expect(isShown(format, told) ? format : told).toEqual(format);
    },
  );
});

const isOfNoZone = (line: string): boolean => !line.startsWith('  local ');

describe('these checks', () => {
  it('would notice an unknown command, and an output that is not the one shown', () => {
    const text =
      '```sh\nsnowflake eat 1 # all\n```\n\n```\n$ npx snowflake decode 1\n1\n...\n```\n';
    const [unknown, known] = commandsIn({ path: 'docs/planted.md', text });
    expect([isKnown(unknown!), isKnown(known!)]).toEqual([false, true]);
    expect(placeOf(unknown!)).toBe('docs/planted.md:2 snowflake eat 1');
    expect(isShown(known!.output, ['1', 'a', 'b'])).toBe(true);
    expect(isShown(known!.output, ['2', 'a', 'b'])).toBe(false);
    expect(isShown(['a ...', 'b'], ['a c', 'b'])).toBe(true);
    expect(isShown(['a'], ['a', 'b'])).toBe(false);
  });

  it('take words as a shell does', () => {
    expect(wordsOf(`snowflake a --b 'c d' "e"`)).toEqual(['snowflake', 'a', '--b', 'c d', 'e']);
  });
});
