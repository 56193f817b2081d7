/**
 * An application in one file, built with the commands of docs/operating/bundling.md: each bundler,
 * ES modules of Nest 12 and CommonJS of Nest 11, and each client. The file runs in an empty folder.
 */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { command } from '../cli/run-command.js';
import { ownDatabase } from '../own-database.js';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { installedConsumer, installedTools } from './applications.js';
import { lastLine, run, runWith } from './command.js';

const TOOLS = await installedTools();
const PAGE = readFileSync(`${ROOT}/docs/operating/bundling.md`, 'utf8');
const block = (pattern: RegExp): string => pattern.exec(PAGE)![1]!;

const COMMANDS = Array.from(PAGE.matchAll(/^npx (\S+)(?:.*\\\n)*.*$/gm), ([command, name]) => ({
  name: name!,
  command: command.replace('npx ', ''),
}));

/** The replacements that the page names for CommonJS. */
const AS_COMMONJS = [
  [/lambda\.mjs/g, 'lambda.cjs'],
  [/format=esm/, 'format=cjs'],
  [/format: 'es'/, "format: 'cjs'"],
  [/library: \{ type: 'module' \}/, "library: { type: 'commonjs2' }"],
  [/import \$\{request\}/, 'commonjs ${request}'],
  [/ +(module: true|chunkFormat|experiments).*\n/g, ''],
  [/ +banner: .*\n/, ''],
  [/ \\\n +--banner.*/, ''],
] as const;

const FORMS = ['ESM', 'CommonJS'] as const;
type Form = (typeof FORMS)[number];

const formed = (text: string, form: Form): string =>
  form === 'ESM' ? text : AS_COMMONJS.reduce((all, [from, to]) => all.replace(from, to), text);

const folder = mkdtempSync(join(tmpdir(), 'nestjs-snowflake-bundles-'));
let library: string;
const nest = { ESM: ROOT, CommonJS: '' };
beforeAll(async () => {
  library = await packedLibrary();
  nest.CommonJS = await installedConsumer('nest-11-cjs', library);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const link = (modules: string, name: string, path: string): void => {
  mkdirSync(dirname(`${modules}/${name}`), { recursive: true });
  symlinkSync(path, `${modules}/${name}`, 'dir');
};

/** The compiled application of the page, with only the given clients installed. */
async function applicationWith(clients: readonly string[], form: Form): Promise<string> {
  const app = mkdtempSync(join(folder, 'app-'));
  const modules = `${app}/node_modules`;
  mkdirSync(`${modules}/nestjs-snowflake`, { recursive: true });
  await run(`${modules}/nestjs-snowflake`, 'tar', 'xzf', library, '--strip-components=1');
  for (const name of ['common', 'core', 'schedule']) {
    link(modules, `@nestjs/${name}`, `${nest[form]}/node_modules/@nestjs/${name}`);
  }
  for (const name of ['reflect-metadata', 'rxjs']) {
    link(modules, name, `${nest[form]}/node_modules/${name}`);
  }
  for (const name of clients) link(modules, name, pathOf(name));
  const type = form === 'ESM' ? 'module' : 'commonjs';
  writeFileSync(`${app}/package.json`, JSON.stringify({ private: true, type }));
  const { outputText } = ts.transpileModule(block(/^`src\/lambda\.ts`:\n\n```ts\n([^]*?)^```$/m), {
    compilerOptions: {
      emitDecoratorMetadata: true,
      experimentalDecorators: true,
      module: form === 'ESM' ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
    },
  });
  mkdirSync(`${app}/dist`);
  writeFileSync(`${app}/dist/lambda.js`, outputText);
  for (const [, name, text] of PAGE.matchAll(/^`(\w+\.config\.mjs)`.*:\n\n```js\n([^]*?)^```$/gm)) {
    writeFileSync(`${app}/${name}`, formed(text!, form));
  }
  cpSync(`${app}/webpack.config.mjs`, `${app}/rspack.config.mjs`);
  // The bundler configurations import this.
  link(modules, '@rollup', `${TOOLS}/node_modules/@rollup`);
  return app;
}

const pathOf = (name: string): string => `${ROOT}/node_modules/${name}`;

/** Bundles, and returns a folder that contains only the output. */
async function bundled(app: string, command: string, form: Form): Promise<string> {
  const PATH = `${TOOLS}/node_modules/.bin:${process.env['PATH']}`;
  await runWith({ PATH }, app, 'sh', '-c', formed(command, form));
  const empty = mkdtempSync(join(folder, 'empty-'));
  cpSync(`${app}/out`, empty, { recursive: true });
  return empty;
}

const INVOKE = `
  const [file] = require('node:fs').readdirSync('.').filter((name) => /^(lambda|index)\\./.test(name));
  import(require('node:path').resolve(file)).then(async (module) => {
    const { handler } = module.handler ? module : module.default;
    const said = await handler().catch(({ message }) => ({ message }));
    console.log(JSON.stringify(said));
    process.exit();
  });`;

async function invoked(empty: string, url: string): Promise<unknown> {
  return lastLine(
    await runWith({ SNOWFLAKE_SUPPORT: url }, empty, process.execPath, '--eval', INVOKE),
  );
}

const storeUrl = () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;

const AN_ID = { id: expect.stringMatching(/^\d+$/) };
const absence = (text: string) => ({ message: expect.stringContaining(text) });

describe.each(FORMS)('a bundle as %s with only ioredis', (form) => {
  it.each(COMMANDS)('by $name generates an ID', async ({ name, command }) => {
    const app = await applicationWith(['ioredis'], form);
    const empty = await bundled(app, command, form);
    const isOne = (await readdir(empty)).length === 1;
    expect(isOne || name === 'ncc').toBe(true);
    expect(await invoked(empty, storeUrl())).toEqual(AN_ID);
    const without = await bundled(await applicationWith([], form), command, form);
    const said = [
      await invoked(without, 'redis://127.0.0.1:1'),
      await invoked(without, 'postgres://127.0.0.1:1/a'),
      await invoked(without, 'mysql://127.0.0.1:1/a'),
    ];
    expect(said).toEqual([
      absence('None of them is installed. Run: npm install ioredis@5'),
      absence('It is not installed. Run: npm install pg'),
      absence('It is not installed. Run: npm install mysql2'),
    ]);
  });
});

describe.each(FORMS)('an esbuild bundle as %s with only one client', (form) => {
  it.each(['redis', 'iovalkey', '@valkey/valkey-glide'])('%s generates an ID', async (client) => {
    const app = await applicationWith([client], form);
    const isNative = client.startsWith('@');
    const outside = isNative ? `--external:${client}` : '';
    const command = COMMANDS[0]!.command.replace('--bundle', `--bundle ${outside}`);
    const empty = await bundled(app, command, form);
    if (isNative) link(`${empty}/node_modules`, client, pathOf(client));
    expect(await invoked(empty, storeUrl())).toEqual(AN_ID);
  });
});

describe.each(FORMS)('as %s by esbuild, with', (form) => {
  it.each([
    ['pg', () => process.env['DATABASE_URL']!],
    ['mysql2', () => process.env['MYSQL_URL']!],
  ])('%s, against a database', async (client, serverOf) => {
    const { url, drop } = await ownDatabase(serverOf());
    const created = await command(['registry', 'create', '--yes', '--support', url]);
    expect(created).toMatchObject({ code: 0 });
    const app = await applicationWith([client], form);
    const empty = await bundled(app, COMMANDS[0]!.command, form);
    expect(await invoked(empty, url)).toEqual(AN_ID);
    await drop();
  });
});
