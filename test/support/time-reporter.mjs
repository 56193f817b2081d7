// Prints the duration of a run at its end: in total, by kind, and by test folder.
import { basename, dirname, relative } from 'node:path';

/** Shorter groups are negligible even together. */
const SHOWN_FROM_MS = 1000;

/** @param {number} ms */
export function inWords(ms) {
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/**
 * @typedef {{ path: string, kind?: string, ms: number }} Suite
 * @param {readonly Suite[]} suites
 * @param {number} totalMs elapsed time
 * @returns {string[]} the lines to print
 */
export function timeLines(suites, totalMs) {
  const byKind = rowsOf(suites, ({ kind = '' }) => kind);
  const byFolder = rowsOf(suites, ({ path }) => dirname(path));
  const side = byFolder.length > 1 ? ' Files run side by side; one by one they took:' : '';
  return [
    `[time] This run took ${inWords(totalMs)} in all.${side}`,
    ...(byKind.length > 1 ? [...byKind, 'By folder:'] : []),
    ...byFolder,
  ];
}

/** @returns {string[]} a line for each group of suites, the longest first */
function rowsOf(
  /** @type {readonly Suite[]} */ suites,
  /** @type {(suite: Suite) => string} */ groupOf,
) {
  const rows = [...grouped(suites, groupOf)].map(([name, list]) => {
    const ms = list.reduce((sum, suite) => sum + suite.ms, 0);
    const longest = list.reduce((one, other) => (other.ms > one.ms ? other : one));
    return { name, ms, count: list.length, longest };
  });
  const format = rows.filter(({ ms }) => ms >= SHOWN_FROM_MS).toSorted((a, b) => b.ms - a.ms);
  const width = Math.max(0, ...format.map(({ name }) => name.length));
  return format.map(({ name, ms, count, longest }) => {
    const most = count === 1 ? '' : `, of which ${basename(longest.path)} ${inWords(longest.ms)}`;
    return `  ${name.padEnd(width)} ${inWords(ms).padStart(11)}${most}`;
  });
}

function grouped(
  /** @type {readonly Suite[]} */ suites,
  /** @type {(suite: Suite) => string} */ groupOf,
) {
  /** @type {Map<string, Suite[]>} */
  const groups = new Map();
  for (const suite of suites) {
    const name = groupOf(suite);
    groups.set(name, [...(groups.get(name) ?? []), suite]);
  }
  return groups;
}

export default class TimeReporter {
  /** @param {unknown} _tests @param {import('@jest/reporters').AggregatedResult} results */
  onRunComplete(_tests, results) {
    const suites = results.testResults.map(({ testFilePath, perfStats, displayName }) => ({
      path: relative(process.cwd(), testFilePath),
      kind: displayName?.name,
      ms: perfStats.runtime,
    }));
    // Counts from the start of this process, including the start of the servers.
    process.stderr.write(`\n${timeLines(suites, performance.now()).join('\n')}\n`);
  }
}
