// @ts-check
/**
 * Breadth first through every state within the bounds, until two leases overlap or none is left.
 * Breadth first, so that the first counterexample is one of the shortest.
 */
import { canonicalText } from './canonical.mjs';
import { asksAgain, clones, crashes, hears, releases, starts } from './holder.mjs';
import { SeenStates } from './seen-states.mjs';
import { loses, passes, runs } from './store.mjs';
import { tokenName } from './telling.mjs';
import { firstWorld, overlapIn, textOf } from './world.mjs';
/** @import { Emit, Model, World } from './world.mjs' */

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
