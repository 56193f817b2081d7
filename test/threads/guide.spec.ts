/**
 * The recipe of the guide for the end of a process, as it stands there: a thread that is told to
 * stop finishes, with ids, before the process ends and the worker id is given back.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';

import { command } from '../cli/run-command.js';
import { blockWith } from '../docs/snippets.js';
import { until } from '../until.js';
import { compileLibrary } from './compiled-library.js';

const PATH = 'docs/guides/threads.md';

/** The block of the guide with this line, as JavaScript beside the compiled library. */
const script = (line: string): string =>
  blockWith(PATH, line)
    .replace("'nestjs-snowflake/core'", "'./lib/core/index.js'")
    .replace("'nestjs-snowflake'", "'./lib/index.js'");

const MAIN = (support: string): string => `import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from './lib/index.js';
import { ImportThread } from './import-thread.js';

class Application {}
const ids = SnowflakeModule.forRoot({ support: '${support}', sharesLease: true });
Module({ imports: [ScheduleModule.forRoot(), ids], providers: [ImportThread] })(Application);
const application = await NestFactory.createApplicationContext(Application, { logger: false });
application.enableShutdownHooks();
`;

describe('a thread in a process that is told to stop', () => {
  let folder: string;
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('finishes, makes its last id, and the worker id is given back', async () => {
    folder = await compileLibrary('threads/application.mjs');
    const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
    writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
    writeFileSync(`${folder}/main.js`, MAIN(support));
    writeFileSync(`${folder}/import-thread.js`, script('class ImportThread'));
    writeFileSync(`${folder}/import.worker.js`, script('while (!isStopping)'));
    const child = spawn(process.execPath, [`${folder}/main.js`]);
    const said = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
    const ended = once(child, 'close');
    await until(() => said.out.includes('imported ') || child.exitCode !== null);
    child.kill('SIGTERM');
    const [code, signal] = (await ended) as [number | null, string | null];
    expect([code, signal, said.err]).toEqual([null, 'SIGTERM', '']);
    const lines = said.out.trim().split('\n');
    expect(lines.at(-1)).toMatch(/^finished \d{18,19}$/);
    const { out } = await command(['workers', '--support', support]);
    expect(out).toContain('0 held');
  });
});
