/**
 * Mistakes in how the module is registered, and what the application adds to the options: each
 * fault in our words, all of them at once, before anything is leased.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  MemoryRegistry,
  MemorySupport,
  SnowflakeModule,
  StaticSupport,
  startSnowflake,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { applicationName, resolveOptions } from '../../lib/nest/resolve-options.js';

const compile = (...imports: DynamicModule[]) => Test.createTestingModule({ imports }).compile();

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = (await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as { code: string; details: { faults: string[] } };
  expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
  return error.details.faults;
}

describe('options that are not given', () => {
  it.each([undefined, null, 'redis://localhost', 7])(
    'as forRoot(%j) are told at the start',
    async (options) => {
      const module = SnowflakeModule.forRoot(options as never);
      const [fault, ...more] = await faultsOf(compile(ScheduleModule.forRoot(), module));
      expect(fault).toContain('Expected the options to be an object, got');
      expect(more).toEqual([]);
    },
  );

  it('by the factory of forRootAsync are told at the start', async () => {
    const module = SnowflakeModule.forRootAsync({ useFactory: () => undefined as never });
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), module));
    expect(faults).toEqual([expect.stringContaining('return it from the factory')]);
  });

  it.each([undefined, null, {}])('as forRootAsync(%j) are told at the start', async (options) => {
    const module = SnowflakeModule.forRootAsync(options as never);
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), module));
    expect(faults).toEqual([expect.stringContaining('useFactory, useClass, useExisting')]);
  });

  it.each([undefined, null, 'redis://localhost'])('as startSnowflake(%j)', async (options) => {
    const faults = await faultsOf(startSnowflake(options as never));
    expect(faults).toEqual([expect.stringContaining('Expected the options to be an object')]);
  });
});

describe('a generator that is registered twice', () => {
  const memory = () => {
    const registry = new MemoryRegistry();
    return { registry, support: new MemorySupport({ registry }) };
  };

  it.each([undefined, 'orders'])('under the name %s is refused', async (name) => {
    const { registry, support } = memory();
    const twice = [1, 2].map(() => SnowflakeModule.forRoot({ support, name }));
    const faults = await faultsOf(compile(ScheduleModule.forRoot(), ...twice));
    expect(faults).toEqual([expect.stringContaining('registered 2 times')]);
    expect(registry.state?.operations).toBe(0);
  });

  it('is one fault among others', async () => {
    const twice = [1, 2].map(() =>
      SnowflakeModule.forRoot({ leaseTtlMs: 1, supports: { Static: 1 } as never }),
    );
    const faults = await faultsOf(compile(...twice));
    expect(faults).toEqual([
      expect.stringContaining('ScheduleModule is not imported'),
      expect.stringContaining('registered 2 times'),
      expect.stringContaining('"Static"'),
      expect.stringContaining('Neither `support`'),
      expect.stringContaining('`leaseTtlMs`'),
    ]);
  });

  it('is not meant by one dynamic module in several places', async () => {
    const module = SnowflakeModule.forRoot({ workerId: 910, isGlobal: false });
    class Shop {}
    const shop = { module: Shop, imports: [module] };
    const app = await compile(ScheduleModule.forRoot(), module, shop);
    await app.init();
    expect(app.get(IdMaker).status.workerId).toBe(910);
    await app.close();
  });
});

describe('the option `supports`', () => {
  const resolve = (support: string, supports: unknown) =>
    resolveOptions({ support, supports } as SnowflakeModuleOptions, true);

  it.each([
    ['at once', (url: string) => new StaticSupport(url.length)],
    ['later', async (url: string) => new StaticSupport(url.length)],
  ])('makes a support of a URL, %s', async (_, local) => {
    for (const url of ['local:/run/id', 'LOCAL:/run/id']) {
      expect((await resolve(url, { local })).support).toEqual(new StaticSupport(url.length));
    }
  });

  it.each([
    ['my scheme', { 'my scheme': () => new StaticSupport(1) }, '"my scheme"'],
    ['File', { File: () => new StaticSupport(1) }, '"File"'],
    [
      'redis',
      { redis: () => new StaticSupport(1) },
      '`redis` in `supports` belongs to this package',
    ],
    ['rediss+cluster', { 'rediss+cluster': () => new StaticSupport(1) }, 'belongs to this package'],
    ['a value that is no function', { local: 'x' }, '`supports.local` to be a function'],
    ['a list', [() => new StaticSupport(1)], '`supports` to be an object'],
    ['null', null, '`supports` to be an object'],
  ])('refuses %s', async (_, supports, text) => {
    expect(await faultsOf(resolve('static:1', supports))).toEqual([expect.stringContaining(text)]);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no file x:secret@y in x://u:secret@y')), 'no file'],
    ['gives nothing', () => undefined, 'got undefined'],
    ['gives no support', () => ({ getNextWorkId: 1 }), 'got object'],
  ])('tells of a function that %s, without the URL', async (_, x, text) => {
    const [fault] = await faultsOf(resolve('x://u:secret@y', { x }));
    expect(fault).toContain(text);
    expect(fault).not.toContain('secret');
  });

  it('is named where a URL is unknown', async () => {
    const local = () => new StaticSupport(1);
    const [fault] = await faultsOf(resolve('fiel:/run/id', { local, 'own+two': local }));
    expect(fault).toContain('of this application local:, own+two:');
    // What every object inherits is no scheme.
    expect(await faultsOf(resolve('constructor:1', { local }))).toHaveLength(1);
  });

  it('closes what it made when another option is at fault', async () => {
    const close = jest.fn(async () => undefined);
    const local = () => Object.assign(new StaticSupport(1), { close });
    const options = { support: 'local:1', supports: { local }, aheadMsMax: -1 };
    expect(await faultsOf(resolveOptions(options, true))).toHaveLength(1);
    expect(close).toHaveBeenCalledTimes(1);
  });
});

describe('the name of the application', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'snowflake-name-')));
  afterAll(() => rmSync(root, { recursive: true }));
  const folder = (...parts: string[]) => {
    const path = join(root, ...parts);
    mkdirSync(path, { recursive: true });
    return path;
  };
  writeFileSync(join(root, 'package.json'), '{ "name": "@acme/shop" }');
  writeFileSync(join(folder('dist'), 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(folder('broken'), 'package.json'), '{ "name": ');
  writeFileSync(join(folder('odd'), 'package.json'), '{ "name": 7 }');
  writeFileSync(join(folder('empty'), 'package.json'), 'null');

  it.each(['dist/main.js', 'dist/apps/shop/main', 'broken/main.js', 'odd/main.js', 'empty/x', 'x'])(
    'is that of the package around %s',
    (entryPoint) => expect(applicationName({}, join(root, entryPoint))).toBe('@acme/shop'),
  );

  it('is what npm says, where npm started it', () => {
    expect(applicationName({ npm_package_name: 'shop' }, join(root, 'x'))).toBe('shop');
  });

  it('is `unnamed` where there is none, and never an error', () => {
    expect(applicationName({}, '')).toBe('unnamed');
    expect(applicationName({}, '/nowhere/\0/main.js')).toBe('unnamed');
  });

  it('is what the option says, which has to be text', async () => {
    expect((await resolveOptions({ workerId: 1, application: 'shop' }, true)).application).toBe(
      'shop',
    );
    const faults = await faultsOf(resolveOptions({ workerId: 1, application: 7 as never }, true));
    expect(faults).toEqual([expect.stringContaining('`application` to be a string, got 7')]);
  });
});
