/**
 * From a command line to an exit code: finds the command, runs it, words what went wrong.
 *
 * Promise: never rejects. When it answers, all output is through; when the reader of the output
 * has gone it stops and says nothing.
 */
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { shown } from '../shown.js';
import { helpHint, quoted, usageFault, type Command } from './command.js';
import { COMMANDS } from './commands/index.js';
import { helpOf, helpOfAll, helpOfFamily } from './help.js';
import { nearest, suggestion } from './nearest.js';
import { readOptions } from './options.js';
import type { ExitCode, Surroundings } from './surroundings.js';
import { Terminal, isBrokenPipe } from './terminal.js';
import { versionOf } from './version.js';

const HELP_OPTIONS: readonly string[] = ['--help', '-h'];
const VERSION_WORDS: readonly string[] = ['--version', '-v', '-V'];

export async function run(world: Surroundings): Promise<ExitCode> {
  const terminal = new Terminal(world);
  try {
    return await dispatch(world, terminal);
  } catch (error) {
    // The reader of `| head` has what it wanted.
    if (isBrokenPipe(error)) return 0;
    return report(error, terminal);
  }
}

async function dispatch(world: Surroundings, terminal: Terminal): Promise<ExitCode> {
  const { args } = world;
  const [first = ''] = args;
  if (VERSION_WORDS.includes(first)) return shownLines(terminal, [versionOf(world.program)]);
  if (asksForHelp(args)) return shownLines(terminal, helpAbout(withoutHelpWords(args)));
  const members = familyOf(first);
  if (args.length === 0 || (args.length === 1 && members.length > 0)) {
    // Nothing is asked yet: the help, but not as a result.
    await terminal.say(helpAbout(args).join('\n'));
    return 2;
  }
  const found = commandOf(args);
  const options = readHinted(found.command, found.args);
  return found.command.run({ options, terminal, env: world.env });
}

/** Wherever it stands among the options: who asks for help may have the rest wrong. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const options = end < 0 ? args : args.slice(0, end);
  const [first = '', second] = args;
  const isCommand = first === 'help' || (second === 'help' && familyOf(first).length > 0);
  return isCommand || options.some((word) => HELP_OPTIONS.includes(word));
}

function withoutHelpWords(args: readonly string[]): string[] {
  return args.filter((word) => word !== 'help' && !HELP_OPTIONS.includes(word));
}

/** The help of a command, of the commands with a common first word, or of all. */
function helpAbout(args: readonly string[]): string[] {
  const [first, second] = args;
  if (first === undefined) return helpOfAll(COMMANDS);
  const members = familyOf(first);
  const isFamily = members.length > 0 && (second === undefined || second.startsWith('-'));
  return isFamily ? helpOfFamily(first, members) : helpOf(commandOf(args).command);
}

async function shownLines(terminal: Terminal, lines: readonly string[]): Promise<ExitCode> {
  await terminal.print(...lines);
  return 0;
}

/** The commands of two words that begin with this one. */
function familyOf(first: string): readonly Command[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
}

/** The command of one word or of two. */
function commandOf(args: readonly string[]): { command: Command; args: readonly string[] } {
  const [first = '', second = ''] = args;
  for (const [name, used] of [
    [`${first} ${second}`, 2],
    [first, 1],
  ] as const) {
    const command = COMMANDS.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, args: args.slice(used) };
  }
  throw unknownCommand(first, second);
}

function unknownCommand(first: string, second: string): SnowflakeError {
  if (first.startsWith('-')) {
    const name = nearest(first, ['--help', '--version']);
    const advice =
      name === undefined
        ? 'Options follow the command; see snowflake --help.'
        : `Did you mean ${name}?`;
    return usageFault(`Expected a command first, got the option ${quoted(first)}. ${advice}`);
  }
  const members = familyOf(first).map(({ name }) => name);
  if (members.length === 0) {
    const known = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!));
    return usageFault(`There is no command ${quoted(first)}. ${suggestion(first, [...known])}`);
  }
  if (second.startsWith('-')) {
    return usageFault(`\`${first}\` is said with one more word: ${members.join(', ')}.`);
  }
  // By the second words: the first, which they share, would make any two look close.
  const advice = suggestion(second, seconds(members));
  return usageFault(`There is no command ${quoted(`${first} ${second}`)}. ${advice}`);
}

const seconds = (names: readonly string[]): string[] => names.map((name) => name.split(' ')[1]!);

function readHinted(command: Command, args: readonly string[]) {
  try {
    return readOptions(command, args);
  } catch (error) {
    throw usageFault(`${(error as Error).message}\n${helpHint(command.name)}`);
  }
}

async function report(error: unknown, terminal: Terminal): Promise<ExitCode> {
  const isOurs = isSnowflakeError(error);
  const rest = ` ${isOurs ? error.message : unforeseen(error)}`;
  await terminal.say({ colour: 'red', text: 'snowflake:', rest });
  if (!isOurs) return 1;
  return error.code === 'CONFIG_INVALID' ? 2 : 1;
}

/** What the system refuses is the operator's to mend; anything else is a fault of ours. */
function unforeseen(error: unknown): string {
  if (!(error instanceof Error)) return `an unexpected fault: ${shown(error)}`;
  const isOfSystem = /^E[A-Z0-9]+$/.test((error as { code?: string }).code ?? '');
  return isOfSystem ? error.message : `an unexpected fault. ${error.stack}`;
}
