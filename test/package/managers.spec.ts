/**
 * A workspace with each package manager. The library finds the client of the package that depends
 * on it. If another package has the client, the error does not call it absent.
 */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { installedTools } from './applications.js';
import { lastLine, run, runWith } from './command.js';

const TOOLS = await installedTools();
const BIN = `${TOOLS}/node_modules/.bin`;

/** Except with Yarn, a package reaches packages of another. With pnpm, they share a peer. */
const MANAGERS = [
  { manager: 'npm', install: ['npm', 'install'], node: ['node'], shares: true },
  { manager: 'Bun', install: [`${BIN}/bun`, 'install'], node: [`${BIN}/bun`], shares: true },
  {
    manager: 'pnpm, strict',
    install: [`${BIN}/pnpm`, 'install', '--config.hoist=false'],
    node: ['node'],
    shares: true,
  },
  {
    manager: "Yarn, Plug'n'Play",
    install: [`${BIN}/yarn`, 'install'],
    node: [`${BIN}/yarn`, 'node'],
    shares: false,
  },
] as const;

const { devDependencies } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  devDependencies: Record<string, string>;
};

const NEEDED = ['@nestjs/common', '@nestjs/core', '@nestjs/schedule', 'reflect-metadata', 'rxjs'];

const MAIN = `
  import { Logger } from '@nestjs/common';
  import { startSnowflake } from 'nestjs-snowflake';
  Logger.overrideLogger(false);
  const support = process.env.SNOWFLAKE_SUPPORT;
  const said = await startSnowflake({ support }).then(
    async ({ ids, close }) => ({ id: ids.nextIdString(), closed: await close() }),
    ({ message }) => ({ message }),
  );
  console.log(JSON.stringify(said));
  process.exit();`;

const folder = mkdtempSync(join(tmpdir(), 'nestjs-snowflake-managers-'));
let registry: string;
let library: string;
beforeAll(async () => {
  library = await packedLibrary();
  registry = (await run(ROOT, 'npm', 'config', 'get', 'registry')).trim();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Two packages: `app` with a client and `ids` without. */
function workspace(): string {
  const root = mkdtempSync(join(folder, 'workspace-'));
  cpSync(library, `${root}/nestjs-snowflake.tgz`);
  const put = (path: string, manifest: object) =>
    writeFileSync(`${root}/${path}package.json`, JSON.stringify({ private: true, ...manifest }));
  put('', { name: 'root', workspaces: ['packages/*'] });
  writeFileSync(`${root}/pnpm-workspace.yaml`, 'packages: [packages/*]\n');
  writeFileSync(`${root}/yarn.lock`, '');
  for (const [name, clients] of [
    ['app', ['redis']],
    ['ids', []],
  ] as const) {
    mkdirSync(`${root}/packages/${name}`, { recursive: true });
    const versions = [...NEEDED, ...clients].map((one) => [one, devDependencies[one]]);
    const dependencies = {
      ...Object.fromEntries(versions),
      'nestjs-snowflake': 'file:../../nestjs-snowflake.tgz',
    };
    put(`packages/${name}/`, { name, version: '1.0.0', type: 'module', dependencies });
    writeFileSync(`${root}/packages/${name}/main.js`, MAIN);
  }
  return root;
}

it.each(MANAGERS)('$manager: the library finds a client, or reports where it is', async (one) => {
  const root = workspace();
  const env = {
    SNOWFLAKE_SUPPORT: `${process.env['REDIS_URL']}?namespace=${randomUUID()}`,
    npm_config_registry: registry,
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    BUN_CONFIG_REGISTRY: registry,
  };
  const [install, ...args] = one.install;
  await runWith(env, root, install, ...args);
  const [node, ...before] = one.node;
  const said = async (main: string) =>
    lastLine(await runWith(env, `${root}/packages/app`, node, ...before, main));
  const id = { id: expect.stringMatching(/^\d+$/) };
  expect(await said('main.js')).toEqual(id);
  const elsewhere = /redis is installed at \S+, which nestjs-snowflake cannot reach/;
  const unreachable = { message: expect.stringMatching(elsewhere) };
  expect(await said('../ids/main.js')).toEqual(one.shares ? id : unreachable);
});
