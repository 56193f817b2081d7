// What a fault is, and the world that it befalls.

/**
 * @typedef {object} World
 * @property {import('./fleet.mjs').Fleet} fleet
 * @property {any} topology
 * @property {() => number} random
 *
 * @typedef {object} Fault
 * @property {string} name
 * @property {'process' | 'store'} level
 * @property {string} [gap] the stretch without ids that it causes in its process, by its error
 * @property {number} [cardCount] how often it is in the deck: restarts are what happens most
 * @property {boolean} [changesServer] new ranges then begin behind the quarantine
 * @property {boolean} [setsOneClock] of one process, and not of the others
 * @property {readonly string[]} [only] topologies that can have it; default all
 * @property {(world: World) => unknown} apply answers the process it befell, if it is one, and
 *   false where it could not happen
 */

export {};
