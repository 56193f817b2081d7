// One start of Nest, in a process of its own: what it took to import and to start, and what is left
// in memory.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import '@nestjs/platform-express';
import { ScheduleModule } from '@nestjs/schedule';
import { importMain } from '../harness/library.mjs';

/** @param {string} kind @param {number} port @param {string} folder */
const optionsOf = (kind, port, folder) =>
  ({
    static: { workerId: 7 },
    folder: { support: `file://${folder}` },
    redis: { support: `redis://127.0.0.1:${port}` },
  })[kind];

/** As our module loads it: only where it is used, and as CommonJS. */
async function connected(/** @type {number} */ port) {
  const { Redis } = await import('ioredis');
  const client = new Redis(port);
  await client.ping();
  return client;
}

/** The processor's time so far, of this process. */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function measure({ kind, port, folder }) {
  const options = optionsOf(kind, port, folder);
  const isWithout = ['none', 'bare', 'ioredis'].includes(kind);
  const library = isWithout ? undefined : await importMain();
  const importMs = cpuMs();
  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class Application {}
  const schedule = kind === 'bare' ? [] : [ScheduleModule.forRoot()];
  const own = options === undefined ? [] : [library.SnowflakeModule.forRoot(options)];
  Module({ imports: [...schedule, ...own], controllers: [Hello] })(Application);
  const app = await NestFactory.create(Application, { logger: ['error'], abortOnError: false });
  const client = kind === 'ioredis' ? await connected(port) : undefined;
  await app.listen(0, '127.0.0.1');
  const allMs = cpuMs();
  const wallMs = performance.now();
  const rssBytes = process.memoryUsage().rss;
  globalThis.gc?.();
  const { heapUsed: heapBytes } = process.memoryUsage();
  client?.disconnect();
  await app.close();
  return { importMs, startMs: allMs - importMs, allMs, wallMs, heapBytes, rssBytes };
}
