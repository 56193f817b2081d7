/**
 * A command is data, names and options, and one function. Parsing, help and suggestions all read
 * this data, so they cannot disagree. This file imports no command.
 */
import { parseArgs } from 'node:util';
import { isDecimalId } from '../core/text/decimal.js';
import { SnowflakeError } from '../errors.js';
import { formatUrl } from '../messages.js';
import { nearest } from '../options.js';
import type { ExitCode, Environment, Terminal } from './terminal.js';

interface OptionSpec {
  /** The name of the value in the help; absent for an option without a value. */
  readonly value?: string;
  readonly says: string;
  /** The option may be given several times. */
  readonly multiple?: boolean;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The arguments after a command that are not options. */
interface WordSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** The command line, read and checked. */
export interface Options {
  /** The arguments that are not options. */
  readonly words: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  /** @throws SnowflakeError CONFIG_INVALID without the option */
  required(name: string): string;
  /** A whole number from 0 up. @throws SnowflakeError CONFIG_INVALID */
  whole(name: string): number | undefined;
}

export interface Call {
  readonly options: Options;
  readonly terminal: Terminal;
  readonly env: Environment['env'];
}

export interface Command {
  /** `decode`, or with a subcommand: `registry inspect`. */
  readonly name: string;
  readonly summary: string;
  /** Paragraphs of the help of this command. */
  readonly says?: readonly string[];
  readonly words?: WordSpec;
  readonly options: OptionSpecs;
  readonly examples: readonly string[];
  run(call: Call): Promise<ExitCode>;
}

/** A mistake in the command line, as opposed to a command that fails. */
export function usageFault(message: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', message);
}

/** Says where to find help, on a line of its own after the message. */
export function helpHint(name: string): string {
  return `See: snowflake ${name} --help`;
}

/**
 * Every connection string with a password contains one of the first three; every API key and every
 * random secret contains as many characters in a row.
 */
const MAY_BE_SECRET = /:\/\/|@|=|\w{32}/;

/** Formats an argument for a message, and hides one that may be a URL with a password, or a key. */
export function quoted(text = ''): string {
  return MAY_BE_SECRET.test(text) ? formatUrl(text) : JSON.stringify(text);
}

/*
 * Reads and checks the arguments of one command. For an unknown option the message suggests the
 * closest one that exists.
 */

export const HELP_OPTION: OptionSpecs = { help: { says: 'show this text' } };

class ReadOptions implements Options {
  constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    readonly words: readonly string[],
    private readonly name: string,
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

  required(name: string): string {
    const text = this.text(name);
    if (text !== undefined && text !== '') return text;
    throw usageFault(`\`${this.name}\` needs --${name}.\n${helpHint(this.name)}`);
  }

  whole(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : readWhole(`--${name}`, text);
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
  checkWords(command, positionals);
  return new ReadOptions(values, positionals, command.name);
}

/** parseArgs takes a negative number for an option, but no option here starts with a digit. */
const NEGATIVE = /^-\d/;
const SHIELD = '\0';

const bareWord = (word: string): string => (word.startsWith(SHIELD) ? word.slice(1) : word);

function bare(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const bareValue = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(bareValue) : isText(value) ? bareWord(value) : value;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, bareValue(value)]),
  );
}

const isText = (value: unknown): value is string => typeof value === 'string';

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
    return { values: bare(values), positionals: positionals.map(bareWord) };
  } catch (error) {
    throw argumentFault((error as Error).message, Object.keys(specs));
  }
}

function argumentFault(message: string, names: readonly string[]) {
  const [, dashes, unknown] = /^Unknown option '(-{1,2})([^'=\s]*)/.exec(message) ?? [];
  if (unknown === undefined) return usageFault(message);
  // The dashes, which all options share, would make any two look alike.
  const meant = nearest(unknown, names);
  const known = names.map((name) => `--${name}`).join(', ');
  return usageFault(
    `There is no option ${quoted(dashes + unknown)}. ` +
      (meant === undefined ? `The options are ${known}.` : `Did you mean --${meant}?`),
  );
}

function checkWords({ name, words }: Command, given: readonly string[]): void {
  const max = words?.max ?? 0;
  if (given.length > max) {
    const takes = words === undefined ? 'takes only options' : `takes only ${max} <${words.name}>`;
    throw usageFault(`\`${name}\` ${takes}; ${quoted(given[max])} is one argument too many.`);
  }
  if (words !== undefined && given.length < words.min) {
    throw usageFault(`\`${name}\` needs a <${words.name}>.`);
  }
}

/**
 * Reads a count in the grammar of decimal texts: no sign, no leading zero, nothing around it.
 * Returns undefined for any other text, and for a number that is not exact.
 */
export function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return isDecimalId(text) && Number.isSafeInteger(value) ? value : undefined;
}
