/**
 * One process of a topology of mistakes. On command it starts and stops applications, several at a
 * time, and reports how each start ended.
 *
 * Each application requests IDs from the first moment of its start, and records each ID. It runs in
 * the folder of worker.mjs, with the published library.
 */
import 'reflect-metadata';
import { closeSync, openSync, writeSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Cluster, Redis } from 'ioredis';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';

const TICK_MS = 2;
/** How often a tick requests so many IDs that their time runs ahead of the clock. */
const BURST = { every: 250, idCount: 10_000 };
/** With few worker IDs, two registries soon assign the same one. */
const FIELDS = [
  ['timestamp', 41],
  ['worker', 3],
  ['sequence', 12],
];

/** @typedef {{ app: any, clients: (Redis | Cluster)[], stopAsking: () => void }} Running */
/** @type {Map<string, Running>} */
const running = new Map();
/** The applications of a process share Nest's logger, so log lines belong to the process. */
const tell = (line) => process.connected && process.send?.(line);
const hear = (level) => (text) => tell({ kind: 'log', level, text: String(text) });
const logger = {
  log: hear('log'),
  warn: hear('warn'),
  error: hear('error'),
  fatal: hear('fatal'),
};

process.on('message', ({ call, name, settings }) => {
  const done = call === 'start' ? start(name, settings) : stop(name);
  void done.then((answer) => tell({ kind: 'answer', name, ...answer }));
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

async function start(name, settings) {
  const sinceMs = performance.now();
  const clients = [];
  let stopAsking = () => undefined;
  class AppModule {}
  const asking = {
    provide: 'asking',
    inject: [IdMaker],
    useFactory: (idMaker) => (stopAsking = ask(idMaker, settings.file)),
  };
  try {
    const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options(settings, clients))];
    Module({ imports, providers: [asking] })(AppModule);
    const app = await NestFactory.createApplicationContext(AppModule, {
      logger,
      abortOnError: false,
    });
    running.set(name, { app, clients, stopAsking });
    const { workerId, incarnation } = app.get(IdMaker).status;
    return { status: 'active', workerId, incarnation };
  } catch (error) {
    stopAsking();
    for (const client of clients) client.disconnect();
    const { code = error.name, message, retryable } = error;
    return { status: 'refused', code, message, retryable, tookMs: performance.now() - sinceMs };
  }
}

async function stop(name) {
  const { app, clients, stopAsking } = running.get(name);
  running.delete(name);
  stopAsking();
  await app.close();
  for (const client of clients) client.disconnect();
  return { status: 'stopped' };
}

function options({ support, client, given, fields = FIELDS, epoch, lease }, clients) {
  return {
    support: support ?? redisSupport({ redis: connect(client, clients), ...given }),
    layout: new BitLayout({ epoch: epoch ?? '2024-01-01T00:00:00Z', fields }),
    leaseTtlMs: 10_000,
    refreshAliveIntervalMs: 500,
    callTimeoutMs: 1500,
    reserveMs: 1000,
    startTimeoutMs: 20_000,
    ...lease,
  };
}

/** The application's own client for other purposes. */
function connect({ nodes, options }, clients) {
  const client = nodes ? new Cluster(nodes, options) : new Redis(options);
  // ioredis handles only the first error of a TLS socket. A second error would end the process.
  client.on('error', () => client.stream?.on('error', () => undefined));
  clients.push(client);
  return client;
}

/** Requests IDs until it must stop, and writes each to the file at once. */
function ask(idMaker, file) {
  const ids = openSync(`${file}.ids`, 'a');
  const timer = setInterval(() => {
    const isBurst = Math.random() * BURST.every < 1;
    const made = new BigUint64Array(isBurst ? BURST.idCount : 1 + Math.floor(Math.random() * 4));
    try {
      if (isBurst) idMaker.fill(made);
      else for (let at = 0; at < made.length; at++) made[at] = idMaker.nextId();
      writeSync(ids, made);
    } catch {
      const end = made.indexOf(0n);
      writeSync(ids, made.subarray(0, end < 0 ? made.length : end));
    }
  }, TICK_MS);
  return () => {
    clearInterval(timer);
    closeSync(ids);
  };
}
