/**
 * The list of holders that the page receives, from a registry that leases by the protocol.
 */
import { describe, expect, it } from '@jest/globals';
import { type CanActivate, Injectable, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  IdMaker,
  isSnowflakeError,
  MemorySupport,
  StaticSupport,
  startSnowflake,
} from 'nestjs-snowflake';
import {
  SnowflakeDashboardModule,
  type SnowflakeDashboardOptions,
} from 'nestjs-snowflake/dashboard';
import { SettableTime } from 'nestjs-snowflake/testing';
import { generatorView } from '../../lib/dashboard/dashboard.controller.js';
import { workerList } from '../../lib/dashboard/store-lists.js';
import { anybody, leaseAs, showApp } from './shown-app.js';

const HOUR_MS = 3_600_000;
const OWN = { host: 'here', pid: 7, application: '' };

function startList() {
  const time = new SettableTime();
  const support = new MemorySupport({ clock: time });
  const list = workerList(support, OWN, time);
  return { time, support, list, read: () => list(time.now()) };
}

const inOrder = <T extends { readonly workerId: number }>(records: readonly T[]): T[] =>
  records.toSorted((a, b) => a.workerId - b.workerId);

describe('the list of workers', () => {
  it("shows holder, age, and remaining time by the store's clock", async () => {
    const { time, support, read } = startList();
    const first = await leaseAs(support, { host: 'a', pid: 1 });
    await time.advance(20_000);
    const second = await leaseAs(support, {
      host: 'b',
      pid: 2,
      application: 'mail',
      version: '1\u202e',
    });
    await time.advance(10_000);
    expect(await read()).toEqual({
      workers: inOrder([
        {
          workerId: first.workerId,
          state: 'held',
          holder: { host: 'a', pid: 1, application: 'shop', heldForMs: 30_000 },
          remainingMs: 30_000,
        },
        {
          workerId: second.workerId,
          state: 'held',
          holder: { host: 'b', pid: 2, application: 'mail', version: '1?', heldForMs: 10_000 },
          remainingMs: 50_000,
        },
      ]),
    });
  });

  it('shows an expired lease for an hour, and a released lease until its worker ID is free', async () => {
    const { time, support, read } = startList();
    const crashed = await leaseAs(support, { host: 'crashed', pid: 1 });
    const left = await leaseAs(support, { host: 'left', pid: 2 });
    await left.leave(time.now() + 499);
    const [held, resting] = inOrder([
      { workerId: crashed.workerId, state: 'held' },
      { workerId: left.workerId, state: 'resting', remainingMs: 500 },
    ]);
    expect((await read()).workers).toMatchObject([held, resting]);
    await time.advance(61_000);
    const { workers } = await read();
    expect(workers).toEqual([
      expect.objectContaining({ workerId: crashed.workerId, state: 'ended', remainingMs: -1000 }),
    ]);
    await time.advance(HOUR_MS - 2000);
    expect((await read()).workers).toHaveLength(1);
    await time.advance(1002);
    expect((await read()).workers).toEqual([]);
  });

  it('reads the store at most once a second, even if the clock moves back', async () => {
    const { time, support } = startList();
    let asked = 0;
    const counting = { workers: () => (asked++, support.workers()) };
    const list = workerList(counting, OWN, time);
    await Promise.all(Array.from({ length: 50 }, () => list(time.now())));
    expect(asked).toBe(1);
    await list(time.now() + 999);
    expect(asked).toBe(1);
    await list(time.now() + 1000);
    expect(asked).toBe(2);
    await list(time.now() - HOUR_MS);
    expect(asked).toBe(3);
  });

  it.each([
    ['down', () => Promise.reject(new Error('connection refused')), 'connection refused'],
    [
      'custom, with a secret in its error',
      () => Promise.reject(new Error('x://u:secret@h')),
      'list of holders could not be read. x://***@h',
    ],
    ['returning no list', async () => 'nothing' as never, 'cannot list who holds'],
    ['without a list', undefined, 'cannot list who holds which worker id'],
  ])('reports that a store is %s', async (_how, workers, problem) => {
    const list = workerList({ workers } as object, OWN, new SettableTime());
    expect(await list(0)).toEqual({ workers: [], problem: expect.stringContaining(problem) });
  });

  it('names this process as the holder of a static worker id', async () => {
    const list = workerList(new StaticSupport(7), OWN, new SettableTime());
    expect(await list(0)).toEqual({
      workers: [{ workerId: 7, state: 'fixed', holder: OWN }],
      problem: expect.stringContaining('unknown whether another process has the same number'),
    });
  });

  it('waits 3 s for a silent store, and sends it no second request meanwhile', async () => {
    const { time, support } = startList();
    const answers: (() => void)[] = [];
    const hanging = {
      workers: async () => {
        await new Promise<void>((resolve) => answers.push(resolve));
        return support.workers();
      },
    };
    const list = workerList(hanging, OWN, time);
    const first = list(time.now());
    await time.advance(2999);
    const second = list(time.now());
    await time.advance(1);
    const silent = { workers: [], problem: 'The store did not answer within 3 s.' };
    expect([await first, await second]).toEqual([silent, silent]);
    await time.advance(60_000);
    expect(await list(time.now())).toEqual(silent);
    expect(answers).toHaveLength(1);
    expect(time.timerCount).toBe(0);
    answers[0]!();
    await time.advance(1000);
    const next = list(time.now());
    answers[1]!();
    expect(await next).toEqual({ workers: [] });
  });

  it('tries again after a failure', async () => {
    const { time, support } = startList();
    let isAway = true;
    const failing = {
      workers: async () => (isAway ? Promise.reject(new Error('away')) : support.workers()),
    };
    const list = workerList(failing, OWN, time);
    expect((await list(time.now())).problem).toContain('away');
    isAway = false;
    expect(await list(time.now() + 1000)).toEqual({ workers: [] });
  });
});

/*
 * The conditions under which the dashboard starts or refuses to start: it never opens by mistake.
 */
const guards = [anybody];

function faultsOf(options: unknown): unknown {
  try {
    SnowflakeDashboardModule.forRoot(options as SnowflakeDashboardOptions);
    return [];
  } catch (error) {
    if (!isSnowflakeError(error) || error.code !== 'CONFIG_INVALID') throw error;
    return error.details['faults'];
  }
}

async function faultsAtStart(imports: readonly object[]): Promise<string> {
  @Module({ imports: imports as never[] })
  class App {}
  const app = await NestFactory.create(App, { logger: false, abortOnError: false });
  const failed = app.init().then(
    () => 'it started',
    (error: Error) => error.message,
  );
  const message = await failed;
  await app.close();
  return message;
}

@Injectable()
class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

describe('dashboard options', () => {
  it.each([[{}], [{ guards: undefined }], [{ guards: [] }]])(
    '%j are rejected: the page needs a guard',
    (options) => {
      expect(faultsOf(options)).toEqual([expect.stringContaining('must never be public')]);
    },
  );

  it.each([
    [{ guards: 'none' }, 'got "none"'],
    [{ guards: [null, anybody] }, 'to be a class or have canActivate(), got null'],
    [{ guards: [() => true] }, 'to be a class or have canActivate()'],
    [{ guards, toString: 1 }, 'has no option `toString`.'],
    [{ guards, path: '' }, 'to be plain, such as \'admin/snowflake\', got ""'],
    [{ guards, path: '/' }, 'to be plain'],
    [{ guards, path: ':any' }, 'got ":any"'],
    [{ guards, path: 'a/*' }, 'to be plain'],
    [{ guards, path: '..' }, 'to be plain'],
    [{ guards, path: 'a/./b' }, 'to be plain'],
    [{ guards, path: 7 }, 'got 7'],
    [{ guards, pfad: 'x' }, 'has no option `pfad`. The options are guards, path'],
    [undefined, 'Expected the options to be an object, got undefined'],
  ])('%j are rejected with the reason', (options, reason) => {
    expect(faultsOf(options)).toEqual([expect.stringContaining(reason)]);
  });

  it('are rejected with all errors at once', () => {
    expect(faultsOf({ path: 'a b', port: 1 })).toHaveLength(3);
  });

  it.each(['snowflake', '/ops/snow.flake/', 'a-b/c_d'])('accept the path %s', (path) => {
    expect(faultsOf({ guards, path })).toEqual([]);
  });
});

describe('dashboard startup', () => {
  it('rejects the class without options', async () => {
    const message = await faultsAtStart([SnowflakeDashboardModule]);
    expect(message).toContain('Import SnowflakeDashboardModule.forRoot({ guards: [...] })');
  });

  it('rejects an application without a generator', async () => {
    const message = await faultsAtStart([SnowflakeDashboardModule.forRoot({ guards })]);
    expect(message).toContain('There is no generator to show');
  });

  it('does not count a test double of IdMaker as a generator', async () => {
    const standIn = { provide: IdMaker, useValue: { nextId: () => 1n } };
    @Module({ providers: [standIn] })
    class StandIn {}
    const imports = [StandIn, SnowflakeDashboardModule.forRoot({ guards })];
    expect(await faultsAtStart(imports)).toContain('There is no generator to show');
  });

  it("rejects `guards: 'global'` if the application has no guard", async () => {
    const starting = showApp({ dashboard: { guards: 'global' } });
    await expect(starting).rejects.toThrow('and there are none');
  });

  it.each([
    [
      'provided as APP_GUARD',
      { more: { providers: [{ provide: APP_GUARD, useClass: NobodyGuard }] } },
    ],
    ['given by useGlobalGuards()', { prepare: (app) => app.useGlobalGuards(new NobodyGuard()) }],
  ] satisfies [string, Parameters<typeof showApp>[0]][])(
    "`guards: 'global'` relies on guards %s",
    async (_how, options) => {
      const { app, url } = await showApp({ dashboard: { guards: 'global' }, ...options });
      expect((await fetch(`${url}/snowflake`)).status).toBe(403);
      await app.close();
    },
  );
});

it('the median renewal time excludes renewals without a response', async () => {
  const running = await startSnowflake({ support: new MemorySupport() });
  const { status, layout } = running.ids;
  const recent = [2, 5000, 5000].map((tookMs) => ({ answer: tookMs > 2 ? 'error' : 'ok', tookMs }));
  const renewals = { ...status.renewals!, recent };
  const shown = { status: { ...status, renewals }, layout } as unknown as IdMaker;
  const { list: workers } = startList();
  const terms = { name: undefined, location: 'memory', application: '', workers };
  expect(generatorView({ ...terms, ids: shown }).lease?.renewals?.usualMs).toBe(2);
  await running.close();
});
