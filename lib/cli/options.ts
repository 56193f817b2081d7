/**
 * The command line of one command, read and checked.
 *
 * Promise: an option that is not known is refused with the nearest one that is; a number is a
 * whole number.
 */
import { parseArgs } from 'node:util';
import { helpHint, quoted, usageFault, type Command, type OptionSpecs } from './command.js';
import { suggestion } from './nearest.js';

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

function parsed(specs: OptionSpecs, args: readonly string[]) {
  const options = Object.entries(specs).map(([name, { value, multiple = false }]) => {
    const type: 'string' | 'boolean' = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple }] as const;
  });
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries(options),
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw argumentFault((error as Error).message, Object.keys(specs));
  }
}

function argumentFault(message: string, names: readonly string[]) {
  const unknown = /^Unknown option '-{1,2}([^'=\s]*)/.exec(message)?.[1];
  if (unknown === undefined) return usageFault(message);
  return usageFault(
    `There is no option ${quoted(`--${unknown}`)}. ` +
      suggestion(
        `--${unknown}`,
        names.map((name) => `--${name}`),
      ),
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
