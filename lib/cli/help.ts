/**
 * The help texts, built from the data of the commands: every command and every option is listed
 * because it exists, none by hand.
 */
import { HELP_OPTION, type Command, type OptionSpecs } from './command.js';
import { tableLines, wrapped } from './terminal.js';

const WIDTH = 90;
const OPTION_WIDTH = 58;

const WHERE =
  'In a project that has it installed: npx snowflake. Elsewhere: npx nestjs-snowflake, because ' +
  'the package named snowflake is a different one; with a store that needs a client, such as ' +
  'ioredis, redis, pg or mysql2: npx --package nestjs-snowflake --package redis snowflake.';

const EXIT_CODES =
  'Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 ' +
  'something is wrong or has failed, 2 the command line is wrong.';

export function helpOf(command: Command): string[] {
  const { name, words, says = [], examples } = command;
  const after = words === undefined ? '' : ` ${wordText(words)}`;
  return [
    `snowflake ${name} [options]${after}`,
    '',
    `${command.summary}.`,
    ...says.flatMap((paragraph) => ['', ...wrapped(paragraph, WIDTH)]),
    '',
    'Options',
    ...tableLines(optionRows({ ...command.options, ...HELP_OPTION }), '  '),
    '',
    'Examples',
    ...examples.map((example) => `  ${example}`),
  ];
}

export function helpOfAll(commands: readonly Command[]): string[] {
  return [
    ...overview('snowflake', commands),
    '  snowflake --version',
    '',
    ...wrapped(WHERE, WIDTH),
    '',
    ...wrapped(EXIT_CODES, WIDTH),
  ];
}

/** @param command one that takes a subcommand; @param members it with each of its subcommands */
export function helpOfFamily(command: string, members: readonly Command[]): string[] {
  return overview(`snowflake ${command}`, members);
}

function overview(begin: string, commands: readonly Command[]): string[] {
  return [
    `${begin} <command> [options]`,
    '',
    'Commands',
    ...tableLines(
      commands.map(({ name, summary }) => [name, summary]),
      '  ',
    ),
    '',
    `  ${begin} <command> --help    options and examples of a command`,
  ];
}

function wordText({ name, min, max }: NonNullable<Command['words']>): string {
  const text = `<${name}${max > 1 ? '...' : ''}>`;
  return min === 0 ? `[${text}]` : text;
}

function optionRows(specs: OptionSpecs): string[][] {
  return Object.entries(specs).flatMap(([name, { value, says, multiple }]) => {
    const label = value === undefined ? `--${name}` : `--${name} <${value}>`;
    const lines = wrapped(multiple ? `${says}; may be repeated` : says, OPTION_WIDTH);
    return lines.map((line, at) => [at === 0 ? label : '', line]);
  });
}
