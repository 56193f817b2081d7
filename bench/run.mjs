// The benchmarks' one command line: `node bench/run.mjs --help`.
//
// Guarantee: tables go to stdout as they are ready, all else to stderr. A group that fails does not
// lose the results of the others: it is told about at the end, and the exit code is 1.
import { parseArgs } from 'node:util';
import { groupsLike, loadGroups, installPeers, requireBuild } from './harness/groups.mjs';
import {
  openResults,
  markdownSection,
  plainSection,
  stampOf,
  titleHere,
} from './harness/results.mjs';

const HELP = `Usage: node bench/run.mjs [options]
  --rounds 5      how often each figure is measured
  --only <text>   only groups with this in their title, or in the name of their folder
  --markdown      write bench/RESULTS.md, too; with --only just the sections of those groups
  --list          show the folders and titles of the groups, and end
  --help          show this, and end
`;

const OPTIONS = /** @type {const} */ ({
  rounds: { type: 'string', default: '5' },
  only: { type: 'string' },
  markdown: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
});

const say = (/** @type {string} */ text) => process.stdout.write(text);
const report = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);

/** Undefined where the arguments are wrong, which is told. */
function readArguments() {
  try {
    const { rounds: text, ...values } = parseArgs({ options: OPTIONS }).values;
    if (!/^[1-9]\d*$/.test(text))
      throw new Error(`Expected a whole number of rounds from 1, got ${text}.`);
    return { ...values, rounds: Number(text) };
  } catch (error) {
    report(error.message);
    return undefined;
  }
}

const listText = (/** @type {import('./harness/groups.mjs').FolderGroup[]} */ groups) =>
  groups.map(({ folder, title }) => `${folder.padEnd(8)}  ${title}\n`).join('');

/** @returns {Promise<{ name: string, error: any }[]>} the groups that failed */
async function measureAll(groups, { rounds, results }) {
  const failures = [];
  for (const group of groups) {
    const { folder } = group;
    const title = titleHere(group.title);
    const log = (/** @type {string} */ line) => report(`[${folder}] ${line}`);
    log(title);
    try {
      const rows = await group.run({ rounds, log });
      say(plainSection(group, rows));
      const section = markdownSection({ ...group, title }, rows, stampOf(rounds));
      await results?.put(title, section);
    } catch (error) {
      log(`failed: ${title}`);
      failures.push({ name: title, error });
    }
  }
  return failures;
}

/** @returns {Promise<number>} the exit code */
async function main() {
  const chosen = readArguments();
  if (chosen === undefined || chosen.help) {
    (chosen ? say : report)(HELP);
    return chosen ? 0 : 2;
  }
  installPeers((line) => report(`[bench] ${line}`));
  requireBuild();
  const { groups: all, failures } = await loadGroups();
  const groups = groupsLike(all, chosen.only);
  if (chosen.list) {
    say(listText(groups));
  } else if (groups.length > 0) {
    const { rounds, markdown, only } = chosen;
    const titles = all.map(({ title }) => title);
    const isWhole = only === undefined && failures.length === 0;
    const results = markdown ? await openResults({ rounds, titles, isWhole }) : undefined;
    failures.push(...(await measureAll(groups, { rounds, results })));
  }
  for (const { name, error } of failures) report(`\nFailed: ${name}\n${error?.stack ?? error}`);
  if (failures.length > 0) return 1;
  if (groups.length > 0) return 0;
  report(`No group has ${chosen.only} in its title or folder. There are:\n${listText(all)}`);
  return 2;
}

try {
  process.exitCode = await main();
} catch (error) {
  // What is missing before the first group: the message says what to do, a stack would hide it.
  report(error.message);
  process.exitCode = 1;
}
