/**
 * The health of a generator over HTTP: a real application, the real terminus, a store in memory
 * that can be away or forget, and time that the test moves.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import {
  IdMaker,
  MemoryRegistry,
  SnowflakeModule,
  type SnowflakeModuleExtras,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { SnowflakeHealthIndicator } from '../../lib/health/index.js';
import { StoreThatFails } from '../metrics/measured-app.js';

@Controller()
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly snowflake: SnowflakeHealthIndicator,
  ) {}

  @Get('ids')
  ids() {
    return this.health.check([() => this.snowflake.isHealthy('ids')]);
  }

  @Get('tickets')
  tickets() {
    return this.health.check([() => this.snowflake.isHealthy('tickets', { generator: 'tickets' })]);
  }
}

let app: INestApplication;
afterEach(() => app.close());

type Options = Partial<SnowflakeModuleOptions & SnowflakeModuleExtras>;

async function start(options: Options = {}, isAway = false) {
  const time = new SettableTime();
  const registry = new MemoryRegistry();
  const store = new StoreThatFails({ registry, clock: time });
  store.isAway = isAway;
  const common = { support: store, clock: time, timers: time } as const;
  const imports = [
    ScheduleModule.forRoot(),
    TerminusModule.forRoot({ logger: false }),
    SnowflakeModule.forRoot({ ...common, ...options }),
  ];
  const module = await Test.createTestingModule({
    imports,
    providers: [SnowflakeHealthIndicator],
    controllers: [HealthController],
  }).compile();
  app = module.createNestApplication({ logger: false });
  await app.listen(0);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const check = async (path = 'ids') => {
    const answer = await fetch(`http://localhost:${port}/${path}`);
    const { status, details } = (await answer.json()) as Answer;
    return { code: answer.status, status, ...details[path] };
  };
  return { time, registry, store, check };
}

interface Answer {
  readonly status: string;
  readonly details: Record<string, Record<string, unknown>>;
}

describe('the check answers 200', () => {
  it('up, with what an operator wants to know, while the lease is fresh', async () => {
    const { check } = await start();
    const ids = app.get(IdMaker);
    expect(await check()).toMatchObject({
      code: 200,
      status: 'up',
      state: 'active',
      workerId: ids.status.workerId,
      incarnation: ids.status.incarnation,
      layoutEndsAt: '2093-09-06T15:47:35.551Z',
    });
    expect(await check()).not.toHaveProperty('message');
  });

  it('degraded, while the store is away and the range lasts, and up again after it', async () => {
    const { time, store, check } = await start();
    store.isAway = true;
    await time.advance(13_000);
    expect(await check()).toMatchObject({
      code: 200,
      status: 'degraded',
      state: 'degraded',
      message: expect.stringContaining('in the range that was leased'),
    });
    await time.advance(44_000);
    expect(await check()).toMatchObject({ code: 200, status: 'degraded', state: 'stretched' });
    expect(app.get(IdMaker).nextId()).toBeGreaterThan(0n);
    store.isAway = false;
    await time.advance(3000);
    expect(await check()).toMatchObject({ code: 200, status: 'up', state: 'active' });
  });

  it('degraded, while the store has forgotten the holder and the range lasts', async () => {
    const { time, registry, store, check } = await start();
    registry.state = undefined;
    store.grantsNone = true;
    await time.advance(13_000);
    expect(await check()).toMatchObject({ code: 200, status: 'degraded', state: 'fenced' });
    store.grantsNone = false;
    await time.advance(3000);
    expect(await check()).toMatchObject({ code: 200, status: 'degraded', state: 'switching' });
    await time.advance(60_000);
    app.get(IdMaker).nextId();
    expect(await check()).toMatchObject({ code: 200, status: 'up', state: 'active' });
  });

  it('up, for a static worker id, which has no lease to end', async () => {
    const { check } = await start({ support: undefined, workerId: 813 });
    expect(await check()).toMatchObject({ code: 200, status: 'up', workerId: 813 });
    expect(await check()).not.toHaveProperty('leaseRemainingMs');
  });
});

describe('the check answers 503', () => {
  it('down, when the range is used up', async () => {
    const { time, store, check } = await start({ reserveMs: 0 });
    store.isAway = true;
    await time.advance(61_000);
    expect(() => app.get(IdMaker).nextId()).toThrow(/used up/);
    expect(await check()).toMatchObject({
      code: 503,
      status: 'down',
      state: 'exhausted',
      message: expect.stringContaining('until the store answers'),
    });
  });

  it('down, before there is a worker id, and up as soon as there is one', async () => {
    const { time, store, check } = await start({ lazy: true }, true);
    expect(await check()).toMatchObject({
      code: 503,
      status: 'down',
      state: 'unassigned',
      message: expect.stringContaining('No worker id is held'),
    });
    store.isAway = false;
    await time.advance(3000);
    expect(await check()).toMatchObject({ code: 200, status: 'up' });
  });

  it('down, for a generator that the application has not, and says what to import', async () => {
    const { check } = await start();
    expect(await check('tickets')).toMatchObject({
      code: 503,
      status: 'down',
      message: expect.stringContaining("`name: 'tickets'`"),
    });
  });
});

describe('a generator with a name', () => {
  it('is found by it, also where its module is not global', async () => {
    const { check } = await start({ name: 'tickets', isGlobal: false });
    expect(await check('tickets')).toMatchObject({ code: 200, status: 'up', state: 'active' });
    expect(await check('ids')).toMatchObject({ code: 503, status: 'down' });
  });
});

describe('terminus before 12, which knows no `degraded`', () => {
  it('is told up, with the same reason', async () => {
    const { time, store } = await start();
    const session = (key: string) => ({
      up: (data: object) => ({ [key]: { status: 'up', ...data } }),
      down: (data: object) => ({ [key]: { status: 'down', ...data } }),
    });
    const indicator = new SnowflakeHealthIndicator(
      { check: session } as never,
      app.get(ModuleRef, { strict: false }),
    );
    store.isAway = true;
    await time.advance(13_000);
    expect(indicator.isHealthy('ids').ids).toMatchObject({
      status: 'up',
      state: 'degraded',
      message: expect.stringContaining('in the range that was leased'),
    });
  });
});
