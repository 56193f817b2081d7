// Lets the cases of a group take turns.
//
// Guarantee: each round measures every case once, so that a slow minute of the machine falls on all
// of them; the first case that fails ends the group.

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
