/**
 * Says what is wrong with options and requests: one sentence for each fault, in the same words
 * wherever they are given.
 *
 * Guarantee: no store, client or name of something is shown; each may hold a password, or go on
 * with one. The name of an option is, where it is a word too short for a secret.
 */
import { SnowflakeError } from './errors.js';
import { format, formatUrl } from './messages.js';

/** A longer text, or no word, may be a secret in the place of a name: keys have 22 and more. */
const OPTION = /^\w{1,20}$/;

/**
 * The names of options that do not exist.
 *
 * @param known those of `whose`, separated by commas
 * @throws SnowflakeError CONFIG_INVALID for options that are no object
 */
export function unknownNames(options: object, known: string, whose: string): string[] {
  if (typeof options !== 'object' || options === null) {
    const got = options === null ? 'null' : typeof options;
    throw refused([`Expected the options of ${whose} to be an object, got ${got}.`]);
  }
  const names = known.split(', ');
  return Object.keys(options)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const formatName = OPTION.test(name) ? `\`${name}\`` : 'of a name that is not shown';
      const meant = nearest(name, names);
      const guess = meant === undefined ? '' : `Did you mean \`${meant}\`? `;
      return `${whose} has no option ${formatName}. ${guess}The options are ${known}.`;
    });
}

/** The characters that make a name. */
export interface NameForm {
  /** In words, as `characters without spaces`. */
  readonly of: string;
  /** Finds a character that it must not have. */
  readonly without: RegExp;
  readonly lengthMax?: number;
}

/** The names of counters and locks. */
const VISIBLE: NameForm = { of: 'visible characters without |', without: /[\s\p{C}|]/u };

/** The text itself is not shown: it may go on with a password that was meant for another place. */
export function nameFaults(
  option: string,
  value: unknown,
  { of, without, lengthMax = 128 } = VISIBLE,
): string[] {
  const isText = typeof value === 'string';
  const at = isText ? value.search(without) : -1;
  const isShort = isText && (value.length <= lengthMax || Array.from(value).length <= lengthMax);
  if (isShort && value !== '' && at < 0) return [];
  const expected = `Expected \`${option}\` to be 1 to ${lengthMax} ${of}`;
  if (!isText) return [`${expected}, got ${typeof value}.`];
  const fault = at < 0 ? '' : `, number ${at + 1} of them is ${codeOf(value.codePointAt(at)!)}`;
  return [`${expected}, got ${value.length}${fault}.`];
}

function codeOf(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Both bounds are inclusive. */
export function wholeFaults(
  option: string,
  value: unknown,
  [min, max = Infinity]: readonly [min: number, max?: number],
): string[] {
  const isWhole = typeof value === 'number' && Number.isInteger(value);
  if (isWhole && value >= min && value <= max) return [];
  const end = max === Infinity ? 'up' : `to ${max}`;
  return [`Expected \`${option}\` to be an integer from ${min} ${end}, got ${format(value)}.`];
}

/** Numbers that a store keeps: below 2^63. */
export function bigintFaults(option: string, value: unknown, min: bigint): string[] {
  if (typeof value === 'bigint' && value >= min && value < 2n ** 63n) return [];
  return [
    `Expected \`${option}\` to be a bigint from ${min}n to 2n ** 63n - 1n, got ${format(value)}.`,
  ];
}

export function choiceFaults(option: string, value: unknown, choices: readonly string[]): string[] {
  if ((choices as readonly unknown[]).includes(value)) return [];
  const list = choices.map((choice) => `'${choice}'`).join(', ');
  return [`Expected \`${option}\` to be one of ${list}, got ${format(value)}.`];
}

export function typeFaults(
  option: string,
  value: unknown,
  type: 'string' | 'boolean' | 'function' | 'object',
): string[] {
  if (typeof value === type && value !== null && !Array.isArray(value)) return [];
  const name = type === 'object' ? 'an object' : `a ${type}`;
  return [`Expected \`${option}\` to be ${name}, got ${format(value)}.`];
}

/** For what is used by its methods: a clock, timers, a signal. */
export function methodFaults(option: string, value: unknown, methods: readonly string[]): string[] {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (methods.every((method) => typeof given[method] === 'function')) return [];
  const list = methods.map((method) => `${method}()`).join(', ');
  return [`Expected \`${option}\` to be an object with ${list}, got ${typeName(value)}.`];
}

const typeName = (value: unknown): string =>
  value === null ? 'null' : typeof value === 'object' ? 'one without them' : typeof value;

export const TIMER_METHODS = ['after', 'every', 'cancel'] as const;

/** Options that are all set. */
type Complete<O, D> = Omit<O, keyof D> & {
  [N in keyof D]: N extends keyof O ? Exclude<O[N], undefined> : D[N];
};

/** The options, and the defaults of those that are absent or undefined. */
export function withDefaults<O extends object, D extends object>(
  options: O,
  defaults: D,
): Complete<O, D> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as unknown as Complete<O, D>;
}

/** @throws SnowflakeError CONFIG_INVALID unless there are no faults */
export function refuse(faults: readonly string[], before = ''): void {
  if (faults.length > 0) throw refused(faults, before);
}

/** The error for the URL of a store; its faults are clauses, each without a full stop. */
export function invalidUrl(url: string, ...faults: readonly string[]): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The support URL cannot be used: ${faults.join('; ')}. It was ${formatUrl(url)}.`,
  );
}

/** @param code CONFIG_INVALID for options of a start, ARGUMENT_INVALID for those of one call */
export function refused(
  faults: readonly string[],
  before = '',
  code: 'CONFIG_INVALID' | 'ARGUMENT_INVALID' = 'CONFIG_INVALID',
): SnowflakeError {
  const message = `${before}${faults.join(' ')}`;
  return new SnowflakeError(code, message, { details: { faults } });
}

/*
 * The options that say what a store may forget: how long an old server may answer after another one
 * has taken over, and how far their clocks may differ.
 */

export const WINDOW_MS_MAX = 600_000;

/** The fault of such an option, in words for the operator. */
export function windowFaults(name: string, value: unknown): string[] {
  return wholeFaults(name, value, [0, WINDOW_MS_MAX]);
}

/*
 * Suggests the name that was probably meant, of a command or of an option, but only if it is close:
 * a wrong suggestion is worse than none.
 */

/** The closest of the names, or undefined when none is close. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const meant = word.toLowerCase();
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(meant, name.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  // One mistake for a short word, one more for every three letters.
  const allowed = 1 + Math.floor(meant.length / 3);
  return best !== undefined && best.distance <= allowed ? best.name : undefined;
}

/** "Did you mean decode?", or all names. */
export function suggestion(word: string, names: readonly string[]): string {
  const name = nearest(word, names);
  return name === undefined ? `Choose one of ${names.join(', ')}.` : `Did you mean ${name}?`;
}

/** Counts the letters that have to be inserted, removed, changed or swapped. */
function distanceOf(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwapped =
        row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const changed = last[at - 1]! + (isSame ? 0 : 1);
      const swapped = isSwapped ? before[at - 2]! + 1 : Infinity;
      line[at] = Math.min(changed, swapped, last[at]! + 1, line[at - 1]! + 1);
    }
    before = last;
    last = line;
  }
  return last[to.length]!;
}
