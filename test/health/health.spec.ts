/**
 * From a status to the verdict: every state, the limit of a readiness check, the layout's end.
 */
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  type IdMakerStatus,
  layouts,
  type LeaseState,
  MemoryRows,
  SnowflakeModule,
  type SnowflakeModuleExtras,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { healthOf } from '../../lib/health/health-report.js';
import { SnowflakeHealthIndicator } from '../../lib/health/index.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { startApp, StoreThatFails } from '../metrics/measured-app.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const layout = layouts.snowflake();

function generator(state: LeaseState, remainingMs?: number, nowMs = NOW_MS) {
  const leaseEndsAt = remainingMs === undefined ? undefined : new Date(nowMs + remainingMs);
  const readAt = new Date(nowMs);
  const format = { kind: 'lease', state, leaseEndsAt, readAt } as const;
  const status = format as Partial<IdMakerStatus> as IdMakerStatus;
  return { status, layout };
}

describe('the verdict', () => {
  it('is down exactly in the states that issue no IDs, and gives a reason unless it is up', () => {
    const states = Object.keys(LEASE_STATES) as LeaseState[];
    const verdicts = states.map((state) => [state, healthOf(generator(state)).status]);
    expect(Object.fromEntries(verdicts)).toEqual({
      unassigned: 'down',
      active: 'up',
      degraded: 'degraded',
      stretched: 'degraded',
      exhausted: 'down',
      fenced: 'degraded',
      switching: 'degraded',
      released: 'down',
    });
    for (const state of states) {
      const { message, runbook } = healthOf(generator(state)).health;
      expect([state, message === undefined]).toEqual([state, state === 'active']);
      expect(runbook).toBe(state === 'active' ? undefined : `npx snowflake explain ${state}`);
    }
  });

  it("is down below the lease's limit in every state, and shows both numbers", () => {
    const options = { leaseMsMin: 5000 };
    expect(healthOf(generator('active', 5000), options).status).toBe('up');
    const { status, health } = healthOf(generator('active', 4999), options);
    expect([status, health.leaseRemainingMs]).toEqual(['down', 4999]);
    expect(health.message).toContain('4999 ms, less than leaseMsMin (5000)');
    expect(health.runbook).toBe('npx snowflake explain SnowflakeLeaseRunsOut');
    expect(healthOf(generator('degraded', 4000), options).health.message).toMatch(
      /less than leaseMsMin.*could not be renewed/,
    );
    expect(healthOf(generator('degraded', 4000)).status).toBe('degraded');
  });

  it('reports an ended lease as ended, not as about to end', () => {
    const { message } = healthOf(generator('stretched', -26_000)).health;
    expect(message).not.toContain('about to end');
    const limited = healthOf(generator('stretched', -26_000), { leaseMsMin: 0 }).health;
    expect(limited.message).toContain('The lease ended 26000 ms ago, less than leaseMsMin (0).');
  });

  it("shows the application's description of the store, if there is one", () => {
    const { status, layout } = generator('active');
    expect(healthOf({ status, layout }).health).not.toHaveProperty('statement');
    const stated = { ...status, statement: 'keepsWrites' } as IdMakerStatus;
    expect(healthOf({ status: stated, layout }).health.statement).toBe('keepsWrites');
  });

  it('has no limit for an endless lease', () => {
    expect(healthOf(generator('active'), { leaseMsMin: 5000 }).status).toBe('up');
  });

  it('is down when the layout has run out', () => {
    const endMs = layout.lastDate.getTime();
    expect(healthOf(generator('active', 60_000, endMs)).status).toBe('up');
    const { status, health } = healthOf(generator('active', 60_000, endMs + 1));
    expect(status).toBe('down');
    expect(health.message).toContain('ran out on 2093-09-06');
    expect(health.runbook).toBe('npx snowflake explain TIME_EXHAUSTED');
  });
});

/*
 * The health of a generator over HTTP: a real application, the real terminus, a memory store that
 * can fail or lose data, and settable time.
 */
describe('snowflake health indicator', () => {
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
      return this.health.check([
        () => this.snowflake.isHealthy('tickets', { generator: 'tickets' }),
      ]);
    }
  }

  let app: INestApplication;
  afterEach(() => app.close());

  type Options = Partial<SnowflakeModuleOptions & SnowflakeModuleExtras>;

  async function start(options: Options = {}, isAway = false) {
    const time = new SettableTime();
    const rows = new MemoryRows(time);
    const store = new StoreThatFails({ rows });
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
    return { time, rows, store, check };
  }

  interface Answer {
    readonly status: string;
    readonly details: Record<string, Record<string, unknown>>;
  }

  describe('the check answers 200', () => {
    it('up, with the facts for an operator, while the lease is fresh', async () => {
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

    it('degraded, while the store is unreachable and the range lasts, and up again later', async () => {
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

    it('degraded, while the store has lost the holder and the range lasts', async () => {
      const { time, rows, store, check } = await start();
      rows.rows.clear();
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

    it('down without a worker ID, and up as soon as there is one', async () => {
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

    it('down, for a generator that is not in the application; names the import', async () => {
      const { check } = await start();
      expect(await check('tickets')).toMatchObject({
        code: 503,
        status: 'down',
        message: expect.stringContaining("`name: 'tickets'`"),
      });
    });
  });

  describe('a named generator', () => {
    it('is found by name, even if its module is not global', async () => {
      const { check } = await start({ name: 'tickets', isGlobal: false });
      expect(await check('tickets')).toMatchObject({ code: 200, status: 'up', state: 'active' });
      expect(await check('ids')).toMatchObject({ code: 503, status: 'down' });
    });
  });

  describe('terminus before 12, which lacks `degraded`', () => {
    it('receives up, with the same reason', async () => {
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
});

/* A readiness check with a limit, on a real lease that expires. */
describe('a lease that is not renewed', () => {
  it('is shown with its remaining time, and is down below the limit', async () => {
    const { app, time, store, ids } = await startApp();
    const indicator = new SnowflakeHealthIndicator(
      new HealthIndicatorService(),
      app.get(ModuleRef),
    );
    const check = () => indicator.isHealthy('ids', { leaseMsMin: 20_000 }).ids;
    expect(check()).toMatchObject({ status: 'up', leaseRemainingMs: 60_000 });
    store.isAway = true;
    await time.advance(39_000);
    // Renewals happen at fractions of a ms, which a Date drops.
    expect(check()).toMatchObject({ status: 'degraded' });
    expect(Math.abs((check()['leaseRemainingMs'] as number) - 21_000)).toBeLessThan(3);
    await time.advance(2000);
    expect(check()).toMatchObject({
      status: 'down',
      message: expect.stringContaining('less than leaseMsMin (20000)'),
    });
    expect(healthOf(ids).status).toBe('degraded');
    await app.close();
  });
});
