// Says at the end of a run, in plain words, how long it took: in all, and for each folder of tests.
import { basename, dirname, relative } from 'node:path';

/** Shorter ones together would not be missed. */
const SHOWN_FROM_MS = 1000;

/** @param {number} ms */
export function inWords(ms) {
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/**
 * @param {readonly { path: string, ms: number }[]} suites
 * @param {number} totalMs by the clock on the wall
 * @returns {string[]} the lines to print
 */
export function timeLines(suites, totalMs) {
  /** @type {Map<string, { path: string, ms: number }[]>} */
  const folders = new Map();
  for (const suite of suites) {
    const folder = dirname(suite.path);
    folders.set(folder, [...(folders.get(folder) ?? []), suite]);
  }
  const rows = [...folders].map(([folder, list]) => {
    const ms = list.reduce((sum, suite) => sum + suite.ms, 0);
    const longest = list.reduce((one, other) => (other.ms > one.ms ? other : one));
    return { folder, ms, count: list.length, longest };
  });
  const shown = rows.filter(({ ms }) => ms >= SHOWN_FROM_MS).toSorted((a, b) => b.ms - a.ms);
  const width = Math.max(0, ...shown.map(({ folder }) => folder.length));
  const lines = shown.map(({ folder, ms, count, longest }) => {
    const time = inWords(ms).padStart(11);
    const most = count === 1 ? '' : `, of which ${basename(longest.path)} ${inWords(longest.ms)}`;
    return `  ${folder.padEnd(width)} ${time}${most}`;
  });
  const side = shown.length > 1 ? ' Files run side by side; one by one they took:' : '';
  return [`[time] This run took ${inWords(totalMs)} in all.${side}`, ...lines];
}

export default class TimeReporter {
  /** @param {unknown} _tests @param {import('@jest/reporters').AggregatedResult} results */
  onRunComplete(_tests, results) {
    const suites = results.testResults.map(({ testFilePath, perfStats }) => ({
      path: relative(process.cwd(), testFilePath),
      ms: perfStats.runtime,
    }));
    // From the start of this process on, so that the start of the servers counts.
    process.stderr.write(`\n${timeLines(suites, performance.now()).join('\n')}\n`);
  }
}
