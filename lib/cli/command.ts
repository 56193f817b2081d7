/**
 * A command is data, such as names and options, and one function. Parsing, help and suggestions all
 * read this data, so they cannot disagree. This file imports no command.
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../core/clock.js';
import { isDecimalId } from '../core/text/decimal.js';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import { formatUrl } from '../messages.js';
import { later, nearest, type Check } from '../options.js';
import {
  lineChunks,
  type ExitCode,
  type Environment,
  type Painted,
  type Terminal,
} from './terminal.js';

export interface OptionSpecs {
  readonly [name: string]: {
    /** The name of the value in the help; absent for an option without a value. */
    readonly value?: string;
    readonly says: string;
    /** The option may be given several times. */
    readonly multiple?: boolean;
    /** The command does not run without the option. */
    readonly isRequired?: boolean;
  };
}

export interface Call {
  readonly options: Options;
  readonly terminal: Terminal;
  readonly env: Environment['env'];
  /** The text of a file of this package; undefined if the file is missing. */
  packed(path: string): string | undefined;
}

export interface Command {
  /** `decode`, or with a subcommand: `registry inspect`. */
  readonly name: string;
  readonly summary: string;
  /** Paragraphs of the help of this command. */
  readonly says?: readonly string[];
  /** The arguments that are not options. */
  readonly words?: { readonly name: string; readonly min: number; readonly max: number };
  readonly options: OptionSpecs;
  readonly examples: readonly string[];
  run(call: Call): Promise<ExitCode>;
}

/** A mistake in the command line, as opposed to a failure of the command. */
export function usageFault(message: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', message);
}

export const DOCS_URL = 'https://github.com/nestjs-snowflake/nestjs-snowflake/blob/main/docs';

/**
 * Every connection string with a password contains one of the first three parts. Every API key and
 * every random secret contains this many word characters in a row.
 */
const MAY_BE_SECRET = /:\/\/|@|=|\w{32}/;

/** Quotes an argument for a message, and hides an argument that may contain a password or a key. */
export function quoted(text = ''): string {
  if (!MAY_BE_SECRET.test(text)) return JSON.stringify(text);
  const isUrl = text.includes('://');
  return isUrl ? formatUrl(text) : 'a text that is not shown since it may hold a password';
}

/*
 * Reads and checks the arguments of one command. For an unknown option the message suggests the
 * closest one that exists.
 */

export const HELP_OPTION: OptionSpecs = { help: { says: 'show this text' } };

/** The command line, read and checked. */
export class Options {
  /** @param words the arguments that are not options */
  constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    readonly words: readonly string[],
  ) {}

  flag(name: string): boolean {
    return this.given[name] === true;
  }

  text(name: string): string | undefined {
    return this.given[name] as string | undefined;
  }

  texts(name: string): readonly string[] {
    return (this.given[name] as string[] | undefined) ?? [];
  }

  /** A whole number from 0 up. @throws SnowflakeError CONFIG_INVALID */
  whole(name: string, check?: Check): number | undefined {
    return this.checked(name, readWhole, check);
  }

  /** A duration in ms. @throws SnowflakeError CONFIG_INVALID */
  duration(name: string, check?: Check): number | undefined {
    return this.checked(name, readDuration, check);
  }

  private checked(name: string, read: typeof readWhole, check = later): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = read(`--${name}`, text);
    const [fault] = check(`--${name}`, value);
    if (fault === undefined) return value;
    throw usageFault(fault.replaceAll('`', '').replace(' (number)', ''));
  }
}

/** @throws SnowflakeError CONFIG_INVALID */
export function readWhole(label: string, text: string): number {
  const value = wholeOf(text);
  if (value !== undefined) return value;
  throw usageFault(`Expected ${label} to be a whole number from 0 up, got ${quoted(text)}.`);
}

/** @throws SnowflakeError CONFIG_INVALID */
export function readOptions(command: Command, args: readonly string[]): Options {
  const specs = { ...command.options, ...HELP_OPTION };
  const { values, positionals } = parse(specs, args);
  checkArguments(command, values, positionals);
  return new Options(values, positionals);
}

/** parseArgs reads a negative number as an option, but no option here starts with a digit. */
const NEGATIVE = /^-\d/;
const SHIELD = '\0';

/** Removes the shield from the words of parsed arguments. */
function bare<T>(parsed: T): T {
  const unshielded = (_: string, value: unknown): unknown =>
    typeof value === 'string' && value.startsWith(SHIELD) ? value.slice(1) : value;
  return JSON.parse(JSON.stringify(parsed), unshielded) as T;
}

function parse(specs: OptionSpecs, args: readonly string[]) {
  const options = Object.entries(specs).map(([name, { value, multiple = false }]) => {
    const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple }] as const;
  });
  try {
    const { values, positionals } = parseArgs({
      args: args.map((word) => (NEGATIVE.test(word) ? SHIELD + word : word)),
      options: Object.fromEntries(options),
      allowPositionals: true,
      strict: true,
    });
    return bare({ values: { ...values }, positionals });
  } catch (error) {
    throw argumentFault((error as Error).message, Object.keys(specs));
  }
}

function argumentFault(message: string, names: readonly string[]) {
  const [, dashes, unknown] = /^Unknown option '(-{1,2})([^'=\s]*)/.exec(message) ?? [];
  if (unknown === undefined) return usageFault(message);
  // All options begin with the same dashes, so the dashes would make any two look alike.
  const meant = nearest(unknown, names);
  const known = names.map((name) => `--${name}`).join(', ');
  return usageFault(
    `There is no option ${quoted(dashes + unknown)}. ` +
      (meant === undefined ? `The options are ${known}.` : `Did you mean --${meant}?`),
  );
}

/** One message names all missing parts. */
function checkArguments(
  { name, words, options }: Command,
  values: Readonly<Record<string, unknown>>,
  given: readonly string[],
): void {
  const max = words?.max ?? 0;
  if (given.length > max) {
    const takes = words === undefined ? 'only options' : `only ${max} <${words.name}>`;
    throw usageFault(`Unexpected argument ${quoted(given[max])}: \`${name}\` takes ${takes}.`);
  }
  const missing = Object.entries(options)
    .filter(([option, { isRequired }]) => isRequired && !values[option])
    .map(([option, { value }]) => `--${option} <${value}>`);
  const isShort = words !== undefined && (given.length < words.min || given.includes(''));
  if (isShort) missing.push(`<${words.name}>`);
  if (missing.length > 0) throw usageFault(`Missing: ${missing.join(', ')}.`);
}

/**
 * Reads a count as a decimal number without sign, leading zero or spaces. Returns undefined for any
 * other string, and for a number that is not exact.
 */
export function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return isDecimalId(text) && Number.isSafeInteger(value) ? value : undefined;
}

/*
 * Times as operators write and read them.
 *
 * Guarantee: a time without a time zone is rejected, and every time in the output has its zone.
 */

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})?)?$/;
/** Unix milliseconds have fewer digits than this. */
const MS_END = 1e15;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365.25 * DAY_MS;
const UNITS_MS = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

/** Reads `30s` or `5m`; a plain number is ms. @throws SnowflakeError CONFIG_INVALID */
export function readDuration(label: string, text: string): number {
  const [, count = '', unit = 'ms'] = /^(\d+) ?(ms|[smhdw])?$/.exec(text) ?? [];
  const ms = (wholeOf(count) ?? NaN) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (Number.isSafeInteger(ms)) return ms;
  throw usageFault(`Expected ${label} to be a duration like 30s or 5m, got ${quoted(text)}.`);
}

/**
 * The first and the last millisecond of the given day, minute or second.
 * @throws SnowflakeError CONFIG_INVALID
 */
export function readTime(label: string, text: string) {
  if (text === 'now') return moment(systemClock.now());
  const ms = wholeOf(text);
  if (ms !== undefined && ms < MS_END) return moment(ms);
  const parts = ISO.exec(text);
  const firstMs = Date.parse(text.replace(' ', 'T'));
  if (parts === null || Number.isNaN(firstMs) || !isDayOfMonth(parts)) {
    throw usageFault(
      `Expected ${label} to be a time with its zone such as 2026-11-01T08:30:00Z, a date ` +
        `(UTC), Unix milliseconds or now, got ${quoted(text)}.`,
    );
  }
  const [, , , , time, seconds, fraction, zone] = parts;
  if (time !== undefined && zone === undefined) {
    throw usageFault(`${label} has no time zone. Did you mean ${text.replace(' ', 'T')}Z?`);
  }
  if (time === undefined) return { firstMs, lastMs: firstMs + DAY_MS - 1 };
  if (fraction !== undefined) return moment(firstMs);
  const spanMs = seconds === undefined ? MINUTE_MS : SECOND_MS;
  return { firstMs, lastMs: firstMs + spanMs - 1 };
}

const moment = (ms: number) => ({ firstMs: ms, lastMs: ms });

/** Date.parse reads February 30 as March 2. */
function isDayOfMonth([, year, month, day]: readonly (string | undefined)[]): boolean {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() === Number(day);
}

/** ISO 8601; a time too far away for Date appears in milliseconds. */
export function utcText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

/** The same time in the time zone of this host: 2026-11-21 17:11:20.123 +08:00. */
export function localText(ms: number): string {
  const offsetMin = -new Date(ms).getTimezoneOffset();
  const side = offsetMin < 0 ? '-' : '+';
  const two = (number: number) => String(number).padStart(2, '0');
  const minutes = Math.abs(offsetMin);
  const zone = `${side}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${utcText(ms + offsetMin * MINUTE_MS)
    .replace('T', ' ')
    .replace('Z', '')} ${zone}`;
}

/** A rounded duration: 48 s, 12 min, 69.7 years. */
export function spanText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`;
  if (ms < 2 * YEAR_MS) return `${Math.round(ms / DAY_MS)} days`;
  return `${(ms / YEAR_MS).toFixed(1)} years`;
}

/** Prints an object with --json, and lines without it. */
export async function show(
  { options, terminal }: Call,
  record: object,
  ...lines: readonly (string | Painted)[]
): Promise<0> {
  if (options.flag('json')) await terminal.printJson(record);
  else await terminal.print(...lines);
  return 0;
}

/**
 * Answers each argument, or without arguments each line of standard input.
 *
 * Guarantee: memory holds one chunk. A fault names the number of its line, and the other lines are
 * still answered.
 *
 * @param answerTo returns lines to print, or the fault
 */
export async function answerLines(
  call: Call,
  what: string,
  answerTo: (text: string) => readonly string[] | string,
): Promise<ExitCode> {
  const { terminal, options } = call;
  const { words } = options;
  let lineNumber = 0;
  let count = 0;
  let code: ExitCode = 0;
  for await (const chunk of words.length > 0 ? [words] : lineChunks(terminal.stdin)) {
    const said: string[] = [];
    const faults: string[] = [];
    for (const line of chunk) {
      lineNumber++;
      const text = line.trim();
      if (text === '') continue;
      count++;
      const answer = answerTo(text);
      if (typeof answer !== 'string') said.push(...answer);
      else faults.push(words.length > 0 ? answer : `line ${lineNumber}: ${answer}`);
    }
    await terminal.print(...said);
    if (faults.length > 0) code = 1;
    for (const fault of faults) await failed(call, fault);
    if (terminal.isUnread) break;
  }
  return count > 0 ? code : failed(call, `there are no ${what} on standard input.`);
}

/** Reports why a command failed. @returns its exit code */
export async function failed({ terminal }: Call, reason: string): Promise<1> {
  await terminal.say(`snowflake: ${reason}`);
  return 1;
}

/** Runs a function, and reports its error as a mistake in the command line. */
export function asUsage<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (isSnowflakeError(error)) throw usageFault(error.message);
    throw error;
  }
}
