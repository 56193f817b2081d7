/**
 * `nest add nestjs-snowflake` in an application of `nest new`, both by the Nest CLI of 11 and of
 * 12, installed by the package manager that it runs: afterwards the application starts on a Redis,
 * gives ids, and gives its worker id back.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packedLibrary } from '../support/packed-library.mjs';
import { LocalRegistry } from './command.js';
import { NEST_VERSIONS, ScaffoldedApp, UNASKED } from './applications.js';

const MAJORS = [11, 12] as const;

let folder: string;
let registry: LocalRegistry;
const apps = new Map<number, ScaffoldedApp>();

beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-nest-add-`));
  registry = await LocalRegistry.start(await packedLibrary());
  const create = async (major: (typeof MAJORS)[number]): Promise<unknown> =>
    apps.set(major, await ScaffoldedApp.create(NEST_VERSIONS[major], folder));
  await Promise.all(MAJORS.map(create));
});

afterAll(async () => {
  await registry?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The service of `nest new`, which then answers an id instead of a greeting. */
const SERVICE = `import { Injectable } from '@nestjs/common';
import { IdMaker } from 'nestjs-snowflake';

@Injectable()
export class AppService {
  constructor(private readonly ids: IdMaker) {}

  getHello(): string {
    return this.ids.nextIdString();
  }
}
`;

/** The test of `nest new` for a service that answers an id. */
const greetedByAnId = async (app: ScaffoldedApp): Promise<string> =>
  (await app.read('test/app.e2e-spec.ts')).replace("'Hello World!'", String.raw`/^\d{18,19}$/`);

describe.each(MAJORS)('an application of Nest %s', (major) => {
  const app = (): ScaffoldedApp => apps.get(major)!;
  const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const env = () => ({ ...UNASKED, npm_config_registry: registry.url });
  const add = (...args: string[]): Promise<string> =>
    app().nest(env(), 'add', 'nestjs-snowflake', ...args);

  it('gets the library and what fits to it', async () => {
    // One of the two has a client of Redis already.
    const hasClient = major === 11;
    if (hasClient) await app().npm(env(), 'install', 'redis@6');
    await add(`--support=${support}`);
    const { dependencies } = JSON.parse(await app().read('package.json')) as {
      dependencies: Record<string, string>;
    };
    const schedule = major === 11 ? '^6.0.0' : '^12.0.0';
    const client = hasClient ? { redis: /^\^6\./ } : { ioredis: /^\^5\.4\.0$/ };
    const [[name, range]] = Object.entries(client) as [[string, RegExp]];
    expect(dependencies).toMatchObject({ '@nestjs/schedule': schedule });
    expect(dependencies[name]).toMatch(range);
    expect('ioredis' in dependencies).toBe(!hasClient);
    const installed = JSON.parse(
      await app().read('node_modules/@nestjs/schedule/package.json'),
    ) as {
      version: string;
    };
    expect(installed.version).toMatch(major === 11 ? /^6\./ : /^12\./);
    expect(await app().read('.env')).toBe(`SNOWFLAKE_SUPPORT=${support}\n`);
    expect(await app().read('src/app.module.ts')).toContain('SnowflakeModule.forRootAsync({');
  });

  it('then gives ids, and gives its worker id back', async () => {
    await app().write('src/app.service.ts', SERVICE);
    const held = await app().whileStarted(async (url) => {
      const [one, other] = [await fetch(url), await fetch(url)];
      const ids = [BigInt(await one.text()), BigInt(await other.text())];
      expect(ids[1]! > ids[0]! && ids[0]! > 2n ** 50n).toBe(true);
      return app().bin('snowflake', 'workers', '--support', support);
    });
    expect(held).toMatch(/\b1 held\b/);
    expect(await app().bin('snowflake', 'workers', '--support', support)).toMatch(/\b0 held\b/);
  });

  it('fails its tests without the variable, and names it; passes with it', async () => {
    await app().write('test/app.e2e-spec.ts', await greetedByAnId(app()));
    // A hook that runs out of time on a slow machine leaves an application open, and Jest waits.
    const test = ['run', 'test:e2e', '--', '--testTimeout=120000'];
    await expect(app().npm({}, ...test)).rejects.toThrow('SNOWFLAKE_SUPPORT');
    await app().npm({ SNOWFLAKE_SUPPORT: support }, ...test);
  });

  it('stays as it is when the library is added again', async () => {
    const before = await app().state();
    expect(Object.keys(before)).toContain('src/main.ts');
    expect(await add('--skip-install')).toContain('Nothing to be done');
    expect(await app().state()).toEqual(before);
  });

  it('as a monorepo gets it in the project that is named', async () => {
    await app().nest({}, 'generate', 'app', 'office');
    await add('--skip-install', '--project', 'office');
    for (const path of ['apps/office/src/office.module.ts', 'apps/shop/src/app.module.ts']) {
      const calls = (await app().read(path)).match(/(Schedule|Snowflake)Module\.forRoot/g);
      expect([path, calls]).toEqual([path, ['ScheduleModule.forRoot', 'SnowflakeModule.forRoot']]);
    }
    expect(await app().read('apps/office/src/main.ts')).toContain('app.enableShutdownHooks();');
  });
});
