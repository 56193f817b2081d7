// The specs of a room come first, those of its neighbours next, and simulated fleets last.
import Sequencer from '@jest/test-sequencer';

export default class NearestFirst extends Sequencer {
  /** @param {import('@jest/test-result').Test[]} tests */
  sort(tests) {
    return [...tests].toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** @returns {number} */
function placeOf(/** @type {import('@jest/test-result').Test} */ { path }) {
  if (path.endsWith('/mutation/fleets.ts')) return 2;
  return path.includes(`/test/${process.env.MUTATED_ROOM}/`) ? 0 : 1;
}
