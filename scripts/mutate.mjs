// Changes the sources one place at a time, and asks whether any test notices:
// `npm run mutate -- --room lock --seed 1 --count 20`. It is Stryker, on functions drawn by a seed.
//
// Asked are the specs of the room that need no server, and simulated fleets (test/mutation): of
// them what runs through the place, until the first fails. Texts are not changed, since they are
// messages more often than not, and what is reckoned once, when a module is loaded, neither.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { ROOT } from '../test/support/made-once.mjs';
import { installPackages } from './install-packages.mjs';

/** By room, the files that the promise rests on; the others say, check and read what it is. */
const RULES = {
  core: /^(window\/|generator\/|layout\/bit-layout)/,
  lease: /^(held-lease|lease-keeper|request-terms)\./,
  registry: /./,
  counters: /^(counter-rules|row-counters)\./,
  cron: /^cron-record\./,
  lock: /^(held-section|lock-attempt|lock-rules|lock-snapshot)\./,
};
const ROOMS = Object.keys(RULES);
const HELP = `Usage: npm run mutate -- [options]
  --room lock        one of ${ROOMS.join(', ')}; default all, one after the other
  --seed 1           which functions are drawn
  --count 10         how many of each room; all where there are no more
  --all              of each file of the room, not only of those that the promise rests on
  --function <name>  those of a file whose path and name contain this, such as
                     lock-rules.ts releaseLock
`;

const SOURCES = join(ROOT, 'test', 'mutation');
const FOLDER = join(ROOT, '.data', 'mutation');

/** @typedef {{ file: string, name: string, first: string, last: string }} Part of a file */

const WORDS = 'export|private|protected|static|readonly|async|function|const|get|set|override';
const NAME = new RegExp(String.raw`^(?:(?:${WORDS})\s+)*([#\w]+)`);

/** @returns {Part[]} the functions, methods and constants of a file, which do not overlap */
export function partsOf(/** @type {string} */ file) {
  const path = join(ROOT, file);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2023);
  const placeOf = (/** @type {number} */ at) => {
    const { line, character } = source.getLineAndCharacterOfPosition(at);
    return `${line + 1}:${character}`;
  };
  const nodes = source.statements.flatMap((statement) =>
    ts.isClassDeclaration(statement) ? [...statement.members] : [statement],
  );
  const hasCode = (/** @type {ts.Node} */ node) =>
    ts.isVariableStatement(node) || ts.isFunctionLike(node) || ts.isPropertyDeclaration(node);
  return nodes.filter(hasCode).map((node) => {
    const [, name = ''] = NAME.exec(node.getText(source)) ?? [];
    return { file, name, first: placeOf(node.getStart(source)), last: placeOf(node.getEnd()) };
  });
}

/** @typedef {{ seed: string, count: number, all?: boolean, wanted?: string | undefined }} Wish */

/** @returns {Part[]} those of a room that the seed draws, or all that were asked for by name */
export function drawnParts(/** @type {string} */ room, /** @type {Wish} */ options) {
  const { seed, count, wanted } = options;
  const isAsked = (/** @type {string} */ path) =>
    options.all || wanted !== undefined || RULES[/** @type {'core'} */ (room)].test(path);
  const parts = readdirSync(join(ROOT, 'lib', room), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && isAsked(path))
    .toSorted()
    .flatMap((path) => partsOf(`lib/${room}/${path}`));
  if (wanted !== undefined) return parts.filter((part) => nameOf(part).includes(wanted));
  const placeOf = (/** @type {Part} */ part) =>
    createHash('sha256')
      .update(`${seed} ${nameOf(part)}`)
      .digest('hex');
  return parts.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)).slice(0, count);
}

const nameOf = (/** @type {Part} */ { file, name }) => `${file} ${name}`;

/** @returns {Promise<any>} Stryker, which is not among the packages of the library */
async function loadStryker() {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    const [from, to] = [join(SOURCES, name), join(FOLDER, name)];
    const isSame = existsSync(to) && readFileSync(to).equals(readFileSync(from));
    if (!isSame) copyFileSync(from, to);
  }
  installPackages(pathToFileURL(`${FOLDER}/`));
  const path = join(FOLDER, 'node_modules/@stryker-mutator/core/dist/src/index.js');
  return (await import(pathToFileURL(path).href)).Stryker;
}

/**
 * @typedef {object} Mutant as Stryker tells it
 * @property {string} fileName
 * @property {string} mutatorName
 * @property {string} [replacement]
 * @property {'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored'} status
 * @property {{ start: { line: number, column: number }, end: { line: number, column: number } }}
 *   location
 * @property {string} [statusReason]
 */

/** @returns {Promise<Mutant[]>} */
export async function mutate(/** @type {string} */ room, /** @type {readonly Part[]} */ parts) {
  const Stryker = await loadStryker();
  Object.assign(process.env, { MUTATED_ROOM: room, MUTATED_ROOT: ROOT, TEST_QUICK: 'yes' });
  const stryker = new Stryker({
    mutate: parts.map(({ file, first, last }) => `${file}:${first}-${last}`),
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    jest: { configFile: 'test/mutation/jest.config.mjs', enableFindRelatedTests: false },
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    disableTypeChecks: false,
    // A machine that others use is slow for a while; a loop without an end lasts longer.
    timeoutMS: 30_000,
    timeoutFactor: 0.5,
    concurrency: Number(process.env.MUTATED_AT_ONCE ?? 1),
    ignorePatterns: ['.data', 'dist', 'bench', 'sample-app'],
    tempDirName: join('.data', 'mutation', room),
    plugins: ['@stryker-mutator/jest-runner', import.meta.filename],
    reporters: ['told'],
    ignorers: ['texts'],
    logLevel: 'warn',
    allowConsoleColors: false,
  });
  return stryker.runMutationTest();
}

/** Tells each mutant that nothing noticed as soon as that is known: a run may take an hour. */
class Told {
  onMutantTested(/** @type {Mutant} */ mutant) {
    if (mutant.status === 'Ignored') return;
    if (mutant.status === 'Killed' && !isLate(mutant)) process.stderr.write('.');
    else process.stderr.write(`\n${mutant.status}: ${lineOf(mutant)}\n`);
  }
}

const ERRORS = new Set(['SnowflakeError', 'invariantBroken']);

/** What an error says is no rule. */
const texts = {
  shouldIgnore(/** @type {{ node: { type: string, callee?: { name?: string } } }} */ { node }) {
    const isError = ERRORS.has(node.callee?.name ?? '');
    return isError ? 'what an error says' : undefined;
  },
};

/** So Stryker finds them. */
export const strykerPlugins = [
  { kind: 'Reporter', name: 'told', injectableClass: Told },
  { kind: 'Ignore', name: 'texts', value: texts },
];

/** A mutant in a line: where, and what stands there instead of what. */
function lineOf(/** @type {Mutant} */ { fileName, location, replacement = '', mutatorName }) {
  const { start, end } = location;
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1)?.slice(0, end.column - 1) ?? '';
  lines[0] = lines[0]?.slice(start.column - 1) ?? '';
  const short = (/** @type {string} */ text) => text.replace(/\s+/g, ' ').slice(0, 120);
  const place = `${relative(ROOT, fileName)}:${start.line}:${start.column}`;
  return `${place} ${mutatorName}\n      ${short(lines.join('\n'))}\n   -> ${short(replacement)}`;
}

/** A test that waits for what never comes, or a loop without an end. */
function isLate(/** @type {Mutant} */ { status, statusReason = '' }) {
  return status === 'Timeout' || statusReason.includes('Exceeded timeout');
}

/** @returns {string} how many were noticed, and each that was not */
export function reportOf(/** @type {readonly Mutant[]} */ mutants) {
  const of = (/** @type {Mutant['status'][]} */ ...all) =>
    mutants.filter(({ status }) => all.includes(status));
  const noticed = of('Killed', 'Timeout');
  const late = noticed.filter(isLate).length;
  const killed = noticed.length - late;
  const living = of('Survived', 'NoCoverage');
  const tried = killed + late + living.length;
  const share = tried === 0 ? 0 : (100 * (killed + late)) / tried;
  return [
    ...living.map((mutant) => `${mutant.status}: ${lineOf(mutant)}`),
    `${tried} mutants: ${killed} noticed, ${late} by the time they took, ` +
      `${living.length} not noticed: ${share.toFixed(1)} %`,
  ].join('\n');
}

async function main() {
  const { values } = parseArgs({
    options: {
      room: { type: 'string' },
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '10' },
      all: { type: 'boolean', default: false },
      function: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const rooms = values.room === undefined ? ROOMS : [values.room];
  if (rooms.some((room) => !ROOMS.includes(room))) {
    console.error(`Expected --room to be one of ${ROOMS.join(', ')}.\n\n${HELP}`);
    process.exit(2);
  }
  const all = [];
  for (const room of rooms) {
    const { seed, count, all: isWhole, function: wanted } = values;
    const parts = drawnParts(room, { seed, count: Number(count), all: isWhole, wanted });
    if (parts.length === 0) continue;
    const mutants = await mutate(room, parts);
    all.push(...mutants);
    console.log(`${room}: ${reportOf(mutants)}`);
  }
  if (rooms.length > 1) console.log(reportOf(all).split('\n').at(-1));
  if (all.length === 0) process.exitCode = 1;
}

// Stryker loads this file too, while it runs: nothing may wait for it here.
if (process.argv[1] === import.meta.filename) void main();
