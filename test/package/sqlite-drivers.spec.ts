/**
 * Every driver of SQLite that a URL finds, besides libsql, as it is installed from npm and under
 * its own name: better-sqlite3, and node:sqlite, a part of Node.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { installed, NODES } from '../../scripts/runtimes.mjs';
import { unpackLibrary } from '../chaos/rules.mjs';
import { ROOT } from '../tidy/tree.js';

/** It brings its binary in the package, and needs Node 22. */
const BETTER_SQLITE3 = '13.2.0';
const [node22, node24] = [NODES[1]!, NODES[2]!];

const folder = mkdtempSync(join(tmpdir(), 'sqlite-drivers-'));
let app: string;
beforeAll(async () => {
  app = await unpackLibrary(folder, undefined);
  for (const name of ['contract.mjs', 'refusals.mjs']) {
    cpSync(`${ROOT}/test/package/consumers/sqlite/${name}`, join(app, name));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ['node:sqlite', node22, ''],
  ['node:sqlite', node24, ''],
  ['better-sqlite3', node24, BETTER_SQLITE3],
])('%s of Node %s keeps the contracts, and is found by a URL', (driver, version, ofNpm) => {
  const node = installed('node', version);
  const link = join(app, 'node_modules', driver);
  if (ofNpm !== '') symlinkSync(dirname(installed(driver, ofNpm, 'package.json')), link, 'dir');
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
