/**
 * Every SQLite driver that a URL finds, under its own npm name: better-sqlite3, libsql, and
 * node:sqlite, which is part of Node.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { installed, NODES } from '../../scripts/runtimes.mjs';
import { BadDisk } from '../../scripts/servers/bad-disk.mjs';
import { unpackLibrary } from '../chaos/rules.mjs';
import { ROOT } from '../tidy/tree.js';

/** This version contains its binary and needs Node 22. */
const BETTER_SQLITE3 = '13.2.0';
const [node22, node24] = [NODES[1]!, NODES[2]!];

const folder = mkdtempSync(join(tmpdir(), 'sqlite-drivers-'));
let app: string;
beforeAll(async () => {
  app = await unpackLibrary(folder, undefined);
  rmSync(join(app, 'node_modules/libsql'));
  for (const name of ['contract.mjs', 'refusals.mjs', 'starts.mjs']) {
    cpSync(`${ROOT}/test/package/consumers/sqlite/${name}`, join(app, name));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const DRIVERS = [
  { driver: 'node:sqlite', version: node22 },
  { driver: 'node:sqlite', version: node24 },
  { driver: 'better-sqlite3', version: node24 },
  { driver: 'libsql', version: process.versions.node },
];

describe.each(DRIVERS)('$driver on Node $version', ({ driver, version }) => {
  let node: string;
  const link = () => join(app, 'node_modules', driver);
  beforeAll(() => {
    node = version === process.versions.node ? process.execPath : installed('node', version);
    if (driver === 'libsql') symlinkSync(`${ROOT}/node_modules/libsql`, link(), 'dir');
    if (driver !== 'better-sqlite3') return;
    symlinkSync(dirname(installed(driver, BETTER_SQLITE3, 'package.json')), link(), 'dir');
  });
  // A URL uses the only installed driver.
  afterAll(() => rmSync(link(), { force: true }));

  it('fulfills the contracts, and a URL finds it', () => {
    const env = {
      ...process.env,
      SNOWFLAKE_DRIVER: driver,
      SNOWFLAKE_FILE: join(folder, `${driver.replace(':', '-')}-${version}.db`),
      NODE_OPTIONS: '',
    };
    const { status, stdout } = spawnSync(node, ['--test', 'contract.mjs'], {
      cwd: app,
      env,
      encoding: 'utf8',
    });
    expect([status, stdout.slice(-8000)]).toEqual([0, expect.stringMatching(/# fail 0|ℹ fail 0/)]);
    expect(Number(/(?:#|ℹ) pass (\d+)/.exec(stdout)?.[1])).toBeGreaterThan(70);
  });

  it('serves 8 concurrent starts on a slow disk, 20 times with each journal', async () => {
    const data = mkdtempSync(join(folder, 'starts-'));
    const disk = new BadDisk(`${data}.disk`, data);
    disk.slow(15);
    const startsBy = async (mode: string) => {
      const { command, args } = disk.under({ command: node, args: ['starts.mjs', data, mode] });
      const options = { cwd: app, env: { ...process.env, NODE_OPTIONS: '' } };
      const said = await text(spawn(command, args, options).stdout);
      return JSON.parse(said) as { workerId?: number; failed?: string }[][];
    };
    const starts = (await Promise.all(['WAL', 'DELETE'].map(startsBy))).flat();
    expect(starts.flat().flatMap(({ failed = [] }) => failed)).toEqual([]);
    const served = starts.map((start) => new Set(start.map(({ workerId }) => workerId)).size);
    expect(served).toEqual(Array.from({ length: 40 }, () => 8));
  });
});
