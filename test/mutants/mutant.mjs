// What a broken variant of the library is.

/** @import { Edit } from './load-library.mjs' */
/**
 * @typedef {object} Mutant
 * @property {string} name as the protocol names it
 * @property {readonly Edit[]} edits
 * @property {{ scenario: string, seed: number }} [tryFirst] the shortest simulation that was seen
 *   to kill it; where it no longer does, all are tried
 * @property {readonly string[]} [skips] scenarios in which it is not safe
 */

export {};
