// The tests of what was changed, within about a minute: `npm run test:changed`, since the last commit,
// or with `-- --since main`. Jest finds the specs that depend on a changed file. Those of the same
// name, and then those that share the rarest words with the change, run first, until one fails or the
// time is over; the rest is listed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SLOW, specsByKind } from '../test/support/kinds.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** No further specs are begun after this time. */
const BEGUN_MS_MAX = 20_000;
const SPECS_AT_ONCE = 2;
/** What never comes is noticed sooner than in a whole run. */
const UNTIL_MS_MAX = '30000';

/** @param {string} command @param {string[]} args @returns {string} its answer */
function answerOf(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
const linesIn = (/** @type {string} */ text) => text.split('\n').filter((line) => line !== '');
const wordsIn = (/** @type {string} */ text) => new Set(text.match(/[A-Za-z]{3,}/g));
const partsOf = (/** @type {string} */ path) => path.split(/[^a-z0-9]+/);

const { values } = parseArgs({ options: { since: { type: 'string', default: 'HEAD' } } });
const base = answerOf('git', 'merge-base', values.since, 'HEAD').trim();
const diff = answerOf('git', 'diff', '--unified=0', base);
const changed = [
  ...linesIn(answerOf('git', 'diff', '--name-only', '--diff-filter=d', base)),
  ...linesIn(answerOf('git', 'ls-files', '--others', '--exclude-standard')),
];
const specs = linesIn(
  answerOf('npm', 'test', '--silent', '--', '--listTests', '--findRelatedTests', ...changed),
).map((path) => relative(ROOT, path));
if (changed.some((path) => path.endsWith('.md'))) specs.push('test/docs/links.spec.ts');

const changedWords = wordsIn(diff.replace(/^(diff|index|---|\+\+\+) .*$/gm, ''));
const changedParts = new Set(changed.flatMap(partsOf));
const words = new Map(
  specs.map((spec) => [
    spec,
    [...wordsIn(readFileSync(`${ROOT}/${spec}`, 'utf8'))].filter((word) => changedWords.has(word)),
  ]),
);
/** @type {Map<string, number>} the number of specs that contain each word of the change */
const counts = new Map();
for (const word of [...words.values()].flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
const kinds = specsByKind(ROOT);
const slow = new Set(SLOW.flatMap((kind) => kinds[kind]));

const nameOf = (/** @type {string} */ path) => path.replace(/.*\/|(\.spec)?\.\w+$/g, '');
const changedNames = new Set(changed.map(nameOf));

/** A part of its path counts one, and a word the more, the fewer specs have it. */
function rankOf(/** @type {string} */ spec) {
  if (changed.includes(spec)) return Infinity;
  const named = changedNames.has(nameOf(spec)) ? 10 : 0;
  const parts = partsOf(spec).filter((part) => changedParts.has(part)).length;
  const rare = (words.get(spec) ?? []).reduce((sum, word) => sum + 4 / (counts.get(word) ?? 1), 0);
  return named + parts + rare - (slow.has(spec) ? 100 : 0);
}

const left = specs.toSorted((one, other) => rankOf(other) - rankOf(one));
console.log(`${changed.length} files have changed; ${left.length} specs depend on them.`);
const endMs = performance.now() + BEGUN_MS_MAX;
while (left.length > 0 && process.exitCode === undefined && performance.now() < endMs) {
  const paths = left.splice(0, SPECS_AT_ONCE);
  const args = ['test', '--silent', '--', '--runTestsByPath', ...paths];
  const { status } = spawnSync('npm', args, {
    cwd: ROOT,
    env: { ...process.env, UNTIL_MS_MAX },
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
if (left.length > 0)
  console.log(`${left.length} specs that depend on it were not run:\n${left.join('\n')}`);
