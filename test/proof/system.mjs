// @ts-check
/**
 * Reads the systems that prove.mjs proves something of: test/proof/*.rules. A line that is indented
 * further goes on with the one before, and what follows `#` is a comment.
 *
 *     system lease                        here another one begins
 *     state now longest hasEnded          variables: whole numbers, or with `is` or `has` a truth
 *     term later = now + longest          short for a formula
 *     kind range: r1 r2 r3, ...           things of which there are any number; fields, terms
 *     always, first                       what never changes is so; and how the state begins
 *     rule renewed: s of server (file)    what may happen by a server, and what of lib does so
 *       given ttl                         any value
 *       let end = s.now + ttl             short for what is reckoned before the change
 *       when s.isBorn                     only then
 *       then s.end = end                  the change; `every q of range: q.end`: one of each
 *       broken name: find -> put: lost    with this edit the proof of the invariant `lost` is lost
 *     invariant, promise                  formulas about any things, each letter another one
 *     possible                            a state that keeps the invariants, as a check of them
 *     survives name: why                  a broken rule elsewhere, of which the proof needs nothing
 */
import { readFileSync } from 'node:fs';

/**
 * @typedef {'Int' | 'Bool'} Sort
 * @typedef {Record<string, string>} Texts
 * @typedef {{ letters: Texts, formula: string }} Statement letters stand for things of a kind
 * @typedef {{ find: string, put: string, loses: string }} Edit
 *
 * @typedef {object} Kind
 * @property {string[]} names those that stand for any number
 * @property {string[]} checked what the invariants are asked of, after a rule
 * @property {string[]} acting
 * @property {string[]} fields
 * @property {Texts} terms
 *
 * @typedef {object} Rule
 * @property {Texts} letters
 * @property {string} [file]
 * @property {string[]} lines all but the broken ones
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

/** Each line with those that are indented below it, which may go on in lines indented further. */
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

/** `isFree` and `hasEnded` are truths, all else are whole numbers. */
/** @type {(name: string) => Sort} */
export const sortOf = (name) => (/(^|\.)(is|has)[A-Z]/.test(name) ? 'Bool' : 'Int');

/* From a formula to the language of the solver, SMT-LIB. */

const TOKEN = /\s*(<=|>=|!=|=>|[-+*/()<>=,]|\d+|[A-Za-z][\w.]*)/y;
const LEVELS = [['=>'], ['or'], ['and'], ['=', '!=', '<', '<=', '>', '>='], ['+', '-'], ['*', '/']];
const [IMPLICATION, COMPARISON] = [0, 3];
/** @type {Texts} */
const OPERATORS = { '!=': 'distinct', '/': 'div' };

/**
 * @param {string} text as `r.end <= max(s.now, 1) and not r.isOpen`
 * @param {(name: string) => string} naming from a name in it to a term of the solver
 */
export function formula(text, naming) {
  const tokens = tokensOf(text);
  let at = 0;
  const next = () => tokens[at++] ?? fail(text, 'ends too early');
  const expect = (/** @type {string} */ token) =>
    next() === token || fail(text, `needs ${token} before ${tokens.slice(at).join(' ')}`);
  /** @type {(level: number) => string} */
  const level = (n) => {
    const operators = LEVELS[n];
    if (operators === undefined) return atom();
    if (n === COMPARISON && tokens[at] === 'not') return `(not ${(at++, level(n))})`;
    let left = level(n + 1);
    while (operators.includes(tokens[at] ?? '')) {
      const operator = next();
      // An implication reads from the right.
      const right = level(n === IMPLICATION ? n : n + 1);
      left = `(${OPERATORS[operator] ?? operator} ${left} ${right})`;
    }
    return left;
  };
  const atom = () => {
    const token = next();
    if (token === '(') return before(')');
    if (token === 'if') return `(ite ${before('then')} ${before('else')} ${level(0)})`;
    if (tokens[at] === '(') return most(token);
    return /^(\d+|true|false)$/.test(token) ? token : naming(token);
  };
  const before = (/** @type {string} */ end) => {
    const inner = level(0);
    expect(end);
    return inner;
  };
  /** The largest or the smallest of some. */
  const most = (/** @type {string} */ name) => {
    const than = { max: '>=', min: '<=' }[name] ?? fail(text, `knows no ${name}()`);
    expect('(');
    let found = level(0);
    while (tokens[at] === ',') {
      at++;
      const other = level(0);
      found = `(ite (${than} ${found} ${other}) ${found} ${other})`;
    }
    expect(')');
    return found;
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
