// @ts-check
/**
 * The states met so far, by 64 bits of hash each, and how each one was reached.
 *
 * Two states with one hash would be taken for one; see `collisionOdds` for how unlikely that is.
 */

const EMPTY = 0;

export class SeenStates {
  size = 0;
  /** Open addressing: 1 + the number of the state, at a place its hash leads to. */
  #places = new Uint32Array(1 << 14);
  #low = new Uint32Array(1 << 13);
  #high = new Uint32Array(1 << 13);
  #parents = new Uint32Array(1 << 13);
  #steps = new Uint16Array(1 << 13);

  /**
   * Notes a state, reached from `parent` by its step number `step`.
   * @param {string} text
   * @param {number} parent
   * @param {number} step
   * @returns {boolean} whether it is new
   */
  add(text, parent, step) {
    const [low, high] = hashOf(text);
    const mask = this.#places.length - 1;
    let location = low & mask;
    while (this.#places[location] !== EMPTY) {
      const known = Number(this.#places[location]) - 1;
      if (this.#low[known] === low && this.#high[known] === high) return false;
      location = (location + 1) & mask;
    }
    const number = this.size++;
    this.#places[location] = number + 1;
    this.#low[number] = low;
    this.#high[number] = high;
    this.#parents[number] = parent;
    this.#steps[number] = step;
    if (this.size === this.#low.length) this.#grow();
    return true;
  }

  /** The numbers of the steps that lead to a state. */
  pathTo(/** @type {number} */ number) {
    const path = [];
    for (let at = number; at !== 0; at = Number(this.#parents[at])) {
      path.push(Number(this.#steps[at]));
    }
    return path.reverse();
  }

  /** The odds that any two different states so far had one hash. */
  get collisionOdds() {
    return (this.size * this.size) / 2 ** 65;
  }

  #grow() {
    const length = this.size * 2;
    this.#low = copied(this.#low, new Uint32Array(length));
    this.#high = copied(this.#high, new Uint32Array(length));
    this.#parents = copied(this.#parents, new Uint32Array(length));
    this.#steps = copied(this.#steps, new Uint16Array(length));
    this.#places = new Uint32Array(length * 2);
    const mask = this.#places.length - 1;
    for (let number = 0; number < this.size; number++) {
      let location = Number(this.#low[number]) & mask;
      while (this.#places[location] !== EMPTY) location = (location + 1) & mask;
      this.#places[location] = number + 1;
    }
  }
}

/**
 * @template {Uint32Array | Uint16Array} T
 * @param {T} from
 * @param {T} to
 */
function copied(from, to) {
  to.set(from);
  return to;
}

/** Two lanes of 32 bits, each mixed as MurmurHash3 does, the second led by the first. */
/** @type {(text: string) => [low: number, high: number]} */
function hashOf(text) {
  let low = 0x9e3779b9;
  let high = 0x85ebca6b;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0xcc9e2d51);
    low = (low << 15) | (low >>> 17);
    high = Math.imul(high ^ code, 0x1b873593) + low;
    high = (high << 13) | (high >>> 19);
  }
  return [finished(low ^ text.length), finished(high + Math.imul(low, 5))];
}

/** @type {(lane: number) => number} */
function finished(lane) {
  lane = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  lane = Math.imul(lane ^ (lane >>> 13), 0xc2b2ae35);
  return (lane ^ (lane >>> 16)) >>> 0;
}
