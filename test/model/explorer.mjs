// @ts-check
/**
 * Breadth first through every state within the bounds, until two leases overlap or none is left.
 * Breadth first, so that the first counterexample is one of the shortest.
 */
import { asksAgain, clones, crashes, hears, releases, starts } from './holder.mjs';
import { rankOf, loses, passes, runs } from './store.mjs';
import { tokenName, firstWorld, overlapIn, textOf } from './world.mjs';

/** @import { Emit, Lease, Model, Registry, World } from './world.mjs' */

// The states met so far, by 64 bits of hash each, and how each one was reached.
//
// Two states with one hash would be taken for one; see `collisionOdds` for how unlikely that is.

const EMPTY = 0;

class SeenStates {
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

// One text for all worlds that behave alike, to be hashed.
//
// Processes are sorted, since which is which means nothing; tokens and nonces are numbered in the
// order in which they stand in the text, since they are only ever compared; what no rule will look
// at again (labels, counters, incarnations that are gone) is left out.

const PHASES = { asking: 1, holding: 2, gone: 3 };
const KINDS = { acquire: 1, renew: 2, release: 3 };

/** @type {(world: World, model: Model) => string} */
function canonicalText(world, { bounds, fault }) {
  const { time, lag, requests, losses, clockSteps, clones, past } = world;
  const mayStep = (bounds.clockSteps ?? 0) + (bounds.lossWindow ?? 0) > 0;
  const header = String.fromCharCode(time, lag, requests, losses, clockSteps, clones, ...past);
  const keyed = world.leases.map((lease) => ({ lease, key: keyOf(lease, world, fault) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const naming = new Naming();
  let text = header;
  for (const { lease, key } of keyed) text += key + namesOf(lease, naming);
  text += storeText(world.store, naming, mayStep);
  if (world.store.state && world.store.state.server !== world.server) text += '!';
  if (world.old) {
    const { store, server, until } = world.old;
    text += `/${String.fromCharCode(until)}${storeText(store, naming, mayStep)}`;
    if (store.state && store.state.server !== server) text += '!';
  }
  if (world.backup) text += `|${storeText(world.backup, naming, mayStep)}`;
  return text;
}

/** Tokens and nonces by the order in which they are met; the nonce of known clones stays apart. */
class Naming {
  /** @type {unknown[]} */
  met = [''];

  /** @type {(name: unknown) => number} */
  of(name) {
    const index = this.met.indexOf(name);
    return index >= 0 ? index : this.met.push(name) - 1;
  }
}

/** All of a lease but its names. */
/** @type {(lease: Lease, world: World, fault: string | undefined) => string} */
function keyOf(lease, world, fault) {
  const { phase, asked, floor, ticks, twinTicks, isCopied, host, requests, replies } = lease;
  const isTimed = fault === 'renew timeout taken as success';
  let key = String.fromCharCode(PHASES[phase] + (isCopied ? 8 : 0), host, floor, ticks, twinTicks);
  if (phase === 'holding') key += leaseText(asked, world);
  key += String.fromCharCode(requests.length, replies.length, ownedBy(lease, world.store));
  for (const { kind, asked: sent, last = -1, runs, sentAt } of requests) {
    key += String.fromCharCode(KINDS[kind], runs, last + 1, isTimed ? sentAt : 0);
    if (kind !== 'acquire') key += leaseText(sent, world);
  }
  for (const reply of replies) {
    const rank = rankOf(reply);
    const freshness = reply.answer.mark ? freshnessOf(reply.answer.mark, world) : 0;
    key += String.fromCharCode(rank & 0xffff, (rank >> 16) * 4 + freshness);
  }
  return key;
}

/** @type {(asked: any, world: World) => string} */
const leaseText = ({ workerId, haveMs, mark }, world) =>
  String.fromCharCode(workerId, haveMs, freshnessOf(mark, world));

/** Whose mark it is: a mark that no server gives any more cannot become current again. */
/** @type {(mark: any, world: World) => number} */
function freshnessOf({ server, incarnation }, world) {
  if (server === world.server && incarnation === world.store.state?.incarnation) return 1;
  const { old } = world;
  return old && server === old.server && incarnation === old.store.state?.incarnation ? 2 : 0;
}

/** @type {(lease: Lease, store: Registry) => number} */
const ownedBy = ({ token }, store) => (store.state?.workers.get(token) ?? -1) + 1;

/** @type {(lease: Lease, naming: Naming) => string} */
function namesOf({ token, phase, asked, requests, replies }, naming) {
  const names = [naming.of(token)];
  if (phase !== 'gone') names.push(naming.of(asked.nonce));
  if (phase === 'holding') names.push(naming.of(asked.nonceNext));
  for (const sent of requests) {
    names.push(naming.of(sent.asked.nonce), naming.of(sent.asked.nonceNext));
  }
  for (const reply of replies) names.push(naming.of(reply.asked.nonceNext));
  return String.fromCharCode(...names);
}

/** @type {(store: Registry, naming: Naming, mayStep: boolean) => string} */
function storeText(store, naming, mayStep) {
  const { state } = store;
  if (state === undefined) return 'absent';
  const { safeFloorMs, quarantineMs, slewMs, lastTimeMs, ceilings, holders } = state;
  let text = String.fromCharCode(safeFloorMs, quarantineMs, slewMs, mayStep ? lastTimeMs : 0);
  const workers = [...ceilings].toSorted(([a], [b]) => a - b);
  for (const [workerId, ceilingMs] of workers) {
    text += String.fromCharCode(workerId, ceilingMs);
    const owner = holders.get(workerId);
    if (owner === undefined) continue;
    const { token, nonce, floorMs, era } = owner;
    const isOld = era === state.era ? 0 : 1;
    text += String.fromCharCode(65535, naming.of(token), naming.of(nonce), floorMs, isOld);
  }
  return text + hiddenText(store);
}

/** What a mutant remembers beside the state. */
/** @type {(store: Registry) => string} */
function hiddenText(store) {
  let text = '';
  for (const field in store) {
    if (field !== 'state') text += field + JSON.stringify(store[field], withMaps);
  }
  return text;
}

/** @type {(key: string, value: unknown) => unknown} */
const withMaps = (_key, value) => (value instanceof Map ? [...value] : value);

/** Everything that may happen next, in any world. */
const RULES = [passes, starts, asksAgain, releases, runs, hears, crashes, clones, loses];

/**
 * @typedef {object} Exploration
 * @property {number} states
 * @property {number} transitions
 * @property {number} depth steps to the state furthest away
 * @property {number} seconds
 * @property {number} memoryMb the most memory the process used
 * @property {number} collisionOdds
 * @property {string[]} [counterexample] absent where no two leases overlap
 */

/**
 * @param {Model} model
 * @returns {Exploration}
 */
export function explore(model) {
  const startedAt = performance.now();
  const first = firstWorld(model);
  const seen = new SeenStates();
  seen.add(canonicalText(first, model), 0, 0);
  let frontier = [first];
  let [transitions, depth, memoryMb] = [0, 0, 0];
  /** @type {string[] | undefined} */
  let counterexample;
  for (let number = 0; frontier.length > 0 && !counterexample; depth++) {
    /** @type {World[]} */
    const next = [];
    for (const world of frontier) {
      let step = 0;
      forEachStep(model, world, (reached) => {
        const isNew = seen.add(canonicalText(reached, model), number, step++);
        if (!isNew || counterexample) return;
        if (overlapIn(reached)) counterexample = told(model, seen.pathTo(seen.size - 1));
        next.push(reached);
      });
      transitions += step;
      number++;
      if (counterexample) break;
    }
    memoryMb = Math.max(memoryMb, Math.round(process.memoryUsage().rss / 2 ** 20));
    frontier = next;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { size: states, collisionOdds } = seen;
  return {
    states,
    transitions,
    depth: depth - 1,
    seconds,
    memoryMb,
    collisionOdds,
    counterexample,
  };
}

function forEachStep(
  /** @type {Model} */ model,
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  const { without = [] } = model.bounds;
  for (const rule of RULES) if (!without.includes(rule.name)) rule(model, world, emit);
}

/** Goes the path again, this time with words. */
/** @type {(model: Model, path: number[]) => string[]} */
function told(model, path) {
  const lines = [];
  let world = firstWorld(model);
  for (const wanted of path) {
    let step = 0;
    const from = world;
    forEachStep(model, from, (next, say) => {
      if (step++ !== wanted) return;
      lines.push(say());
      world = next;
    });
  }
  const { workerId, ticks, tokens = [] } = overlapIn(world) ?? {};
  const [one, other] = tokens.map(tokenName);
  lines.push(
    `worker id ${workerId}: ${one} and ${other} may both make ids in ${textOf(ticks ?? 0)}`,
  );
  return lines;
}
