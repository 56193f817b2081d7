/**
 * The module in a Nest application that leases from a real Redis: renewed, given back although the
 * client is closed, and had as soon as the Redis comes.
 */
import { describe, expect, it } from '@jest/globals';
import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import {
  IdMaker,
  RefreshAlive,
  SnowflakeModule,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { redisSupport } from 'nestjs-snowflake/redis';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { until } from '../until.js';

const REDIS_URL = process.env['REDIS_URL']!;
const redisUrl = () => `${REDIS_URL}?namespace=${randomUUID()}`;

function appOf(options: SnowflakeModuleOptions) {
  return Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
  }).compile();
}

describe('the lifecycle with Redis', () => {
  it.each(['onModuleDestroy', 'onApplicationShutdown'] as const)(
    'gives the worker id back although the application closes its client in %s',
    async (hook) => {
      const redis = new Redis(REDIS_URL);
      const namespace = randomUUID();
      @Injectable()
      class Owner implements OnModuleDestroy, OnApplicationShutdown {
        async onModuleDestroy() {
          if (hook === 'onModuleDestroy') await redis.quit();
        }
        async onApplicationShutdown() {
          if (hook === 'onApplicationShutdown') await redis.quit();
        }
      }
      const app = await Test.createTestingModule({
        imports: [
          ScheduleModule.forRoot(),
          SnowflakeModule.forRoot({ support: redisSupport({ redis, namespace }) }),
        ],
        providers: [Owner],
      }).compile();
      await app.init();
      await app.close();
      const view = redisSupport({ redis: REDIS_URL, namespace });
      expect((await view.workers())[0]).not.toHaveProperty('holder');
      await view.close();
    },
  );

  it('registers RefreshAlive, which renews the lease, and leaves no timer behind', async () => {
    const app = await appOf({ support: redisUrl(), refreshAliveIntervalMs: 100 });
    await app.init();
    const ids = app.get(IdMaker);
    const before = ids.status.leaseEndsAt!;
    await until(() => ids.status.leaseEndsAt! > before);
    expect(ids.status).toMatchObject({ state: 'active', workerId: 0 });
    expect(ids.status.incarnation).toMatch(/^[\w-]{36}$/);
    await app.get(RefreshAlive).run();
    await app.close();
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
  });

  it('lazy: starts without Redis and gets a worker id when it comes', async () => {
    const { port, stop } = await startRedis();
    await stop();
    const support = `redis://127.0.0.1:${port}`;
    const app = await appOf({ support, lazy: true });
    await app.init();
    const ids = app.get(IdMaker);
    expect(ids.status.state).toBe('unassigned');
    await expect(ids.nextIdAsync({ signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
    const waiting = ids.nextIdAsync();
    const server = await startRedis({ port });
    expect(await waiting).toBeGreaterThan(0n);
    await app.close();
    await server.stop();
  });
});
