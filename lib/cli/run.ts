/**
 * From a command line to an exit code: finds the command, runs it, words what went wrong.
 *
 * Promise: never rejects. When it answers, all output is through; when the reader of the output
 * has gone it stops and says nothing.
 */
import { isSnowflakeError, shown } from '../errors.js';
import { quoted, usageFault, type Command } from './command.js';
import { COMMANDS } from './commands/index.js';
import { helpOf, helpOfAll } from './help.js';
import { suggestion } from './nearest.js';
import { readOptions } from './options.js';
import { saidHere } from './said-here.js';
import type { ExitCode, Surroundings } from './surroundings.js';
import { Terminal, isBrokenPipe } from './terminal.js';
import { versionOf } from './version.js';

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
  const [first, ...rest] = world.args;
  if (first === undefined) {
    await terminal.say(`${helpOfAll(COMMANDS).join('\n')}\n`);
    return 2;
  }
  if (['--version', '-v'].includes(first)) return shownLines(terminal, [versionOf(world.program)]);
  const asksForHelp = ['help', '--help', '-h'].includes(first);
  if (asksForHelp && rest.length === 0) return shownLines(terminal, helpOfAll(COMMANDS));
  const { command, args } = commandOf(asksForHelp ? rest : world.args);
  if (asksForHelp) return shownLines(terminal, helpOf(command));
  const options = readHinted(command, args);
  if (options.flag('help')) return shownLines(terminal, helpOf(command));
  return command.run({ options, terminal, env: world.env });
}

async function shownLines(terminal: Terminal, lines: readonly string[]): Promise<ExitCode> {
  await terminal.print(...lines);
  return 0;
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
  const family = COMMANDS.map(({ name }) => name).filter((name) => name.startsWith(`${first} `));
  if (family.length > 0) {
    throw usageFault(`\`${first}\` is said with one more word: ${family.join(', ')}.`);
  }
  const names = COMMANDS.map(({ name }) => name);
  const firstWords = [...new Set(names.map((name) => name.split(' ')[0]!))];
  throw usageFault(`There is no command ${quoted(first)}. ${suggestion(first, firstWords)}`);
}

function readHinted(command: Command, args: readonly string[]) {
  try {
    return readOptions(command, args);
  } catch (error) {
    const hint = `See: snowflake ${command.name} --help`;
    throw usageFault(`${(error as Error).message}\n${hint}`);
  }
}

async function report(error: unknown, terminal: Terminal): Promise<ExitCode> {
  const label = terminal.paintError('red', 'snowflake:');
  if (!isSnowflakeError(error)) {
    await terminal.say(`${label} ${unforeseen(error)}\n`);
    return 1;
  }
  await terminal.say(`${label} ${saidHere(error.message)}\n`);
  return error.code === 'CONFIG_INVALID' ? 2 : 1;
}

/** What the system refuses is the operator's to mend; anything else is a fault of ours. */
function unforeseen(error: unknown): string {
  if (!(error instanceof Error)) return `an unexpected fault: ${shown(error)}`;
  const isOfSystem = /^E[A-Z0-9]+$/.test((error as { code?: string }).code ?? '');
  return isOfSystem ? error.message : `an unexpected fault. ${error.stack}`;
}
