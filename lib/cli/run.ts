/**
 * Finds and runs the command, prints help, reports failures and returns the exit code.
 *
 * Guarantee: it never rejects, and it resolves after all output is written. A closed output pipe
 * does not change the exit code.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { isSnowflakeError, type SnowflakeError } from '../errors.js';
import { format } from '../messages.js';
import { nearest, suggestion } from '../options.js';
import {
  DOCS_URL,
  HELP_OPTION,
  quoted,
  readOptions,
  usageFault,
  type Command,
  type OptionSpecs,
} from './command.js';
import { COMMAND_GROUPS, COMMANDS } from './commands/index.js';
import { Terminal, tableLines, wrapped, type Environment, type ExitCode } from './terminal.js';

const HELP_OPTIONS: readonly string[] = ['--help', '-h'];
const VERSION_WORDS: readonly string[] = ['--version', '-v', '-V'];

export async function run(world: Environment): Promise<ExitCode> {
  const terminal = new Terminal(world);
  try {
    return await dispatch(world, terminal);
  } catch (error) {
    return report(error, terminal, world.program);
  }
}

async function dispatch(world: Environment, terminal: Terminal): Promise<ExitCode> {
  const { args } = world;
  const [first = ''] = args;
  if (VERSION_WORDS.includes(first)) {
    const text = packedFile(world.program, 'package.json') ?? '{}';
    const { version = 'unknown' } = JSON.parse(text) as { version?: string };
    await terminal.print(version);
    return 0;
  }
  if (asksForHelp(args)) {
    const about = args.filter((word) => word !== 'help' && !HELP_OPTIONS.includes(word));
    await terminal.print(...helpAbout(about));
    return 0;
  }
  const members = familyOf(first);
  if (args.length === 0 || (args.length === 1 && members.length > 0 && !isCommand(first))) {
    // Without a command the help appears on standard error.
    await terminal.say(helpAbout(args).join('\n'));
    return 2;
  }
  const found = commandOf(args);
  const options = readHinted(found.command, found.args);
  const packed = (path: string) => packedFile(world.program, path);
  return found.command.run({ options, terminal, env: world.env, packed });
}

/** The help option works at any place, because the other options may be wrong. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const options = end < 0 ? args : args.slice(0, end);
  const [first = '', second] = args;
  const isHelp = first === 'help' || (second === 'help' && familyOf(first).length > 0);
  return isHelp || options.some((word) => HELP_OPTIONS.includes(word));
}

/** The help of a command, of one with its subcommands, or of all commands. */
function helpAbout(args: readonly string[]): string[] {
  const [first, second] = args;
  if (first === undefined) {
    return [...overview('snowflake', COMMAND_GROUPS), '  snowflake --version', '', ...NOTES];
  }
  const members = familyOf(first);
  const isAlone = second === undefined || second.startsWith('-');
  if (members.length === 0 || !isAlone) return helpOf(commandOf(args).command);
  const family = overview(`snowflake ${first}`, { Commands: members });
  return isCommand(first) ? [...helpOf(commandOf(args).command), '', ...family] : family;
}

/** The subcommands of a command; usually empty. */
function familyOf(first: string): readonly Command[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
}

/** True if a command can run without a subcommand. */
function isCommand(first: string): boolean {
  return COMMANDS.some(({ name }) => name === first);
}

/** Finds the command, with or without a subcommand. */
function commandOf(args: readonly string[]): { command: Command; args: readonly string[] } {
  const [first = '', second = ''] = args;
  for (const used of [2, 1]) {
    const command = COMMANDS.find(({ name }) => name === args.slice(0, used).join(' '));
    if (command !== undefined) return { command, args: args.slice(used) };
  }
  throw unknownCommand(first, second);
}

function unknownCommand(first: string, second: string): SnowflakeError {
  if (first.startsWith('-')) {
    const advice = `Options follow the command. ${suggestion(first, ['--help', '--version'])}`;
    return usageFault(`Expected a command first, got the option ${quoted(first)}. ${advice}`);
  }
  const members = familyOf(first).map(({ name }) => name);
  if (members.length === 0) {
    const known = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!));
    return usageFault(`There is no command ${quoted(first)}. ${suggestion(first, [...known])}`);
  }
  if (second.startsWith('-')) {
    return usageFault(`\`${first}\` needs a subcommand: ${members.join(', ')}.`);
  }
  // All subcommands begin with the same word, so that word would make any two look alike.
  const ends = members.map((name) => name.split(' ')[1]!);
  const meant = nearest(second, ends);
  const all = `Choose one of ${members.join(', ')}.`;
  const advice = meant === undefined ? all : `Did you mean ${first} ${meant}?`;
  return usageFault(`There is no command ${quoted(`${first} ${second}`)}. ${advice}`);
}

function readHinted(command: Command, args: readonly string[]) {
  try {
    return readOptions(command, args);
  } catch (error) {
    throw usageFault(`${(error as Error).message}\nSee: snowflake ${command.name} --help`);
  }
}

async function report(
  error: unknown,
  terminal: Terminal,
  program: string | undefined,
): Promise<ExitCode> {
  const isOurs = isSnowflakeError(error);
  const rest = ` ${isOurs ? installable(error.message, program) : unforeseen(error)}`;
  await terminal.say({ colour: 'red', text: 'snowflake:', rest });
  if (!isOurs) return 1;
  return error.code === 'CONFIG_INVALID' ? 2 : 1;
}

/** npx installs such a package outside of any project, and finds no installed client there. */
function installable(message: string, program = ''): string {
  if (!/[\\/]_npx[\\/]/.test(program)) return message;
  const withPackage = 'Run: npx --package nestjs-snowflake --package $1 snowflake <command>';
  return message.replace(/Run: npm install (\S+)$/, withPackage);
}

/** An operator can fix a system error. Any other error is a bug, so its stack appears. */
function unforeseen(error: unknown): string {
  if (!(error instanceof Error)) return `unexpected error: ${format(error)}`;
  const isOfSystem = /^E[A-Z0-9]+$/.test((error as { code?: string }).code ?? '');
  return isOfSystem ? error.message : `unexpected error. ${error.stack}`;
}

/** The number of folders from dist/esm/cli/main.js up to the package. */
const FOLDERS_UP = 4;

/** The text of a file in the package that contains the program. */
function packedFile(program: string | undefined, path: string): string | undefined {
  try {
    // npm installs the program as a symbolic link.
    const folders = realpathSync(program ?? '').split(/[\\/]/);
    return readFileSync([...folders.slice(0, -FOLDERS_UP), path].join('/'), 'utf8');
  } catch {
    return undefined;
  }
}

/*
 * The help, built from the data of the commands, so it lists every command and every option.
 */

const OPTION_WIDTH = 58;
const NAME_WIDTH = 16;

const NOTES = [
  'Run',
  '  npx snowflake <command>         in a project that has the package',
  '  npx nestjs-snowflake <command>  elsewhere, or with a client of the store:',
  '  npx --package nestjs-snowflake --package redis snowflake <command>',
  '',
  'Results go to standard output, everything else to standard error.',
  'Exit codes: 0 success, 1 failure or a reported problem, 2 a wrong command line.',
  `Docs: ${DOCS_URL}/operating/command-line.md`,
];

function helpOf(command: Command): string[] {
  const { says = [], examples } = command;
  return [
    usageOf(command),
    '',
    `${command.summary}.`,
    ...says.flatMap((paragraph) => ['', ...wrapped(paragraph)]),
    '',
    'Options',
    ...tableLines(optionRows({ ...command.options, ...HELP_OPTION }), '  '),
    '',
    'Examples',
    ...examples.map((example) => `  ${example}`),
  ];
}

/** Required options come before optional ones. */
function usageOf({ name, words, options }: Command): string {
  const required = Object.entries(options).filter(([, { isRequired }]) => isRequired);
  const word = words && `<${words.name}${words.max > 1 ? '...' : ''}>`;
  return [
    `snowflake ${name}`,
    ...required.map(([option, spec]) => labelOf(option, spec)),
    '[options]',
    ...(word === undefined ? [] : [words?.min === 0 ? `[${word}]` : word]),
  ].join(' ');
}

function overview(begin: string, groups: Readonly<Record<string, readonly Command[]>>): string[] {
  return [
    `${begin} <command> [options]`,
    ...Object.entries(groups).flatMap(([title, commands]) => [
      '',
      title,
      ...commands.map(({ name, summary }) => `  ${name.padEnd(NAME_WIDTH)}  ${summary}`),
    ]),
    '',
    `  ${begin} <command> --help    options and examples of a command`,
  ];
}

const labelOf = (name: string, { value }: OptionSpecs[string]): string =>
  value === undefined ? `--${name}` : `--${name} <${value}>`;

function optionRows(specs: OptionSpecs): string[][] {
  return Object.entries(specs).flatMap(([name, spec]) => {
    const label = labelOf(name, spec);
    const required = spec.isRequired ? '; required' : '';
    const lines = wrapped(
      spec.says + required + (spec.multiple ? '; may be repeated' : ''),
      OPTION_WIDTH,
    );
    return lines.map((line, at) => [at === 0 ? label : '', line]);
  });
}
