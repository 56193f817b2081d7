/**
 * Describes errors in options and requests: one sentence for each error, with the same words
 * everywhere.
 *
 * Guarantee: a message shows no store, client, or entity name, because each may contain a password.
 * It shows an option's name only if that is a word too short for a secret.
 */
import { SnowflakeError } from './errors.js';
import { format, formatUrl } from './messages.js';

/** Anything but a short word may be a secret passed as a name: keys have at least 22 characters. */
const OPTION = /^\w{1,20}$/;

/**
 * Returns the names of unknown options.
 *
 * @param known the options of `whose`; in a string, separated by commas
 * @throws SnowflakeError CONFIG_INVALID if the options are no object
 */
export function unknownNames(
  options: object,
  known: string | readonly string[],
  whose: string,
): string[] {
  if (typeof options !== 'object' || options === null) {
    const got = options === null ? 'null' : typeof options;
    throw refused([`Expected the options of ${whose} to be an object, got ${got}.`]);
  }
  const names = typeof known === 'string' ? known.split(', ') : known;
  return Object.keys(options)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const formatName = OPTION.test(name) ? `\`${name}\`` : 'of a name that is not shown';
      const meant = nearest(name, names);
      const guess = meant === undefined ? '' : `Did you mean \`${meant}\`? `;
      return `${whose} has no option ${formatName}. ${guess}The options are ${names.join(', ')}.`;
    });
}

/** The characters allowed in a name. */
export interface NameForm {
  /** A description such as `characters without spaces`. */
  readonly of: string;
  /** Matches a forbidden character. */
  readonly without: RegExp;
  readonly lengthMax?: number;
}

/** Checks the names of counters and locks. */
const VISIBLE: NameForm = { of: 'visible characters without |', without: /[\s\p{C}|]/u };

/** Does not show the text, because it may contain a password meant for another option. */
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
  const code = value.codePointAt(at)?.toString(16).toUpperCase().padStart(4, '0');
  const fault = at < 0 ? '' : `, number ${at + 1} of them is U+${code}`;
  return [`${expected}, got ${value.length}${fault}.`];
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

/** Checks numbers that a store keeps: below 2^63. */
export function bigintFaults(option: string, value: unknown, min: bigint): string[] {
  if (typeof value === 'bigint' && value >= min && value < 2n ** 63n) return [];
  return [
    `Expected \`${option}\` to be a bigint from ${min}n to 2n ** 63n - 1n, got ${format(value)}.`,
  ];
}

export const choice =
  (...choices: readonly string[]): Check =>
  (option, value) => {
    if ((choices as readonly unknown[]).includes(value)) return [];
    const list = choices.map((choice) => `'${choice}'`).join(', ');
    return [`Expected \`${option}\` to be one of ${list}, got ${format(value)}.`];
  };

export const typed =
  (type: 'string' | 'boolean' | 'function' | 'object'): Check =>
  (option, value) => {
    if (typeof value === type && value !== null && !Array.isArray(value)) return [];
    const name = type === 'object' ? 'an object' : `a ${type}`;
    return [`Expected \`${option}\` to be ${name}, got ${format(value)}.`];
  };

/** Checks an object by its methods: a clock, timers, a signal. */
export const methods =
  (...names: readonly string[]): Check =>
  (option, value) => {
    const given = Object(value) as Record<string, unknown>;
    const isObject = typeof value === 'object';
    if (isObject && names.every((name) => typeof given[name] === 'function')) return [];
    const list = names.map((name) => `${name}()`).join(', ');
    const got = value === null ? 'null' : isObject ? 'one without them' : typeof value;
    return [`Expected \`${option}\` to be an object with ${list}, got ${got}.`];
  };

export const TIMER_METHODS = ['after', 'every', 'cancel'] as const;

/** Describes the error in the value of an option. */
export type Check = (option: string, value: unknown) => string[];

export const whole =
  (...bounds: readonly [min: number, max?: number]): Check =>
  (option, value) =>
    wholeFaults(option, value, bounds);
export const named =
  (form: NameForm): Check =>
  (option, value) =>
    nameFaults(option, value, form);
/** For an option that is checked with other options, or when it is opened. */
export const later: Check = () => [];

/**
 * The options of a module, one per row: a check and a default. An option without a default is
 * required; an optional one without a value has the default undefined.
 */
export type OptionTable<O> = { readonly [N in keyof O]-?: Row<O[N]> };

/** How a URL parameter of this name is read: as text, number, or flag. */
export type Row<T = unknown> = readonly [
  check: Check,
  byDefault?: T | undefined,
  inUrl?: 'text' | 'number' | 'flag' | 'file',
];

/** The options of a table with its defaults. */
export type Completed<O, T> = {
  readonly [N in keyof O & keyof T]-?: T[N] extends readonly [Check, undefined, unknown?]
    ? O[N]
    : Exclude<O[N], undefined>;
};

/**
 * Null does not count as an omitted option: it is reported as an error.
 *
 * @param within the prefix of names in errors, such as `cron.`
 */
export function optionFaults<O extends object>(
  options: O,
  table: OptionTable<O>,
  whose: string,
  within = '',
): string[] {
  const names = Object.keys(table) as (keyof O & string)[];
  const faults = unknownNames(options, names, whose);
  for (const name of names) {
    const { 0: check, length } = table[name];
    const value = options[name];
    if (value !== undefined || length === 1) faults.push(...check(within + name, value));
  }
  return faults;
}

/** Returns the given options, with defaults for the others. */
export function readOptions<O extends object, T extends OptionTable<O>>(
  options: O,
  table: T,
  whose: string,
  within = '',
): { readonly terms: Completed<O, T>; readonly faults: string[] } {
  const faults = optionFaults(options, table, whose, within);
  const given = options as Readonly<Record<string, unknown>>;
  // Reads each option by name, since a class may define options as getters.
  const terms = Object.entries<Row>(table).map(([name, { 1: byDefault }]) => {
    return [name, given[name] === undefined ? byDefault : given[name]] as const;
  });
  return { terms: Object.fromEntries(terms) as Completed<O, T>, faults };
}

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function checkedOptions<O extends object, T extends OptionTable<O>>(
  options: O,
  table: T,
  whose: string,
  before = '',
): Completed<O, T> {
  const { terms, faults } = readOptions(options, table, whose);
  refuse(faults, before);
  return terms;
}

/** @throws SnowflakeError CONFIG_INVALID if there are any errors */
export function refuse(faults: readonly string[], before = ''): void {
  if (faults.length > 0) throw refused(faults, before);
}

/** The error for a store's URL; the faults are clauses without a period. */
export function invalidUrl(url: string, ...faults: readonly string[]): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The support URL cannot be used: ${faults.join('; ')}. It was ${formatUrl(url)}.`,
  );
}

/** @param code CONFIG_INVALID for options of a module, ARGUMENT_INVALID for those of a call */
export function refused(
  faults: readonly string[],
  before = '',
  code: 'CONFIG_INVALID' | 'ARGUMENT_INVALID' = 'CONFIG_INVALID',
): SnowflakeError {
  const message = `${before}${faults.join(' ')}`;
  return new SnowflakeError(code, message, { details: { faults } });
}

/*
 * The options that define what a store may lose: how long an old server may respond after a
 * failover, and how far the two clocks may differ.
 */

export const WINDOW_MS_MAX = 600_000;

export const windowFaults = whole(0, WINDOW_MS_MAX);

/*
 * Suggests the command or option that was probably meant, if it is close, because a wrong
 * suggestion is worse than none.
 */

/** Returns the closest of the names; undefined if none is close. */
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

/** Counts the letters to insert, remove, change, or swap. */
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
