/**
 * The class that the page on other platforms shows for connections that stay open, as it stands
 * there: a process that PM2 ends has ended before it is killed, and no request was lost.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ROOT } from '../tidy/tree.js';
import { until } from '../until.js';
import { blockWith } from './snippets.js';

const PAGE = 'docs/operating/other-platforms.md';
const [, killTimeout] = /`kill_timeout: (\d+)`/.exec(readFileSync(`${ROOT}/${PAGE}`, 'utf8'))!;
const CONNECTIONS = 20;

/** Its answers take a moment, so that there is a request on most connections at any time. */
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

/** Asks on one connection, again and again, until it is told to leave it. */
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
      // The connection was cut, or nobody listens any more.
      return 'lost';
    }
  }
}

/** As PM2 ends a process: SIGINT, and SIGKILL after a while. */
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
  // The wait is what PM2 waits.
  const killer = setTimeout(() => child.kill('SIGKILL'), Number(killTimeout));
  const [, signal] = (await exit) as [number | null, string | null];
  clearTimeout(killer);
  return { signal, lost: (await Promise.all(clients)).filter((end) => end === 'lost').length };
}

it('ends in time and loses no request; without it the process is killed', async () => {
  const [drained, bare] = await Promise.all([ended('drained'), ended()]);
  expect(drained).toEqual({ signal: 'SIGINT', lost: 0 });
  expect(bare).toEqual({ signal: 'SIGKILL', lost: CONNECTIONS });
});
