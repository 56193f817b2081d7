// @ts-check
/**
 * Fresh seeds: each commit and each day has its own, so that random tests cover new cases. A seed
 * that once failed is kept next to its test.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/** People choose seeds below the first one. */
const FRESH_MIN = 1_000_000;
const FRESH_COUNT = 100_000_000;

/** The commit and the date that determine the seeds; `SEEDS_FROM` repeats those of another run. */
export const seedsFrom = process.env['SEEDS_FROM'] ?? `${commit()} ${today()}`;

/**
 * Draws consecutive seeds, which are the same for the same commit, date, and name.
 *
 * @param {string} name of their purpose
 * @param {number} count
 */
export function freshSeeds(name, count) {
  const drawn = createHash('sha256').update(`${seedsFrom} ${name}`).digest().readUInt32BE();
  const first = FRESH_MIN + (drawn % FRESH_COUNT);
  return Array.from({ length: count }, (_, at) => first + at);
}

/**
 * The seeds from 1 on, for a negative control: the detection of a broken form must not depend on
 * the day.
 *
 * @param {number} count
 */
export function firstSeeds(count) {
  return Array.from({ length: count }, (_, at) => at + 1);
}

function commit() {
  try {
    const asked = ['rev-parse', '--short=12', 'HEAD'];
    return execFileSync('git', asked, { cwd: import.meta.dirname, stdio: 'pipe' })
      .toString()
      .trim();
  } catch {
    return 'no commit';
  }
}

function today() {
  return new Date().toISOString().slice(0, 10);
}
