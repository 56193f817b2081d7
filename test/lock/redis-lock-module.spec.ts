/**
 * Two applications that share locks in Redis: sections exclude each other, a lock goes from one
 * application to the other, and what befalls Redis is told as what it is.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { RedisLab } from '../backends/redis-lab.js';

const lab = new RedisLab();
const opened: INestApplicationContext[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((app) => app.close()));
});
afterAll(() => lab.end());

/** Nobody held anything before, so that the first lock is waited for as long as it may be held. */
const TTL_MS = 1000;

async function locksAt(url: string): Promise<DistributedLock> {
  const app = await NestFactory.createApplicationContext(
    LockModule.forRoot({ locks: url, ttlMs: TTL_MS }),
    { logger: false },
  );
  opened.push(app);
  return app.get(DistributedLock);
}

const urlOf = (port: number) =>
  `redis://127.0.0.1:${port}?namespace=${randomUUID()}&lossWindowMs=0`;

describe('LockModule on Redis', () => {
  it('lets one section run at a time, with tokens that rise, whoever asks', async () => {
    const { port } = await lab.server();
    const url = urlOf(port);
    const [one, two] = [await locksAt(url), await locksAt(url)];
    let inside = 0;
    const tokens: bigint[] = [];
    const section = async ({ token }: { readonly token: bigint }) => {
      inside++;
      expect(inside).toBe(1);
      // Others have every opportunity to come in.
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
      inside--;
      tokens.push(token);
    };
    const all = Array.from({ length: 60 }, (_, at) =>
      (at % 2 === 0 ? one : two).using('order:7', { waitMs: 60_000 }, section),
    );
    await Promise.all(all);
    expect(tokens).toHaveLength(60);
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  it('tells a lock that is held from a Redis that is away', async () => {
    const { port, url: plain } = await lab.server();
    const url = `${plain}?namespace=n&lossWindowMs=0`;
    const [one, two] = [await locksAt(url), await locksAt(url)];
    await one.using('order:7', { waitMs: 60_000 }, async () => {
      await expect(two.using('order:7', { waitMs: 0 }, async () => 1)).rejects.toMatchObject({
        code: 'LOCK_HELD',
      });
      expect(await two.tryAcquire('order:7')).toBeUndefined();
      expect((await two.list()).map(({ lock }) => lock)).toEqual(['order:7']);
    });
    await lab.client(port).call('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
    await expect(two.tryAcquire('order:7')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('tells a holder that its lock is lost when Redis is flushed', async () => {
    const { port, url: plain } = await lab.server();
    const locks = await locksAt(`${plain}?namespace=n&lossWindowMs=0`);
    const error = await locks
      .using('order:7', { waitMs: 60_000 }, async ({ signal }) => {
        await lab.client(port).flushall();
        if (!signal.aborted)
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
      })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'LOCK_LOST' });
  });
});
