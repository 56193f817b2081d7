// @ts-check
/**
 * Reads the systems that prove.mjs proves: test/proof/*.rules. A line with more indentation adds to
 * the line before, and `#` begins a comment.
 *
 *     system lease                        begins a system
 *     state now longest hasEnded          variables: integers, or Booleans with `is` or `has`
 *     term later = now + longest          a name for a formula
 *     kind range: r1 r2 r3, ...           things in any number; with fields and terms
 *     always, first                       facts that never change; the first state
 *     rule renewed: s of server (file)    a step of a server, and its source in lib
 *       given ttl                         any value
 *       let end = s.now + ttl             a value computed before the change
 *       when s.isBorn                     a condition
 *       then s.end = end                  a change; `every q of range: q.end` for each
 *       broken name: find -> put: lost    an edit that loses the proof of invariant `lost`
 *     invariant, promise                  formulas about any things, one for each letter
 *     possible                            a state that the invariants must permit
 *     survives name: why                  a broken rule that the proof does not need
 */
import { readFileSync } from 'node:fs';

/**
 * @typedef {'Int' | 'Bool'} Sort
 * @typedef {Record<string, string>} Texts
 * @typedef {{ letters: Texts, formula: string }} Statement letters stand for things of a kind
 * @typedef {{ find: string, put: string, loses: string }} Edit
 *
 * @typedef {object} Kind
 * @property {string[]} names that stand for any number of things
 * @property {string[]} checked names for the questions about invariants, after a rule
 * @property {string[]} acting
 * @property {string[]} fields
 * @property {Texts} terms
 *
 * @typedef {object} Rule
 * @property {Texts} letters
 * @property {string} [file]
 * @property {string[]} lines all lines except the broken ones
 * @property {Record<string, Edit>} broken
 *
 * @typedef {object} System
 * @property {string} title
 * @property {string[]} state
 * @property {Texts} terms
 * @property {Record<string, Kind>} kinds
 * @property {string[]} always
 * @property {string[]} first
 * @property {Record<string, Rule>} rules
 * @property {Record<string, Statement>} invariants
 * @property {Record<string, Statement>} promises
 * @property {Record<string, Statement>} possible
 * @property {Texts} survives
 */

/** @type {(name: string) => System[]} */
export function readSystems(name) {
  const text = readFileSync(new URL(`${name}.rules`, import.meta.url), 'utf8');
  /** @type {System[]} */
  const systems = [];
  for (const [head = '', ...lines] of blocksOf(text)) {
    const [, word = '', rest = ''] = /^(\w+) (.*)$/.exec(head) ?? [];
    if (word === 'system') systems.push(emptySystem(rest));
    const read = READERS[word] ?? fail(head, 'begins with no word of this language');
    read(systems.at(-1) ?? fail(head, 'stands before its system'), rest, lines);
  }
  return systems;
}

/** @type {(title: string) => System} */
const emptySystem = (title) => ({
  title,
  state: [],
  terms: {},
  kinds: {},
  always: [],
  first: [],
  rules: {},
  invariants: {},
  promises: {},
  possible: {},
  survives: {},
});

/** Each line with its indented lines, which may have deeper continuation lines. */
/** @type {(text: string) => string[][]} */
function blocksOf(text) {
  /** @type {string[][]} */
  const blocks = [];
  for (const line of text.split('\n')) {
    const said = line.trim();
    if (said === '' || said.startsWith('#')) continue;
    const indent = line.length - line.trimStart().length;
    const block = blocks.at(-1) ?? [];
    if (indent === 0) blocks.push([said]);
    else if (indent === 2) block.push(said);
    else block.push(`${block.pop()} ${said}`);
  }
  return blocks;
}

/** @type {Record<string, (system: System, rest: string, lines: string[]) => void>} */
const READERS = {
  system: () => undefined,
  state: ({ state }, rest) => state.push(...rest.split(' ')),
  term: ({ terms }, rest) => define(terms, rest),
  always: ({ always }, rest) => always.push(rest),
  first: ({ first }, rest) => first.push(rest),
  kind: ({ kinds }, rest, lines) => {
    const [, name = '', all = '', checked = all, acting = all] =
      /^(\w+): ([^,]*)(?:, of which (.*) are asked about and (.*) act)?$/.exec(rest) ?? [];
    /** @type {Kind} */
    const kind = {
      names: words(all),
      checked: words(checked),
      acting: words(acting),
      fields: [],
      terms: {},
    };
    for (const line of lines) {
      if (line.startsWith('term ')) define(kind.terms, line.slice(5));
      else kind.fields.push(...words(line.replace(/^fields /, '')));
    }
    kinds[name] = kind;
  },
  rule: ({ rules }, rest, lines) => {
    const [, name = '', letters = '', file] =
      /^([^:(]*[^:( ])(?:: ([^(]*))?(?: ?\((.*)\))?$/.exec(rest) ?? [];
    /** @type {Rule} */
    const rule = { letters: lettersOf(letters), file, lines: [], broken: {} };
    for (const line of lines) {
      const [, broken, find = '', put = '', loses = ''] =
        /^broken ([^:]*): (.*) -> (.*?) ?: (.*)$/.exec(line) ?? [];
      if (broken === undefined) rule.lines.push(line);
      else rule.broken[broken] = { find, put, loses };
    }
    rules[name] = rule;
  },
  invariant: ({ invariants }, rest, lines) => state(invariants, rest, lines),
  promise: ({ promises }, rest, lines) => state(promises, rest, lines),
  possible: ({ possible }, rest, lines) => state(possible, rest, lines),
  survives: ({ survives }, rest) => {
    const [name = '', why = ''] = rest.split(': ');
    survives[name] = why;
  },
};

/** @type {(text: string) => string[]} */
const words = (text) => text.split(' ').filter((word) => word !== '');

/** @type {(terms: Texts, text: string) => void} */
function define(terms, text) {
  const [, name = fail(text, 'defines nothing'), value = ''] = /^(\S+) = (.*)$/.exec(text) ?? [];
  terms[name] = value;
}

/** `q of range, s of server` */
/** @type {(text: string) => Texts} */
function lettersOf(text) {
  const pairs = text.split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(pairs.map((part) => part.trim().split(' of ')));
}

/** @type {(statements: Record<string, Statement>, rest: string, lines: string[]) => void} */
function state(statements, rest, lines) {
  const [name = '', letters = ''] = rest.split(': ');
  const formula = lines.map((line) => `(${line})`).join(' and ');
  statements[name] = { letters: lettersOf(letters), formula };
}

/** @type {(text: string, fault: string) => never} */
export function fail(text, fault) {
  throw new Error(`"${text}" ${fault}.`);
}

/** `isFree` and `hasEnded` are Booleans, and all other names are integers. */
/** @type {(name: string) => Sort} */
export const sortOf = (name) => (/(^|\.)(is|has)[A-Z]/.test(name) ? 'Bool' : 'Int');

/* The steps of rules and the meaning of names, for both the solver and follow.mjs. */

/**
 * The thing behind each letter of a formula: `r` is `r1`.
 * @typedef {Readonly<Record<string, string>>} Binding
 *
 * @typedef {object} Change
 * @property {string} target the variable
 * @property {string} value a formula
 * @property {Binding} binding
 *
 * @typedef {object} Step a rule for named things
 * @property {string[]} given
 * @property {Texts} let
 * @property {[string, Binding][]} needs the `when` lines
 * @property {Change[]} changes the `then` lines, one for each variable
 */

/** @type {(system: System, rule: Rule, binding: Binding) => Step} */
export function stepOf(system, rule, binding) {
  /** @type {Step} */
  const step = { given: [], let: {}, needs: [], changes: [] };
  for (const line of rule.lines) {
    const [, word, rest = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    if (word === 'given') step.given.push(...rest.split(' '));
    else if (word === 'let') define(step.let, rest);
    else if (word === 'when') step.needs.push(...each(system, rest, binding));
    else if (word === 'then') {
      for (const [text, bound] of each(system, rest, binding)) {
        const [, name = '', value = ''] = /^(\S+) = (.*)$/.exec(text) ?? [];
        const target = nameOf(name, bound);
        // A line about one thing takes precedence over a line about all.
        if (step.changes.some((change) => change.target === target)) continue;
        step.changes.push({ target, value, binding: bound });
      }
    } else fail(line, 'begins with no word of a rule');
  }
  return step;
}

/** Expands `every q of range: text` to a text for each thing. */
/** @type {(system: System, text: string, binding: Binding) => [string, Binding][]} */
export function each(system, text, binding) {
  const [, letter, kind = '', rest = ''] = /^every (\w+) of (\w+): (.*)$/.exec(text) ?? [];
  if (letter === undefined) return [[text, binding]];
  return kindOf(system, kind).names.map((name) => [rest, { ...binding, [letter]: name }]);
}

/** @type {(system: System, name: string) => Kind} */
export const kindOf = ({ kinds }, name) => kinds[name] ?? fail(name, 'is no kind of the system');

/** All variables of a state. */
/** @type {(system: System) => string[]} */
export const variablesOf = ({ state, kinds }) => [
  ...state,
  ...Object.values(kinds).flatMap(({ names, fields }) =>
    names.flatMap((name) => fields.map((field) => `${name}.${field}`)),
  ),
];

/** @type {(name: string, binding: Binding) => string} */
export function nameOf(name, binding) {
  const [letter = '', ...field] = name.split('.');
  return [binding[letter] ?? letter, ...field].join('.');
}

/** The meaning of a name that is no variable: a number or a formula. */
/** @type {(system: System, name: string, binding: Binding) => number | [string, Binding]} */
export function meaningOf({ kinds, terms }, name, binding) {
  const [thing = '', field] = nameOf(name, binding).split('.');
  const kind = Object.values(kinds).find(({ names }) => names.includes(thing));
  // A thing alone stands for its number.
  if (kind !== undefined && field === undefined) return kind.names.indexOf(thing) + 1;
  const own = kind?.terms[field ?? ''];
  if (own !== undefined) return [own, { self: thing }];
  return [terms[name] ?? fail(name, 'is a name that nobody knows'), binding];
}

/* The grammar of formulas. */

const TOKEN = /\s*(<=|>=|!=|=>|[-+*/()<>=,]|\d+|[A-Za-z][\w.]*)/y;
const LEVELS = [['=>'], ['or'], ['and'], ['=', '!=', '<', '<=', '>', '>='], ['+', '-'], ['*', '/']];
const [IMPLICATION, COMPARISON] = [0, 3];

/**
 * A parsed formula: `a + max(b, 1)` is ['+', 'a', ['max', 'b', 1]].
 * @typedef {string | number | boolean | [string, ...any[]]} Tree
 */

/** @type {(text: string) => Tree} as `r.end <= max(s.now, 1) and not r.isOpen` */
export function treeOf(text) {
  const tokens = tokensOf(text);
  let at = 0;
  const next = () => tokens[at++] ?? fail(text, 'ends too early');
  const expect = (/** @type {string} */ token) =>
    next() === token || fail(text, `needs ${token} before ${tokens.slice(at).join(' ')}`);
  /** @type {(level: number) => Tree} */
  const level = (n) => {
    const operators = LEVELS[n];
    if (operators === undefined) return atom();
    if (n === COMPARISON && tokens[at] === 'not') return ['not', (at++, level(n))];
    let left = level(n + 1);
    while (operators.includes(tokens[at] ?? '')) {
      const operator = next();
      // An implication is right-associative.
      left = [operator, left, level(n === IMPLICATION ? n : n + 1)];
    }
    return left;
  };
  /** @type {() => Tree} */
  const atom = () => {
    const token = next();
    if (token === '(') return before(')');
    if (token === 'if') return ['if', before('then'), before('else'), level(0)];
    if (tokens[at] === '(') return most(token);
    if (token === 'true' || token === 'false') return token === 'true';
    return /^\d+$/.test(token) ? Number(token) : token;
  };
  const before = (/** @type {string} */ end) => {
    const inner = level(0);
    expect(end);
    return inner;
  };
  /** The maximum or the minimum of several. */
  /** @type {(name: string) => Tree} */
  const most = (name) => {
    if (name !== 'max' && name !== 'min') fail(text, `knows no ${name}()`);
    expect('(');
    const all = [level(0)];
    while (tokens[at] === ',') all.push((at++, level(0)));
    expect(')');
    return [name, ...all];
  };
  const whole = level(0);
  return at === tokens.length ? whole : fail(text, `does not go on with ${tokens[at]}`);
}

/** @type {(text: string) => string[]} */
function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const from = TOKEN.lastIndex;
    tokens.push(TOKEN.exec(text)?.[1] ?? fail(text, `has something odd at ${from}`));
  }
  return tokens;
}

/* A formula in the language of the solver, SMT-LIB. */

/** @type {Texts} */
const OPERATORS = { '!=': 'distinct', '/': 'div', if: 'ite' };

/**
 * @param {string} text
 * @param {(name: string) => string} naming maps a name to a term of the solver
 */
export const formula = (text, naming) => smtOf(treeOf(text), naming);

/** @type {(tree: Tree, naming: (name: string) => string) => string} */
function smtOf(tree, naming) {
  if (typeof tree === 'string') return naming(tree);
  if (typeof tree !== 'object') return String(tree);
  const [operator, ...parts] = tree;
  const terms = parts.map((part) => smtOf(part, naming));
  const than = operator === 'max' ? '>=' : '<=';
  if (operator !== 'max' && operator !== 'min') {
    return `(${[OPERATORS[operator] ?? operator, ...terms].join(' ')})`;
  }
  return terms.reduce((found, other) => `(ite (${than} ${found} ${other}) ${found} ${other})`);
}
