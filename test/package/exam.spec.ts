/**
 * The exam of the documents: twenty tasks in the words of a developer, in exam/, each solved by
 * what is in the package alone. The solutions are compiled in one run, by the settings of an
 * application and against what is packed, and tried on a real Redis and a real PostgreSQL.
 *
 * The negative control is a table of mistakes that people make, and machines that write code: each
 * is put into a solution, which then must not compile, or not pass.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { ownDatabase } from '../own-database.js';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { run, runWith } from './command.js';
import { unpack } from './tarball.js';

const EXAM = `${ROOT}/test/package/exam`;
const CHAPTERS = readdirSync(EXAM).map((name) => name.replace('.ts', ''));

const solution = (chapter: string): string => readFileSync(`${EXAM}/${chapter}.ts`, 'utf8');
const TASKS = CHAPTERS.flatMap((chapter) =>
  Array.from(solution(chapter).matchAll(/^void test\('(.+?)'/gm), ([, task]) => task!),
);

/** What is written in a chapter, what is put in its place, and what is then said. */
type Mistake = readonly [
  mistake: string,
  chapter: string,
  written: string,
  instead: string,
  said: RegExp,
];

const NOT_COMPILED: readonly Mistake[] = [
  [
    'a key that is a number',
    '1-ids',
    'id!: string;\n\n  @Column(',
    'id!: number;\n\n  @Column(',
    /TS1240/,
  ],
  ['a number where an id is sought', '1-ids', 'eq(notes.id, id)', 'eq(notes.id, 7)', /number/],
  ['an id and a number added', '1-ids', 'String(id + 1n)', 'String(id + 1)', /bigint/],
  [
    'an option that there is not',
    '3-operating',
    '{ support: redisOf',
    '{ suport: redisOf',
    /suport/,
  ],
];

const NOT_PASSED: readonly Mistake[] = [
  [
    'bigint in JSON without the interceptor',
    '1-ids',
    'providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],',
    '',
    /4\. ids in JSON[^]*Internal server error/,
  ],
  [
    'a token that nobody compares',
    '2-locks-and-numbers',
    'WHERE name = $1 AND fence <= $3',
    'WHERE name = $1',
    /9\. a lock[^]*1 !== 0/,
  ],
  [
    'a number that is taken outside of the transaction',
    '2-locks-and-numbers',
    'invoices.nextIn(manager)',
    "invoices.nextIn({ query: (sql, list) => pool.query(sql, list), dialect: 'postgres' })",
    /14\. numbers without a gap[^]*\+ \[\]/,
  ],
  [
    'a worker id that everybody has by default',
    '3-operating',
    "process.env['GATEWAY'];",
    "process.env['GATEWAY'] ?? '1';",
    /18\. another layout[^]*Missing expected rejection/,
  ],
];

const nameOf = ([mistake]: Mistake): string => mistake.replaceAll(' ', '-');

let folder: string;
let compiled: string;
/** Of the solutions, and of those with a mistake. */
const outcomes = { right: new Map<string, string>(), wrong: new Map<string, string>() };

/** Also of a command that fails. */
const saidBy = (command: Promise<string>): Promise<string> =>
  command.catch((error: Error) => error.message);

/** By the name of each task that was tried, `passed`, or what was said of it. */
async function tried(tests: string): Promise<Map<string, string>> {
  const database = await ownDatabase(process.env['DATABASE_URL']!);
  const stores = { DATABASE_URL: database.url, REDIS_URL: process.env['REDIS_URL']! };
  const files = readdirSync(`${folder}/${tests}`).filter((name) => name.endsWith('.js'));
  // As many at once as there are: mostly they wait.
  const flags = ['--test', '--test-reporter=tap', `--test-concurrency=${files.length}`];
  const paths = files.map((name) => `${tests}/${name}`);
  const said = await saidBy(runWith(stores, folder, process.execPath, ...flags, ...paths));
  await database.drop();
  const results = said.matchAll(/^(not )?ok \d+ - (.+)\n([^]*?)(?=^# Subtest|^1\.\.)/gm);
  return new Map(
    Array.from(results, ([all, not, name]) => [name!, not === undefined ? 'passed' : all]),
  );
}

beforeAll(async () => {
  mkdirSync(`${ROOT}/.data`, { recursive: true });
  // Below the project, so that all packages but the library are those of the project.
  folder = mkdtempSync(`${ROOT}/.data/exam-`);
  mkdirSync(`${folder}/node_modules/.bin`, { recursive: true });
  await unpack(await packedLibrary(), `${folder}/node_modules/nestjs-snowflake`);
  const { bin } = JSON.parse(
    readFileSync(`${folder}/node_modules/nestjs-snowflake/package.json`, 'utf8'),
  ) as { bin: { snowflake: string } };
  symlinkSync(`../nestjs-snowflake/${bin.snowflake}`, `${folder}/node_modules/.bin/snowflake`);
  cpSync(EXAM, `${folder}/src/right`, { recursive: true });
  for (const [at, list] of Object.entries({ 'not-compiled': NOT_COMPILED, wrong: NOT_PASSED })) {
    mkdirSync(`${folder}/src/${at}`);
    for (const mistake of list) {
      const [, chapter, written, instead, said] = mistake;
      const text = solution(chapter).replace(written, () => instead);
      // Only its own task is tried, since others would find the tables of each other.
      const own = text.replaceAll(/^void test\('(\d+)/gm, (test, number: string) =>
        said.source.startsWith(String.raw`${number}\.`) ? test : test.replace('(', '.skip('),
      );
      writeFileSync(`${folder}/src/${at}/${nameOf(mistake)}.ts`, own);
    }
  }
  writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
  const settings = {
    extends: `${ROOT}/test/package/consumers/nest-12-esm/tsconfig.json`,
    compilerOptions: { skipLibCheck: true, rootDir: 'src', outDir: 'dist' },
    include: ['src'],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(settings));
  const tsc = `${ROOT}/node_modules/typescript/bin/tsc`;
  compiled = await saidBy(run(folder, process.execPath, tsc, '--pretty', 'false'));
  outcomes.right = await tried('dist/right');
  outcomes.wrong = await tried('dist/wrong');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the exam of the documents', () => {
  it('has twenty tasks, in their order', () => {
    const numbers = new Set(TASKS.map((task) => Number.parseInt(task)));
    expect([...numbers]).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });

  it('has solutions that compile against what is packed', () => {
    expect(compiled.match(/^src\/(right|wrong)\/.*$/gm)).toBeNull();
  });

  test.each(TASKS)('%s', (task) => {
    expect(outcomes.right.get(task)).toBe('passed');
  });
});

describe('a mistake is noticed', () => {
  test.each(NOT_COMPILED)('by the compiler: %s', (...mistake) => {
    const [, , , , said] = mistake;
    const lines = compiled.split(`src/not-compiled/${nameOf(mistake)}.ts`).slice(1);
    expect(lines.join('')).toMatch(said);
  });

  test.each(NOT_PASSED)('by a task: %s', (...mistake) => {
    const [, chapter, written, , said] = mistake;
    expect(solution(chapter)).toContain(written);
    const failed = [...outcomes.wrong.values()].filter((outcome) => outcome !== 'passed');
    expect(failed).toContainEqual(expect.stringMatching(said));
  });
});
