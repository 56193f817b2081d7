// @ts-check
/**
 * Evaluates the rules of lease.rules with a registry's numbers: which sequences of rules are
 * possible, and whether they lead to the observed state. prove.mjs sends the same text to a solver.
 */
import {
  fail,
  meaningOf,
  nameOf,
  readSystems,
  sortOf,
  stepOf,
  treeOf,
  variablesOf,
} from './system.mjs';

/** @import { Binding, Tree } from './system.mjs' */

const LEASE = readSystems('lease')[0] ?? fail('lease', 'is no system');
const VARIABLES = new Set(variablesOf(LEASE));

export const [TAKES_OVER, HEARS] = ['a server takes over', 'a clock is heard of'];

/** A time before everything that is remembered. */
const LONG_AGO = -1e15;

/** Server `a` exists without recent grants, and no other one yet. */
export const EMPTY = {
  ...Object.fromEntries(
    [...VARIABLES].map((name) => [name, sortOf(name) === 'Bool' ? name === 'a.isBorn' : 0]),
  ),
  'a.time': LONG_AGO,
  'a.lead': LONG_AGO,
  otherLead: LONG_AGO,
};

/* The rules, evaluated with numbers. */

/**
 * @typedef {Record<string, any>} Values numbers and Booleans by name
 * @typedef {(state: Values, given: Values) => any} Formula
 *
 * @typedef {object} Reckoned
 * @property {[string, Formula][]} lets
 * @property {[string, Formula][]} whens
 * @property {[string, Formula][]} thens
 */

/** @type {Map<string, Reckoned>} */
const reckoned = new Map();

/** @type {(rule: string, by: Binding) => Reckoned} */
function reckonedOf(rule, by) {
  const key = `${rule} ${Object.values(by).join()}`;
  const known = reckoned.get(key);
  if (known !== undefined) return known;
  const step = stepOf(LEASE, LEASE.rules[rule] ?? fail(rule, 'is no rule'), by);
  const read = readerOf(new Set([...step.given, ...Object.keys(step.let)]));
  const made = {
    lets: Object.entries(step.let).map(([name, text]) => pair(name, read(text, by))),
    whens: step.needs.map(([text, binding]) => pair(text, read(text, binding))),
    thens: step.changes.map(({ target, value, binding }) => pair(target, read(value, binding))),
  };
  reckoned.set(key, made);
  return made;
}

/** Compiles formulas, with the names of a rule. */
/** @type {(own: ReadonlySet<string>) => (text: string, binding: Binding) => Formula} */
function readerOf(own) {
  return function read(text, binding) {
    /** @type {(tree: Tree) => Formula} */
    const of = (tree) => {
      if (typeof tree === 'object') {
        const [operator, ...parts] = tree;
        const made = OPERATIONS[operator] ?? fail(text, `has no ${operator}`);
        return made(/** @type {any} */ (parts.map(of)));
      }
      if (typeof tree !== 'string') return () => tree;
      const full = nameOf(tree, binding);
      if (VARIABLES.has(full)) return (state) => state[full];
      if (own.has(tree)) return (_, given) => given[tree];
      const meaning = meaningOf(LEASE, tree, binding);
      return typeof meaning === 'number' ? () => meaning : read(...meaning);
    };
    return of(treeOf(text));
  };
}

/** @type {Map<string, Formula>} */
const terms = new Map();

/** The value of a term of the registry, such as `isTold`. */
/** @type {(term: string, state: Values) => any} */
export function valueOf(term, state) {
  const known = terms.get(term) ?? readerOf(new Set())(`b.${term}`, {});
  terms.set(term, known);
  return known(state, {});
}

/** @type {(name: string, formula: Formula) => [string, Formula]} */
const pair = (name, formula) => [name, formula];

/** @type {Record<string, (parts: [Formula, Formula, Formula]) => Formula>} */
const OPERATIONS = {
  '=>':
    ([p, q]) =>
    (s, g) =>
      !p(s, g) || q(s, g),
  or:
    ([p, q]) =>
    (s, g) =>
      p(s, g) || q(s, g),
  and:
    ([p, q]) =>
    (s, g) =>
      p(s, g) && q(s, g),
  not:
    ([p]) =>
    (s, g) =>
      !p(s, g),
  '=':
    ([p, q]) =>
    (s, g) =>
      p(s, g) === q(s, g),
  '!=':
    ([p, q]) =>
    (s, g) =>
      p(s, g) !== q(s, g),
  '<':
    ([p, q]) =>
    (s, g) =>
      p(s, g) < q(s, g),
  '<=':
    ([p, q]) =>
    (s, g) =>
      p(s, g) <= q(s, g),
  '>':
    ([p, q]) =>
    (s, g) =>
      p(s, g) > q(s, g),
  '>=':
    ([p, q]) =>
    (s, g) =>
      p(s, g) >= q(s, g),
  '+':
    ([p, q]) =>
    (s, g) =>
      p(s, g) + q(s, g),
  '-':
    ([p, q]) =>
    (s, g) =>
      p(s, g) - q(s, g),
  '*':
    ([p, q]) =>
    (s, g) =>
      p(s, g) * q(s, g),
  '/':
    ([p, q]) =>
    (s, g) =>
      Math.floor(p(s, g) / q(s, g)),
  if:
    ([is, p, q]) =>
    (s, g) =>
      is(s, g) ? p(s, g) : q(s, g),
  max: (parts) => (s, g) => Math.max(...parts.map((part) => part(s, g))),
  min: (parts) => (s, g) => Math.min(...parts.map((part) => part(s, g))),
};

/* Sequences of rules. */

/**
 * @typedef {object} Path a possible sequence of rules
 * @property {Values} state the resulting state
 * @property {string[]} rules
 * @property {readonly Taken[]} ways
 * @property {string[]} faults failed conditions of its rules
 *
 * @typedef {object} Taken a rule of the path
 * @property {string} rule
 * @property {Binding} by
 * @property {Values} given the given and derived values
 * @property {Values} state after the rule
 * @property {number} nowMs the registry's clock then
 *
 * @typedef {Values & { rule: string, by?: Binding }} Way a rule with its given values
 * @typedef {Way | ((state: Values) => Way | undefined)} Next a way that may depend on the state
 */

/** @type {Omit<Path, 'state'>} */
export const BEGIN = { rules: [], ways: [], faults: [] };

/** The path after a rule. */
/** @type {(path: Path, next: Next) => Path} */
export function after(path, next) {
  const way = typeof next === 'function' ? next(path.state) : next;
  if (way === undefined) return path;
  const { rule, by = { s: 'b' }, ...given } = way;
  const { lets, whens, thens } = reckonedOf(rule, by);
  const state = { ...path.state };
  for (const [name, formula] of lets) given[name] = formula(path.state, given);
  for (const [name, formula] of thens) state[name] = formula(path.state, given);
  const refused = whens.filter(([, formula]) => !formula(path.state, given));
  const faults = refused.map(([text]) => `"${rule}" needs ${text}`);
  const taken = { rule, by, given, state, nowMs: state['b.time'] + state['b.slew'] };
  return {
    state,
    rules: [...path.rules, rule],
    ways: [...path.ways, taken],
    faults: [...path.faults, ...faults],
  };
}

/** All results of the stages, with one choice of each. */
/** @type {(path: Path, stages: readonly Next[][][]) => Generator<Path>} */
function* pathsFrom(path, [stage, ...others]) {
  if (stage === undefined) yield path;
  else for (const choice of stage) yield* pathsFrom(choice.reduce(after, path), others);
}

/**
 * The path to the observed state, or what the nearest path lacks.
 *
 * @typedef {Path} Explained found if it has no faults
 */
/** @typedef {(path: Path) => string[]} Also further faults of a path */
/** @type {(path: Path, stages: Next[][][], found: Values, also?: Also) => Explained} */
export function explained(first, stages, found, also = () => []) {
  /** @type {Explained | undefined} */
  let nearest;
  for (const path of pathsFrom(first, stages)) {
    const { state, rules, ways } = path;
    const faults = [...path.faults, ...also(path)];
    for (const name in found) {
      if (state[name] !== found[name]) faults.push(`${name} is ${found[name]}, not ${state[name]}`);
    }
    if (faults.length === 0) return { state, rules, ways, faults };
    if (faults.length < (nearest?.faults.length ?? Infinity))
      nearest = { state, rules, ways, faults };
  }
  return nearest ?? fail('no stage', 'has a choice');
}
