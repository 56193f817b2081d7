// Lets the cases of a group take turns, in this process or each in one of its own, so that none
// inherits what another left behind.
//
// Guarantee: each round measures every case once, so that a slow minute of the machine falls on all
// of them; the first case that fails ends the group, with the stderr of its process if it has one.
// One that hangs fails, too.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * @typedef {{ rounds: number, log: (line: string) => void }} RunOptions
 * @typedef {object} BenchGroup
 * @property {string} title
 * @property {string} explanation
 * @property {string[]} columns
 * @property {(options: RunOptions) => Promise<string[][]>} run rows have a cell for each column
 */

/**
 * @template C, M
 * @param {C[]} cases
 * @param {(chosen: C, round: number) => Promise<M>} measure rounds count from 1
 * @param {RunOptions} options
 * @returns {Promise<Map<C, M[]>>} the measurements of each case, the first round's first
 */
export async function inTurns(cases, measure, { rounds, log }) {
  const byCase = new Map(cases.map((chosen) => [chosen, /** @type {M[]} */ ([])]));
  for (let round = 1; round <= rounds; round++) {
    for (const [chosen, measurements] of byCase) {
      const measurement = await measure(chosen, round);
      measurements.push(measurement);
      const name = typeof chosen === 'string' ? chosen : JSON.stringify(chosen);
      log(`round ${round} of ${rounds}: ${name} ${JSON.stringify(measurement)}`);
    }
  }
  return byCase;
}

// The same with a process for each measurement.

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));

/** The slowest case takes less than a minute; one that hangs must not hang the run. */
const LIMIT_MS = 5 * 60_000;

/**
 * @typedef {object} Apart
 * @property {string | URL} file its `measure(chosen, { round })` is called in the process
 * @property {string[]} [nodeFlags]
 */

/**
 * @param {Apart} apart
 * @param {unknown} chosen the case, anything that JSON can carry
 * @param {number} round
 * @returns {Promise<any>} what `measure` gave
 */
export async function measureApart({ file, nodeFlags = [] }, chosen, round = 1) {
  const args = [...nodeFlags, CHILD, String(file), JSON.stringify(chosen), String(round)];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS });
    return JSON.parse(stdout);
  } catch (cause) {
    // The message of execFile() ends with the child's stderr, but does not tell of the limit.
    const late = cause.killed ? `no result within ${LIMIT_MS / 1000} s. ` : '';
    throw new Error(`Measuring ${JSON.stringify(chosen)}: ${late}${cause.message}`, { cause });
  }
}

/**
 * @template C
 * @param {Apart & { cases: C[] }} apart
 * @param {RunOptions} options
 * @returns {Promise<Map<C, any[]>>} by case, the first round's first
 */
export const inTurnsApart = ({ cases, ...apart }, options) =>
  inTurns(cases, (chosen, round) => measureApart(apart, chosen, round), options);
