/**
 * A new user runs `nest new` of Nest 11 or 12 and follows README or start.md line by line. The
 * application starts, responds as shown, and passes the tests that it came with. Also `nest add`
 * with both Nest CLIs and their package manager.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packedLibrary } from '../support/builds.mjs';
import { LocalRegistry } from './command.js';
import {
  printedSteps,
  withImports,
  NEST_VERSIONS,
  ScaffoldedApp,
  UNASKED,
  type NestMajor,
} from './applications.js';

const MAJORS = [11, 12] as const;
const DOCUMENTS = ['README.md', 'docs/start.md'] as const;
const SHOWN_URL = 'redis://localhost:6379?namespace=shop';
const ENABLED = 'app.enableShutdownHooks();';

let folder: string;
let registry: LocalRegistry;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-newcomers-`));
  registry = await LocalRegistry.start(await packedLibrary());
});

afterAll(async () => {
  await registry?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the install line of the documents unchanged. */
async function installed(app: ScaffoldedApp, major: NestMajor): Promise<void> {
  const lines = DOCUMENTS.map(async (one) => (await printedSteps(one)).installLine(major));
  const [line, ...others] = new Set(await Promise.all(lines));
  expect(others).toEqual([]);
  const [npm, ...words] = line!.split(' ');
  expect(npm).toBe('npm');
  await app.npm({ ...UNASKED, npm_config_registry: registry.url }, ...words);
}

/** Writes the files of a document, with another Redis URL. */
async function write(app: ScaffoldedApp, document: string, url: string): Promise<void> {
  const { files } = await printedSteps(document);
  for (const [path, code] of files) await app.write(path, code.replace(SHOWN_URL, url));
  const modules = [...files.keys()].filter((path) => path.endsWith('.module.ts'));
  const root = await app.read('src/app.module.ts');
  await app.write('src/app.module.ts', withImports(root, modules));
  const main = await app.read('src/main.ts');
  if (!main.includes(ENABLED)) {
    await app.write('src/main.ts', main.replace('  await app.listen', `  ${ENABLED}\n$&`));
  }
}

describe.each(MAJORS)('an application of Nest %s', (major) => {
  const namespace = randomUUID();
  const url = `${process.env['REDIS_URL']}?namespace=${namespace}`;
  const env = { SNOWFLAKE_SUPPORT: url };
  let app: ScaffoldedApp;
  const before: Record<string, string> = {};

  beforeAll(async () => {
    app = await ScaffoldedApp.create(NEST_VERSIONS[major], folder);
    for (const path of ['src/main.ts', 'src/app.module.ts']) before[path] = await app.read(path);
    await installed(app, major);
  });

  describe.each(DOCUMENTS)('after the steps in %s', (document) => {
    beforeAll(async () => {
      for (const [path, text] of Object.entries(before)) await app.write(path, text);
      await write(app, document, url);
    });

    it('responds as shown, and releases its worker ID', async () => {
      const { curl } = await printedSteps(document);
      const said = await app.whileStarted(async (address, output) => {
        const answer = await (await fetch(`${address}${curl.path}`)).text();
        const id = expect.stringMatching(/^\d{18,19}$/) as unknown;
        expect([answer, curl.answer]).toEqual([id, id]);
        return output();
      }, env);
      expect(said).not.toMatch(/ERROR/);
      expect(await app.bin('snowflake', 'workers', '--support', url)).toMatch(/\b0 held\b/);
    });

    it('passes the tests that it came with', async () => {
      // Matches the output of Jest, which uses standard error, or of Vitest.
      const said = await app.npm(env, 'exec', '-c', 'npm run test:e2e 2>&1');
      expect(said).toMatch(/Tests:? .*1 passed/);
    });
  });

  if (major === 11) {
    it('starts with version 12 of the scheduler, but fails its tests', async () => {
      await app.npm(UNASKED, 'install', '@nestjs/schedule@12');
      await app.whileStarted(async () => undefined, env);
      await expect(app.npm(env, 'run', 'test:e2e')).rejects.toThrow('Must use import to load ES');
    });
  }
});

/** The service of `nest new`, which returns an ID instead of a greeting. */
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

/** The test of `nest new` for a service that returns an ID. */
const greetedByAnId = async (app: ScaffoldedApp): Promise<string> =>
  (await app.read('test/app.e2e-spec.ts')).replace("'Hello World!'", String.raw`/^\d{18,19}$/`);

describe.each(MAJORS)('nest add in an application of Nest %s', (major) => {
  let created: ScaffoldedApp;
  const app = (): ScaffoldedApp => created;
  beforeAll(async () => {
    const below = `${folder}/add-${major}`;
    await mkdir(below);
    created = await ScaffoldedApp.create(NEST_VERSIONS[major], below);
  });
  const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const env = () => ({ ...UNASKED, npm_config_registry: registry.url });
  const add = (...args: string[]): Promise<string> =>
    app().nest(env(), 'add', 'nestjs-snowflake', ...args);

  it('installs the library and matching packages', async () => {
    // One of the two applications already has a Redis client.
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

  it('lets the application generate IDs and release its worker ID', async () => {
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

  it('lets tests fail without the variable, which the error names, and pass with it', async () => {
    await app().write('test/app.e2e-spec.ts', await greetedByAnId(app()));
    // On a slow machine, a hook that times out leaves an application open, and Jest waits.
    const test = ['run', 'test:e2e', '--', '--testTimeout=120000'];
    await expect(app().npm({}, ...test)).rejects.toThrow('SNOWFLAKE_SUPPORT');
    await app().npm({ SNOWFLAKE_SUPPORT: support }, ...test);
  });

  it('changes nothing if it runs again', async () => {
    const before = await app().state();
    expect(Object.keys(before)).toContain('src/main.ts');
    expect(await add('--skip-install')).toContain('Nothing to be done');
    expect(await app().state()).toEqual(before);
  });

  it("creates a monorepo's module in the given project", async () => {
    await app().nest({}, 'generate', 'app', 'office');
    await add('--skip-install', '--project', 'office');
    for (const path of ['apps/office/src/office.module.ts', 'apps/shop/src/app.module.ts']) {
      const calls = (await app().read(path)).match(/(Schedule|Snowflake)Module\.forRoot/g);
      expect([path, calls]).toEqual([path, ['ScheduleModule.forRoot', 'SnowflakeModule.forRoot']]);
    }
    expect(await app().read('apps/office/src/main.ts')).toContain('app.enableShutdownHooks();');
  });
});
