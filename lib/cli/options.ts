/**
 * The command line of one command, read and checked.
 *
 * Promise: an option that is not known is refused with the nearest one that is; a number is a
 * whole number.
 */
import { parseArgs } from 'node:util';
import { helpHint, quoted, usageFault, type Command, type OptionSpecs } from './command.js';
import { nearest } from './nearest.js';

export const HELP_OPTION: OptionSpecs = { help: { says: 'show this text' } };

export class Options {
  constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    /** What stands behind the command and is no option. */
    readonly words: readonly string[],
    /** Of the command, for messages. */
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

  /** @throws SnowflakeError CONFIG_INVALID */
  required(name: string): string {
    const text = this.text(name);
    if (text !== undefined && text !== '') return text;
    throw usageFault(`\`${this.name}\` needs --${name}.\n${helpHint(this.name)}`);
  }

  /** A whole number from 0 up. @throws SnowflakeError CONFIG_INVALID */
  whole(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : readWhole(`--${name}`, text);
  }
}

/** @throws SnowflakeError CONFIG_INVALID */
export function readWhole(label: string, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw usageFault(`Expected ${label} to be a whole number from 0 up, got ${quoted(text)}.`);
}

/** @throws SnowflakeError CONFIG_INVALID */
export function readOptions(command: Command, args: readonly string[]): Options {
  const specs = { ...command.options, ...HELP_OPTION };
  const { values, positionals } = parsed(specs, args);
  checkWords(command, positionals);
  return new Options(values, positionals, command.name);
}

/** A number, which parseArgs takes for an option; nothing here has an option of one digit. */
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

function parsed(specs: OptionSpecs, args: readonly string[]) {
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
  // By the words alone: the dashes, which all share, would make any two look close.
  const meant = nearest(unknown, names);
  const known = names.map((name) => `--${name}`).join(', ');
  return usageFault(
    `There is no option ${quoted(dashes + unknown)}. ` +
      (meant === undefined ? `Known are ${known}.` : `Did you mean --${meant}?`),
  );
}

function checkWords({ name, words }: Command, given: readonly string[]): void {
  const max = words?.max ?? 0;
  if (given.length > max) {
    const takes = words === undefined ? 'takes options alone' : `takes ${max} <${words.name}>`;
    throw usageFault(`\`${name}\` ${takes}; ${quoted(given[max])} is too many.`);
  }
  if (words !== undefined && given.length < words.min) {
    throw usageFault(`\`${name}\` needs a <${words.name}>.`);
  }
}
