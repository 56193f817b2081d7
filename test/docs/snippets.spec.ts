/**
 * The snippets in documents compile, and optional properties accept undefined.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, it, afterAll } from '@jest/globals';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { isLib, say, type TextFile, readTree, ROOT } from '../tidy/tree.js';
import { SnippetProgram, fenceFaults, snippetsIn, blockWith } from './snippets.js';
import { until } from '../until.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) =>
  /^((docs|skills)\/.*|site\/home|[^/]*)\.md$/.test(path),
);
const isChinese = (path: string): boolean => /^(README\.zh-CN\.md$|docs\/zh\/)/.test(path);
const ENGLISH = DOCUMENTS.filter(({ path }) => !isChinese(path));
/** Its blocks are compiled with their own packages and run in test/package/recipes.spec.ts. */
const RECIPES = 'docs/guides/recipes.md';
const SOURCES = TREE.filter((file) => isLib(file) && file.path.endsWith('.ts'));
const markdown = (text: string): TextFile => ({ path: 'docs/planted.md', text });

let program: SnippetProgram;
beforeAll(() => {
  const compiled = [...ENGLISH, ...SOURCES].filter(({ path }) => path !== RECIPES);
  program = new SnippetProgram(compiled.flatMap(snippetsIn));
});

describe('snippets', () => {
  it('compile, in Markdown and in @example', () => {
    expect(program.faults().map(say)).toEqual([]);
  });

  it('are complete: blocks are closed and marked ts, and examples have a block', () => {
    const found = [...ENGLISH, ...SOURCES].flatMap(snippetsIn).map(({ path }) => path);
    const expected = ['README.md', 'docs/guides/writing-a-support.md', 'lib/nest/id-maker.ts'];
    expect(found).toEqual(expect.arrayContaining(expected));
    expect([...ENGLISH, ...SOURCES].flatMap(fenceFaults).map(say)).toEqual([]);
  });

  it('declare no class that is missing at runtime', () => {
    const hollow = [...ENGLISH, ...SOURCES]
      .flatMap(snippetsIn)
      .filter(({ code }) => /^\s*declare (abstract )?class\b/m.test(code));
    expect(hollow.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  });
});

describe('optional properties', () => {
  // `support: process.env['SNOWFLAKE_SUPPORT']` with exactOptionalPropertyTypes.
  it('accept undefined, in every exported type', () => {
    const found = Object.values(ENTRY_FILES).flatMap((entry) => program.exactOptionals(entry));
    expect([...new Set(found.map(say))]).toEqual([]);
  });
});

describe('the check of snippets', () => {
  it('reports a broken snippet at its line', () => {
    const broken = [
      "# A\n\n```ts\nimport { IdMaker } from 'nestjs-snowflake';\n\nIdMaker.next();\n```\n",
      '```ts\nundeclared();\n```\n\n```ts\nlet x = ;\n```\n\n```sh\nnot TypeScript\n```\n',
      "```ts\nimport { RedisSupport } from 'nestjs-snowflake';\nRedisSupport;\n```\n",
      '```ts\nclass Order {\n  id: string;\n}\n```\n',
    ];
    const found = new SnippetProgram(broken.flatMap((text) => snippetsIn(markdown(text)))).faults();
    expect(found.map(say)).toEqual([
      expect.stringMatching(/^docs\/planted\.md:6 .*'next' does not exist/),
      expect.stringMatching(/^docs\/planted\.md:2 .*'undeclared'/),
      expect.stringMatching(/^docs\/planted\.md:6 Expression expected/),
      expect.stringMatching(/^docs\/planted\.md:2 .*no exported member 'RedisSupport'/),
      expect.stringMatching(/^docs\/planted\.md:3 Property 'id' has no initializer/),
    ]);
  });

  it('reports blocks that would not be compiled', () => {
    const typescript = markdown('```typescript\nx\n```\n\n```ts\n');
    expect(fenceFaults(typescript).map(say)).toEqual([
      "docs/planted.md:1 has a block marked 'typescript'; write ts",
      'docs/planted.md:5 is not closed',
    ]);
    const source = { path: 'lib/planted.ts', text: '/**\n * @example\n * f();\n */\n' };
    expect(fenceFaults(source)).toHaveLength(1);
  });
});

// The class for open connections from the page on other platforms, unchanged. A process that PM2
// stops exits before it is killed, and loses no request.

const PAGE = 'docs/operating/other-platforms.md';
const [, killTimeout] = /`kill_timeout: (\d+)`/.exec(readFileSync(`${ROOT}/${PAGE}`, 'utf8'))!;
const CONNECTIONS = 20;

/** Responses take a moment, so most connections have a request in flight at any time. */
const MAIN = `import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Drain } from './drain.js';

class Orders {
  find() {
    return new Promise((resolve) => setTimeout(resolve, 50, 'found'));
  }
}
Get()(Orders.prototype, 'find', Object.getOwnPropertyDescriptor(Orders.prototype, 'find'));
Controller()(Orders);
class Application {}
const isDrained = process.argv[2] === 'drained';
Module({ controllers: [Orders], providers: isDrained ? [Drain] : [] })(Application);
const app = await NestFactory.create(Application, { logger: false });
if (isDrained) app.use(app.get(Drain).middleware);
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(app.getHttpServer().address().port);
`;

let folder: string;
beforeAll(() => {
  mkdirSync(`${ROOT}/.data`, { recursive: true });
  folder = mkdtempSync(`${ROOT}/.data/drain-`);
  writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
  writeFileSync(`${folder}/main.js`, MAIN);
  writeFileSync(`${folder}/drain.js`, blockWith(PAGE, 'class Drain'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Sends requests on one connection until a response closes it. */
async function client(port: string, answered: () => void): Promise<'left' | 'lost'> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    try {
      const request = get({ agent, host: '127.0.0.1', port });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      answered();
      if (response.headers.connection === 'close') return 'left';
    } catch {
      // The connection was cut, or the server no longer listens.
      return 'lost';
    }
  }
}

/** Stops a process like PM2: SIGINT, and SIGKILL after a timeout. */
async function ended(...args: string[]) {
  const child = spawn(process.execPath, [`${folder}/main.js`, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  let answers = 0;
  const clients = Array.from({ length: CONNECTIONS }, () => client(port.trim(), () => answers++));
  await until(() => answers > 2 * CONNECTIONS);
  const exit = once(child, 'exit');
  child.kill('SIGINT');
  // PM2 waits this long.
  const killer = setTimeout(() => child.kill('SIGKILL'), Number(killTimeout));
  const [, signal] = (await exit) as [number | null, string | null];
  clearTimeout(killer);
  return { signal, lost: (await Promise.all(clients)).filter((end) => end === 'lost').length };
}

it('drains in time and loses no request; without draining, the process is killed', async () => {
  const [drained, bare] = await Promise.all([ended('drained'), ended()]);
  expect(drained).toEqual({ signal: 'SIGINT', lost: 0 });
  expect(bare).toEqual({ signal: 'SIGKILL', lost: CONNECTIONS });
});
