/**
 * A job that is due just after the store of the locks was restarted runs once in a fleet: whoever
 * skips what others do waits until the store grants locks again, and says so in one line.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, Locked, LockModule } from 'nestjs-snowflake/lock';
import { lockTable } from 'nestjs-snowflake/sql';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { PostgresNode } from '../chaos/stores/postgres-node.mjs';
import { until } from '../until.js';

const REPLICAS = 5;
const folder = mkdtempSync(`${tmpdir()}/snowflake-locks-`);
const ending: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

@Injectable()
class Jobs {
  static runCount = 0;

  @Locked('job:report', { onHeld: 'skip', holdAtLeastMs: 60_000 })
  async report(): Promise<number> {
    return ++Jobs.runCount;
  }

  @Locked((at: number) => `job:sales:${at}`, { onHeld: 'skip', holdAtLeastMs: 60_000 })
  async sales(_at: number): Promise<void> {}
}

async function replica(locks: string, warnings: string[]): Promise<INestApplicationContext> {
  const module = LockModule.forRoot({ locks, ttlMs: 2000 });
  const logger = { log() {}, error() {}, warn: (line: string) => void warnings.push(line) };
  const app = await NestFactory.createApplicationContext(
    { module: Jobs, imports: [module], providers: [Jobs], exports: [Jobs] },
    { logger: logger as LoggerService, abortOnError: false },
  );
  ending.push(() => app.close());
  return app;
}

async function redisFile() {
  const args = ['--dir', folder, '--appendonly', 'yes'];
  let server = await startRedis({ args });
  ending.push(() => server.stop());
  const { port } = server;
  return {
    url: `${server.url}?namespace=jobs`,
    async restart() {
      await server.stop();
      server = await startRedis({ port, args });
    },
  };
}

async function postgres() {
  const node = new PostgresNode();
  ending.push(() => node.stop());
  await node.create();
  await node.sql(lockTable('postgres'));
  return {
    url: `postgres://postgres@127.0.0.1:${node.port}/postgres?namespace=jobs&replicated=false`,
    async restart() {
      await node.kill();
      await node.start();
    },
  };
}

describe.each([
  ['Redis with its file', redisFile],
  ['PostgreSQL', postgres],
])('a job in five replicas, after a restart of %s', (_name, start) => {
  it('runs in one of them', async () => {
    const store = await start();
    const warnings: string[] = [];
    const apps: INestApplicationContext[] = [];
    for (let n = 0; n < REPLICAS; n++) apps.push(await replica(store.url, warnings));
    // The first lock of a new store.
    await Promise.all(apps.map((app) => app.get(Jobs).sales(1)));
    await store.restart();
    const lists = () => apps.map((app) => app.get(DistributedLock).list());
    await until(() => Promise.all(lists()).then(Boolean, () => false));
    [Jobs.runCount, warnings.length] = [0, 0];
    const ran = await Promise.all(apps.map((app) => app.get(Jobs).report()));
    expect(ran.filter(Boolean)).toEqual([1]);
    // One line at most of each replica, whatever it asks meanwhile.
    const pauses = warnings.filter((line) => /grants none for another \d+ ms/.test(line));
    expect(pauses.length).toBeLessThanOrEqual(REPLICAS);
  });
});
