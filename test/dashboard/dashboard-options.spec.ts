/**
 * When the dashboard starts and when it refuses to: never open by mistake.
 */
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type CanActivate } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { IdMaker, isSnowflakeError } from 'nestjs-snowflake';
import {
  SnowflakeDashboardModule,
  type SnowflakeDashboardOptions,
} from 'nestjs-snowflake/dashboard';
import { anybody, showApp } from './shown-app.js';

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

describe('the options', () => {
  it.each([[{}], [{ guards: undefined }], [{ guards: [] }]])(
    '%j are refused: no page without a guard',
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
  ])('%j are refused with the reason', (options, reason) => {
    expect(faultsOf(options)).toEqual([expect.stringContaining(reason)]);
  });

  it('are refused with all faults at once', () => {
    expect(faultsOf({ path: 'a b', port: 1 })).toHaveLength(3);
  });

  it.each(['snowflake', '/ops/snow.flake/', 'a-b/c_d'])('take the path %s', (path) => {
    expect(faultsOf({ guards, path })).toEqual([]);
  });
});

describe('at start', () => {
  it('the class alone is refused', async () => {
    const message = await faultsAtStart([SnowflakeDashboardModule]);
    expect(message).toContain('Import SnowflakeDashboardModule.forRoot({ guards: [...] })');
  });

  it('an application without a generator is refused', async () => {
    const message = await faultsAtStart([SnowflakeDashboardModule.forRoot({ guards })]);
    expect(message).toContain('There is no generator to show');
  });

  it('what stands in for an IdMaker in a test is no generator', async () => {
    const standIn = { provide: IdMaker, useValue: { nextId: () => 1n } };
    @Module({ providers: [standIn] })
    class StandIn {}
    const imports = [StandIn, SnowflakeDashboardModule.forRoot({ guards })];
    expect(await faultsAtStart(imports)).toContain('There is no generator to show');
  });

  it("`guards: 'global'` is refused where the application has no guard", async () => {
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
    "`guards: 'global'` leaves it to guards %s",
    async (_how, options) => {
      const { app, url } = await showApp({ dashboard: { guards: 'global' }, ...options });
      expect((await fetch(`${url}/snowflake`)).status).toBe(403);
      await app.close();
    },
  );
});
