// Measures each case in a process of its own, so that none inherits what another left behind.
//
// Guarantee: a case that fails throws with the stderr of its process; one that hangs fails, too.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inTurns } from './turns.mjs';

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
 * @param {import('./turns.mjs').RunOptions} options
 * @returns {Promise<Map<C, any[]>>} by case, the first round's first
 */
export const inTurnsApart = ({ cases, ...apart }, options) =>
  inTurns(cases, (chosen, round) => measureApart(apart, chosen, round), options);
