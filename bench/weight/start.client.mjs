// One start of Nest, in a process of its own: what it took to import and to start, and what is left
// in memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import '@nestjs/platform-express';
import { importMain } from '../harness/library.mjs';

/** @param {string} kind @param {number} port @param {string} folder */
const optionsOf = (kind, port, folder) =>
  ({
    static: { workerId: 7 },
    folder: { support: `file://${folder}` },
    redis: { support: `redis://127.0.0.1:${port}` },
  })[kind];

export async function measure({ kind, port }) {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-weight-'));
  const options = optionsOf(kind, port, folder);
  const library = kind === 'none' ? undefined : await importMain();
  const importMs = performance.now();
  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class Application {}
  const imports = options === undefined ? [] : [library.SnowflakeModule.forRoot(options)];
  Module({ imports, controllers: [Hello] })(Application);
  const app = await NestFactory.create(Application, { logger: ['error'], abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const startMs = performance.now() - importMs;
  const { user, system } = process.cpuUsage();
  const rssBytes = process.memoryUsage().rss;
  globalThis.gc?.();
  const { heapUsed: heapBytes } = process.memoryUsage();
  await app.close();
  rmSync(folder, { recursive: true });
  return { importMs, startMs, cpuMs: (user + system) / 1000, heapBytes, rssBytes };
}
