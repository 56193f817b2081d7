/**
 * Every command that reads a store, with a path to a missing file. The command names the mistyped
 * path, and creates a file only if the operator asked for one.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startSnowflake } from 'nestjs-snowflake';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { command, typing } from './run-command.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'missing-file-'));
  path = join(folder, 'shop.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The other required arguments of a command, so that only the store is missing. */
const NEEDS: Readonly<Record<string, string>> = {
  decode: '--who 382366441078288384',
  'layout move': '--to ich --yes',
  release: '3 --yes',
  'counters create': 'order --start 1 --yes',
  'counters inspect': 'order',
  'registry settle': '--yes',
};
/** These create a registry or its table after confirmation. */
const MAKERS = ['registry create', 'locks create'];

const ASKING = COMMANDS.flatMap(({ name, options }) => {
  // `partitions` does not support SQLite.
  const urls = Object.keys(options).filter((each) => options[each]!.value === 'url');
  return urls[0] === undefined || urls[0] === 'url' ? [] : [{ name, option: urls[0] }];
});
const READING = ASKING.filter(({ name }) => !MAKERS.includes(name));

const wordsOf = (name: string) => `${name} ${NEEDS[name] ?? ''}`.trim().split(' ');

it('the cases cover every command that reads a store', () => {
  expect(ASKING.length).toBeGreaterThan(15);
});

describe.each(READING)('snowflake $name', ({ name, option }) => {
  it('names the missing SQLite file, and does not create it', async () => {
    const other = name === 'registry move' ? ['--yes', '--to', `sqlite:${folder}/next.db`] : [];
    const url = ['--' + option, `sqlite:${path}`];
    const { code, out, err } = await command([...wordsOf(name), ...url, ...other]);
    expect([code, `${out}${err}`]).toEqual([1, expect.stringContaining(`no file ${path}.`)]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.each(MAKERS)('snowflake %s', (name) => {
  const at = () => ['--support', `sqlite:${path}`];

  it.each([
    ['that only prints the statement', ['--dry'], ''],
    ['that a user does not confirm', [], typing('no')],
    ['that a script does not confirm', [], ''],
  ])('creates no file for a call %s', async (_, words, stdin) => {
    const { out } = await command([...name.split(' '), ...words, ...at()], { stdin });
    expect(out).toContain('CREATE TABLE');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('creates the file, and the table in it', async () => {
    const { code } = await command([...name.split(' '), '--yes', ...at()]);
    expect(code).toBe(0);
    expect(await command(['locks', ...at()])).toMatchObject({ code: 0 });
  });

  it('creates no folder for a mistyped path', async () => {
    path = join(folder, 'none', 'shop.db');
    const { code, err } = await command([...name.split(' '), '--yes', ...at()]);
    expect([code, err]).toEqual([1, expect.stringContaining('Check its path')]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

it('a registry move creates the file of the new registry only when the move begins', async () => {
  const from = `sqlite:${folder}/old.db`;
  await command(['registry', 'create', '--yes', '--support', from]);
  const fleet = await startSnowflake({ support: from });
  const move = ['registry', 'move', '--from', from, '--to', `sqlite:${path}`];
  expect(await command([...move, '--dry'])).toMatchObject({ code: 0 });
  expect(await command(move, { stdin: typing('no') })).toMatchObject({ code: 1 });
  expect(existsSync(path)).toBe(false);
  await fleet.close();
  expect(await command([...move, '--yes'])).toMatchObject({ code: 0 });
  expect(existsSync(path)).toBe(true);
});

it('an application that starts by URL names the missing file, and does not create it', async () => {
  const start = startSnowflake({ support: `sqlite:${path}`, startTimeoutMs: 1000 });
  await expect(start).rejects.toThrow(`no file ${path}. `);
  expect(readdirSync(folder)).toEqual([]);
});
