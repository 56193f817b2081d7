// What goes wrong when a library is asked for ids without pauses: ids given out twice, ids lower
// than the one before, and throws.
//
// Guarantee: twice is counted exactly, over all the ids, not by neighbours alone.

/**
 * @typedef {object} Faults
 * @property {number} count ids made
 * @property {number} twice ids that were given out before
 * @property {number} back ids lower than the one before
 * @property {number} throws
 */

/** How many ids are made between two looks at the clock. */
const CHUNK = 1000;

class Tally {
  count = 0;
  #back = 0;
  #throws = 0;
  #ids;
  #last;
  #idsMax;
  #twiceIn;

  constructor(ids, { idsMax, least, twiceIn }) {
    this.#ids = ids;
    this.#idsMax = idsMax;
    this.#last = least;
    this.#twiceIn = twiceIn;
  }

  /** Asks for a chunk of ids; fewer where there is no room left. */
  take(/** @type {() => bigint | string} */ next) {
    const end = Math.min(this.#idsMax, this.count + CHUNK);
    for (let asked = this.count; asked < end; asked++) {
      try {
        const id = next();
        if (id < this.#last) this.#back++;
        this.#last = id;
        this.#ids[this.count++] = id;
      } catch {
        this.#throws++;
      }
    }
  }

  get isFull() {
    return this.count === this.#idsMax;
  }

  /** @returns {Faults} */
  get faults() {
    const ids = this.#ids.slice(0, this.count);
    const [back, throws] = [this.#back, this.#throws];
    return { count: this.count, twice: this.#twiceIn(ids), back, throws };
  }
}

function twiceInWords(/** @type {BigUint64Array} */ ids) {
  ids.sort();
  let twice = 0;
  for (let at = 1; at < ids.length; at++) if (ids[at] === ids[at - 1]) twice++;
  return twice;
}

/** For 64-bit ids, kept in eight bytes each. */
export const wordsTally = (/** @type {number} */ idsMax) =>
  // Filled, so that the memory is there before the clock runs.
  new Tally(new BigUint64Array(idsMax).fill(1n), { idsMax, least: 0n, twiceIn: twiceInWords });

/** For ids that are text. */
export const textsTally = (/** @type {number} */ idsMax) =>
  new Tally([], { idsMax, least: '', twiceIn: (ids) => ids.length - new Set(ids).size });

const share = (/** @type {number} */ part, /** @type {number} */ whole) => {
  const percent = (100 * part) / whole;
  return percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
};

/** Going back is a fault only of those who say that later ids are greater. */
export const hasFaults = (
  /** @type {Faults} */ { twice, back, throws },
  /** @type {boolean} */ claimsOrder,
) => twice > 0 || throws > 0 || (claimsOrder && back > 0);

/** @returns {string} one cell */
export function faultsText(/** @type {Faults} */ faults, /** @type {boolean} */ claimsOrder) {
  const { count, twice, back, throws } = faults;
  const texts = [];
  if (twice > 0) texts.push(`${share(twice, count)} duplicates`);
  if (claimsOrder && back > 0) texts.push(`out of order ${back.toLocaleString('en')} times`);
  if (throws > 0) texts.push(`throws ${throws.toLocaleString('en')} times`);
  if (texts.length > 0) return texts.join(', ');
  return claimsOrder ? 'none' : 'none; claims no order';
}
