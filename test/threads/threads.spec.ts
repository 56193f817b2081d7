/**
 * Real worker_threads, forked processes, and a real Redis: each leases its own worker ID without
 * any setup, or several threads share one lease.
 */
import cluster from 'node:cluster';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  layouts,
  type IDistributedSupport,
  type IdMaker,
  type SharedLease,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { command } from '../cli/run-command.js';
import { blockWith } from '../docs/snippets.js';
import { settleRegistry } from '../stores/timed-redis.js';
import { until } from '../until.js';
import { bundledScript, compileLibrary } from '../support/builds.mjs';

const REDIS_URL = process.env['REDIS_URL']!;
const layout = layouts.snowflake();

let script: string;
beforeAll(async () => {
  script = await bundledScript('threads/application.mjs');
});

/** A thread or a process that handles one request at a time. */
interface Peer {
  ask(question: { kind: string; count?: number }): Promise<unknown>;
  end(): Promise<unknown>;
}

async function startThread(options: unknown): Promise<Peer> {
  const worker = new Worker(script, { workerData: { options } });
  const [message] = (await once(worker, 'message')) as unknown[];
  expect(message).toBe('started');
  return {
    ask: async (question) => {
      worker.postMessage(question);
      return ((await once(worker, 'message')) as unknown[])[0];
    },
    end: () => worker.terminate(),
  };
}

async function startFork(options: SnowflakeModuleOptions): Promise<Peer> {
  cluster.setupPrimary({ exec: script, execArgv: [] });
  const worker = cluster.fork({ OPTIONS: JSON.stringify(options) });
  const child = worker.process as unknown as ChildProcess;
  const [message] = (await once(child, 'message')) as unknown[];
  expect(message).toBe('started');
  return {
    ask: async (question) => {
      worker.send(question);
      return ((await once(child, 'message')) as unknown[])[0];
    },
    end: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

interface Started {
  application: { close(): Promise<void> };
  ids: IdMaker;
  support: IDistributedSupport;
}

/** Imported outside Jest's VM, because this thread's event loop is not Jest's. */
async function startHere(options: SnowflakeModuleOptions): Promise<Started> {
  const { start } = (await import(pathToFileURL(script).href)) as {
    start: (options: SnowflakeModuleOptions) => Promise<Started>;
  };
  return start(options);
}

/** In this registry a released worker ID is free at once. */
async function support(): Promise<string> {
  const namespace = randomUUID();
  const redis = new Redis(REDIS_URL);
  await settleRegistry(redis, `snowflake:{${namespace}}:registry`);
  await redis.quit();
  return `${REDIS_URL}?namespace=${namespace}`;
}

describe('threads and forks without set-up', () => {
  it('lease different worker IDs, and release them', async () => {
    const options = { support: await support() } as const;
    const peers = await Promise.all([
      ...[1, 2, 3].map(() => startThread(options)),
      ...[1, 2].map(() => startFork(options)),
    ]);
    const held = (await Promise.all(peers.map((peer) => peer.ask({ kind: 'status' })))) as {
      workerId: number;
    }[];
    expect(new Set(held.map(({ workerId }) => workerId)).size).toBe(5);
    const made = await Promise.all(peers.map((peer) => peer.ask({ kind: 'fill', count: 4000 })));
    expect(new Set(made.flat()).size).toBe(5 * 4000);
    await Promise.all(peers.map((peer) => peer.ask({ kind: 'close' })));
    await Promise.all(peers.map((peer) => peer.end()));
    const { application, ids, support: registry } = await startHere(options);
    const workers = await registry.workers!();
    const taken = workers.filter(({ freeInMs }) => freeInMs > 0);
    expect(taken.map(({ workerId }) => workerId)).toEqual([ids.status.workerId]);
    await application.close();
  });
});

describe('threads that share a lease', () => {
  it('generate different IDs of one worker ID, which is released after the last ID', async () => {
    const options: SnowflakeModuleOptions = {
      support: await support(),
      sharesLease: true,
      // Two worker IDs, one of which stays unused, so the next two holders get both.
      layout: [
        ['timestamp', 41],
        ['worker', 1],
        ['sequence', 12],
      ],
    };
    const owner = await startHere(options);
    const { workerId } = owner.ids.status;
    const threads = await Promise.all(
      [1, 2, 3, 4].map(() => startThread({ support: owner.ids.sharedLease })),
    );
    const asked = threads.map((thread) => thread.ask({ kind: 'fill', count: 200_000 }));
    const own = Array.from({ length: 20_000 }, () => owner.ids.nextIdString());
    const made = [own, ...((await Promise.all(asked)) as string[][])].map((ids) => ids.map(BigInt));
    for (const ids of made) expect(ids.every((id, at) => at === 0 || id > ids[at - 1]!)).toBe(true);
    const all = made.flat();
    expect(new Set(all).size).toBe(820_000);
    expect(new Set(all.map((id) => (id >> 12n) & 1n))).toEqual(new Set([BigInt(workerId!)]));
    const states = await Promise.all(threads.map((thread) => thread.ask({ kind: 'status' })));
    expect(states).toEqual(
      states.map(() => expect.objectContaining({ workerId, state: 'active' })),
    );
    await owner.application.close();
    const stopped = await threads[0]!.ask({ kind: 'status' });
    expect(stopped).toMatchObject({ state: 'released', workerId: undefined });
    await Promise.all(threads.map((thread) => thread.end()));
    const next = [await startHere(options), await startHere(options)];
    const heir = next.find(({ ids }) => ids.status.workerId === workerId)!;
    const greatest = all.reduce((a, b) => (a > b ? a : b));
    expect(heir.ids.nextId()).toBeGreaterThan(greatest);
    await Promise.all(next.map(({ application }) => application.close()));
  });

  it('close without ending the lease of the others', async () => {
    const owner = await startHere({ workerId: 900, sharesLease: true });
    const [one, other] = await Promise.all(
      [1, 2].map(() => startThread({ support: owner.ids.sharedLease, epoch: layout.epochMs })),
    );
    expect(await one!.ask({ kind: 'close' })).toBe('closed');
    expect(await one!.ask({ kind: 'status' })).toMatchObject({ state: 'released' });
    expect(await other!.ask({ kind: 'fill', count: 2000 })).toHaveLength(2000);
    expect(owner.ids.status).toMatchObject({ state: 'active', workerId: 900 });
    await Promise.all([one!.end(), other!.end()]);
    await owner.application.close();
  });

  it('reject another layout, and a lease that was sent to another process', async () => {
    const owner = await startHere({ workerId: 901, sharesLease: true });
    const { sharedLease } = owner.ids;
    await expect(startHere({ support: sharedLease, epoch: '2020-01-01' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/shared lease is for layout/) as unknown,
    });
    const ahead = startHere({ support: sharedLease, aheadMsMax: 5 });
    await expect(ahead).rejects.toMatchObject({
      message: expect.stringMatching(/`aheadMsMax` to be left out, as in the thread/) as unknown,
    });
    const sent = JSON.parse(JSON.stringify(sharedLease)) as SharedLease;
    await expect(startHere({ support: sent })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const child = fork(script, { serialization: 'advanced' });
    expect(() => child.send({ sharedLease } as never)).toThrow(/could not be cloned/);
    child.kill();
    await owner.application.close();
    const alone = await startHere({ workerId: 901 });
    expect(() => alone.ids.sharedLease).toThrow(/sharesLease/);
    await alone.application.close();
  });
});

/*
 * The guide's recipe for shutdown, unchanged: a stopped thread finishes with IDs before the process
 * ends and releases the worker ID.
 */

const PATH = 'docs/guides/threads.md';

/** The block of the guide with this line, as JavaScript next to the compiled library. */
const exampleScript = (line: string): string =>
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

describe('a thread in a stopping process', () => {
  let folder: string;
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('finishes and generates its last ID before the worker ID is released', async () => {
    folder = await compileLibrary('threads/application.mjs');
    const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
    writeFileSync(`${folder}/package.json`, '{ "type": "module" }');
    writeFileSync(`${folder}/main.js`, MAIN(support));
    writeFileSync(`${folder}/import-thread.js`, exampleScript('class ImportThread'));
    writeFileSync(`${folder}/import.worker.js`, exampleScript('while (!isStopping)'));
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
