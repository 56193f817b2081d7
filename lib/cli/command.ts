/**
 * What a command is: names and options as data, and one function.
 *
 * Parsing, help and suggestions all read this data, so they cannot disagree. This file imports no
 * command and no parser; both import it.
 */
import { SnowflakeError } from '../errors.js';
import { shownUrl } from '../shown.js';
import type { ExitCode, Surroundings } from './surroundings.js';
import type { Terminal } from './terminal.js';

export interface OptionSpec {
  /** The name of the value in the help; absent for an option without a value. */
  readonly value?: string;
  readonly says: string;
  /** May be given several times. */
  readonly multiple?: boolean;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The arguments after a command that are not options. */
export interface WordSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

/** What was given on the command line, read and checked. */
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
  readonly env: Surroundings['env'];
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

/** Where to find help: a line of its own after the message. */
export function helpHint(name: string): string {
  return `See: snowflake ${name} --help`;
}

/**
 * Every connection string with a password contains one of the first three, every API key and every
 * random secret as many characters in a row.
 */
const MAY_BE_SECRET = /:\/\/|@|=|\w{32}/;

/** An argument as a message shows it; what may be a URL with a password, or a key, is hidden. */
export function quoted(text = ''): string {
  return MAY_BE_SECRET.test(text) ? shownUrl(text) : JSON.stringify(text);
}
