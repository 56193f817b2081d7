// @ts-check
/**
 * `npm run prove`: the rules of leases, counters and locks, proved by induction with the solver Z3.
 *
 * A system (test/proof/*.rules) is a state, rules that change it, and invariants. The proof has
 * three parts. The first state keeps every invariant. Each rule leads from any state that keeps
 * them to another one that does. The invariants imply the promise. So the promise holds after any
 * number of steps, in any order. Two more checks guard the proof: each rule can happen, and each
 * broken rule loses the proof of its named invariant.
 *
 * There are no quantifiers, so the solver always answers. A promise about any number of ranges is a
 * promise about any two. So the questions cover two ranges while a third one acts, and the facts
 * about all ranges are assumed for these.
 */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { init } from 'z3-solver';
import {
  each,
  fail,
  formula,
  kindOf,
  meaningOf,
  nameOf,
  readSystems,
  sortOf,
  stepOf,
  variablesOf,
} from './system.mjs';

/** @import { Binding, Edit, Rule, Statement, System, Texts } from './system.mjs' */

/** @returns {System[]} */
export const systems = () => ['lease', 'ranges', 'locks', 'counters'].flatMap(readSystems);

/* The questions of a system for the solver. */

/** @typedef {'names' | 'checked' | 'acting'} Which */

/** Each way to assign things to letters, with a different thing for each letter. */
/** @type {(system: System, letters: Texts, which: Which) => Binding[]} */
function bindings(system, letters, which) {
  /** @type {Binding[]} */
  let found = [{}];
  for (const [letter, kind] of Object.entries(letters)) {
    found = found.flatMap((binding) =>
      kindOf(system, kind)
        [which].filter((name) => !Object.values(binding).includes(name))
        .map((name) => ({ ...binding, [letter]: name })),
    );
  }
  return found;
}

/** One question for the solver: does such a state or step exist? */
class Question {
  variables;
  /** @type {Set<string>} */
  given = new Set();
  /** @type {Texts} */
  let = {};
  /** The variables that the rule changes. Their new values have a `!` here. */
  /** @type {Set<string>} */
  changed = new Set();
  /** @type {string[]} */
  asserted = [];

  constructor(/** @type {System} */ system) {
    this.system = system;
    this.variables = new Set(variablesOf(system));
    for (const text of system.always) this.assert(this.read(text));
  }

  assert(/** @type {string} */ term) {
    this.asserted.push(`(assert ${term})`);
  }

  /** @type {(text: string, binding?: Binding, isAfter?: boolean) => string} */
  read(text, binding = {}, isAfter = false) {
    return formula(text, (name) => {
      const full = nameOf(name, binding);
      if (this.variables.has(full)) return isAfter && this.changed.has(full) ? `${full}!` : full;
      if (this.given.has(name)) return name;
      const short = this.let[name];
      if (short !== undefined) return this.read(short, binding, isAfter);
      const meaning = meaningOf(this.system, name, binding);
      return typeof meaning === 'number' ? String(meaning) : this.read(...meaning, isAfter);
    });
  }

  /** The state keeps every invariant, for every thing. */
  assume() {
    for (const invariant of Object.values(this.system.invariants)) {
      for (const term of this.terms(invariant, 'names')) this.assert(term);
    }
  }

  /** @type {(statement: Statement, which: Which, isAfter?: boolean) => string[]} */
  terms({ letters, formula: text }, which, isAfter = false) {
    return bindings(this.system, letters, which).map((binding) =>
      this.read(text, binding, isAfter),
    );
  }

  /** At least one of them fails. */
  refute(/** @type {readonly string[]} */ terms) {
    this.assert(`(not (and true ${terms.join(' ')}))`);
  }

  happens(/** @type {Rule} */ rule, /** @type {Binding} */ binding) {
    const step = stepOf(this.system, rule, binding);
    this.given = new Set(step.given);
    this.let = step.let;
    for (const [text, bound] of step.needs) this.assert(this.read(text, bound));
    for (const { target, value, binding: bound } of step.changes) {
      if (!this.variables.has(target)) fail(target, 'is no variable that could change');
      this.changed.add(target);
      this.assert(`(= ${target}! ${this.read(value, bound)})`);
    }
  }

  requires(/** @type {string} */ text) {
    for (const [one, bound] of each(this.system, text, {})) this.assert(this.read(one, bound));
  }

  get text() {
    const after = [...this.changed].map((name) => `${name}!`);
    const declared = [...this.variables, ...this.given, ...after];
    const declarations = declared.map((name) => `(declare-const ${name} ${sortOf(name)})`);
    return [...declarations, ...this.asserted].join('\n');
  }
}

/** @typedef {{ what: string, text: string, isPossible: boolean }} Asked with the expected result */

/** Whether the first state keeps all invariants, and the invariants imply the promise. */
/** @type {(system: System) => Asked[]} */
function frameOf(system) {
  const first = new Question(system);
  for (const text of system.first) first.requires(text);
  const begins = first.text;
  first.refute(
    Object.values(system.invariants).flatMap((invariant) => first.terms(invariant, 'names')),
  );
  const promises = Object.entries(system.promises).map(([name, promise]) => {
    const question = new Question(system);
    question.assume();
    question.refute(question.terms(promise, 'checked'));
    return { what: `so ${name}`, text: question.text, isPossible: false };
  });
  const worlds = Object.entries(system.possible).map(([name, world]) => {
    const question = new Question(system);
    question.assume();
    question.assert(`(or ${question.terms(world, 'names').join(' ')})`);
    return { what: name, text: question.text, isPossible: true };
  });
  const base = { what: 'the first state', text: first.text, isPossible: false };
  return [{ what: 'a first state', text: begins, isPossible: true }, base, ...promises, ...worlds];
}

/** Whether it can happen, and whether it can lose an invariant. */
/** @typedef {{ what: string, can: string, lost: string }} Obligation */

/** The obligations of a rule, for each thing that it may happen by. */
/** @type {(system: System, name: string, only?: string) => Obligation[]} */
function stepsOf(system, name, only) {
  const rule = system.rules[name] ?? fail(name, 'is no rule of the system');
  const asked = Object.entries(system.invariants).filter(([each]) => (only ?? each) === each);
  if (asked.length === 0) fail(String(only), 'is no invariant of the system');
  return bindings(system, rule.letters, 'acting').map((binding) => {
    const question = new Question(system);
    question.assume();
    question.happens(rule, binding);
    const can = question.text;
    question.refute(asked.flatMap(([, each]) => question.terms(each, 'checked', true)));
    const by = Object.values(binding).join(', ');
    return { what: by === '' ? name : `${name} (${by})`, can, lost: question.text };
  });
}

/** An edit changes one line of the rule, as mutants change the source. */
/** @type {(system: System, name: string, edit: Edit) => System} */
function brokenSystem(system, name, { find, put }) {
  const rule = system.rules[name] ?? fail(name, 'is no rule of the system');
  const text = rule.lines.join('\n');
  if (text.split(find).length !== 2) fail(find, `stands not once in the rule "${name}"`);
  const lines = text.replace(find, () => put.replaceAll('; ', '\n')).split('\n');
  return { ...system, rules: { ...system.rules, [name]: { ...rule, lines } } };
}

/* The solver. */

/** @returns {Promise<(text: string) => Promise<string | undefined>>} a state, if there is one */
async function solver() {
  const { Z3 } = await init();
  const context = Z3.mk_context(Z3.mk_config());
  return async (text) => {
    const asked = Z3.mk_simple_solver(context);
    Z3.solver_inc_ref(context, asked);
    Z3.solver_from_string(context, asked, text);
    if (Z3.get_error_code(context) !== 0) throw new Error(`The solver refuses:\n${text}`);
    const found = await Z3.solver_check(context, asked);
    if (found === 0) throw new Error(`The solver does not know:\n${text}`);
    const state =
      found === 1 ? Z3.model_to_string(context, Z3.solver_get_model(context, asked)) : undefined;
    Z3.solver_dec_ref(context, asked);
    return state;
  };
}

/** A state, and the step of the rule from there. */
/** @type {(model: string | undefined) => string[]} */
function told(model = '') {
  const found = [...model.matchAll(/^(\S+) -> (.*)$/gm)].map(([, name = '', value = '']) => ({
    name,
    value: value.replace(/^\(- (\d+)\)$/, '-$1'),
  }));
  const values = new Map(found.map(({ name, value }) => [name, value]));
  const names = [...values.keys()].filter((name) => !name.endsWith('!')).toSorted();
  return names.map((name) => {
    const [before, after = before] = [values.get(name), values.get(`${name}!`)];
    return `${name} = ${before}${after === before ? '' : `, then ${after}`}`;
  });
}

/**
 * @typedef {object} Result
 * @property {string} system
 * @property {'proved' | 'possible' | 'broken'} kind
 * @property {string} what
 * @property {boolean} isAsExpected
 * @property {string[]} story a state that the solver found, and the step from there
 */

/** @type {(system: System, say: (result: Result) => void) => Promise<Result[]>} */
export async function prove(system, say) {
  const ask = await solver();
  /** @type {Result[]} */
  const results = [];
  /** @type {(kind: Result['kind'], what: string, model: string | undefined) => void} */
  const note = (kind, what, model) => {
    const isAsExpected = (model === undefined) === (kind === 'proved');
    const result = { system: system.title, kind, what, isAsExpected, story: told(model) };
    results.push(result);
    say(result);
  };
  for (const { what, text, isPossible } of frameOf(system)) {
    note(isPossible ? 'possible' : 'proved', what, await ask(text));
  }
  for (const [name, { broken }] of Object.entries(system.rules)) {
    let possible;
    for (const { what, can, lost } of stepsOf(system, name)) {
      note('proved', what, await ask(lost));
      possible ??= await ask(can);
    }
    note('possible', name, possible);
    for (const [fault, edit] of Object.entries(broken)) {
      let found;
      for (const { lost } of stepsOf(brokenSystem(system, name, edit), name, edit.loses)) {
        found ??= await ask(lost);
      }
      note('broken', `${fault}: loses "${edit.loses}"`, found);
    }
  }
  return results;
}

/** Lists the invariants that each rule loses, for authors of a system. */
/** @type {(system: System) => Promise<string[]>} */
async function lossesOf(system) {
  const ask = await solver();
  const losses = [];
  for (const rule of Object.keys(system.rules)) {
    for (const invariant of Object.keys(system.invariants)) {
      for (const { what, lost } of stepsOf(system, rule, invariant)) {
        const model = await ask(lost);
        if (model !== undefined) losses.push(`${what} loses "${invariant}"`, ...told(model));
      }
    }
  }
  return losses;
}

/* The command. */

/** @type {(result: Result, isTraced: boolean) => string[]} */
function linesOf({ system, kind, what, isAsExpected, story }, isTraced) {
  if (isAsExpected && !isTraced) return [];
  const wrong = isAsExpected ? '' : 'NOT AS EXPECTED  ';
  const isShown = !isAsExpected || kind === 'broken';
  return [
    `${wrong}${system}: ${kind}: ${what}`,
    ...(isShown ? story.map((line) => `    ${line}`) : []),
  ];
}

/** @type {(system: System, results: readonly Result[]) => string} */
function summaryOf({ title, invariants, rules }, results) {
  const count = (/** @type {Result['kind']} */ kind) =>
    results.filter((result) => result.kind === kind && result.isAsExpected).length;
  const [kept, ways] = [invariants, rules].map((named) => Object.keys(named).length);
  return (
    `${title}: ${kept} invariants, ${ways} rules: ${count('proved')} obligations proved, ` +
    `${count('broken')} broken rules lose the proof`
  );
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      losses: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
    },
  });
  const print = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);
  const startedAt = performance.now();
  /** @type {Result[]} */
  const results = [];
  for (const system of systems()) {
    if (positionals.length > 0 && !positionals.includes(system.title)) continue;
    if (values.losses) {
      for (const line of await lossesOf(system)) print(line);
      continue;
    }
    const own = await prove(system, (result) => {
      if (!values.json) for (const line of linesOf(result, values.trace)) print(line);
    });
    if (!values.json) print(summaryOf(system, own));
    results.push(...own);
  }
  const wrong = results.filter(({ isAsExpected }) => !isAsExpected);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (values.json) print(JSON.stringify(results));
  else print(`${results.length} questions, ${seconds} s; ${wrong.length} not as expected.`);
  return results.length > 0 && wrong.length === 0;
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  process.exitCode = (await main()) ? 0 : 1;
}
