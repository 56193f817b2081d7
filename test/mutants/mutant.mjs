// What a broken variant of the library is.

/** @import { Edit } from './load-library.mjs' */
/**
 * @typedef {object} Mutant
 * @property {string} name as the protocol names it
 * @property {readonly Edit[]} edits
 * @property {{ scenario: string, seed: number }} [tryFirst] a simulation that has killed it, where
 *   the first of all, `network` with seed 1, does not
 * @property {readonly string[]} [skips] scenarios in which it is not safe
 */

export {};
