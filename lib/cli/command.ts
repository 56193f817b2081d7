/**
 * What a command is: names and options as data, and one function.
 *
 * Promise: parsing, help and suggestions all come from this data, so that they cannot disagree.
 */
import { SnowflakeError } from '../errors.js';
import { shownUrl } from '../shown.js';
import type { Options } from './options.js';
import type { ExitCode, Surroundings } from './surroundings.js';
import type { Terminal } from './terminal.js';

export interface OptionSpec {
  /** What the help calls the value; absent for an option that takes none. */
  readonly value?: string;
  readonly says: string;
  /** May be given several times. */
  readonly multiple?: boolean;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The words behind a command that are no options. */
export interface WordSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

export interface Call {
  readonly options: Options;
  readonly terminal: Terminal;
  readonly env: Surroundings['env'];
}

export interface Command {
  /** One word or two. */
  readonly name: string;
  readonly summary: string;
  /** Paragraphs for the help of this command. */
  readonly says?: readonly string[];
  readonly words?: WordSpec;
  readonly options: OptionSpecs;
  readonly examples: readonly string[];
  run(call: Call): Promise<ExitCode>;
}

/** A command line that cannot be meant so. */
export function usageFault(message: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', message);
}

/** Where to read on; a line of its own below a fault. */
export function helpHint(name: string): string {
  return `See: snowflake ${name} --help`;
}

/** One of these is in every connection string with a password. */
const MAY_BE_URL = /:\/\/|@|=/;

/** A word of the command line as a message shows it; never what may be a URL with a password. */
export function quoted(text = ''): string {
  return MAY_BE_URL.test(text) ? shownUrl(text) : JSON.stringify(text);
}
