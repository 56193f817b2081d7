/**
 * Somebody who has just run `nest new` of 11 or of 12 and does what README or start.md says, line
 * by line: the application starts, answers as shown, and passes the tests that it came with. The
 * Chinese pages show the same lines: translation.spec.ts.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packedLibrary } from '../support/packed-library.mjs';
import { until } from '../until.js';
import { LocalRegistry } from './command.js';
import {
  printedSteps,
  withImports,
  NEST_VERSIONS,
  ScaffoldedApp,
  UNASKED,
  type NestMajor,
} from './applications.js';

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

/** Installs what the line of the documents says, as it stands there. */
async function installed(app: ScaffoldedApp, major: NestMajor): Promise<void> {
  const lines = DOCUMENTS.map(async (one) => (await printedSteps(one)).installLine(major));
  const [line, ...others] = new Set(await Promise.all(lines));
  expect(others).toEqual([]);
  const [npm, ...words] = line!.split(' ');
  expect(npm).toBe('npm');
  await app.npm({ ...UNASKED, npm_config_registry: registry.url }, ...words);
}

/** Writes what a document shows, with another Redis than the one it names. */
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

describe.each([11, 12] as const)('an application of Nest %s', (major) => {
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

  describe.each(DOCUMENTS)('that follows %s', (document) => {
    beforeAll(async () => {
      for (const [path, text] of Object.entries(before)) await app.write(path, text);
      await write(app, document, url);
    });

    it('answers as shown, and gives its worker id back', async () => {
      const { curl } = await printedSteps(document);
      const said = await app.whileStarted(async (address, output) => {
        const answer = await (await fetch(`${address}${curl.path}`)).text();
        const id = expect.stringMatching(/^\d{18,19}$/) as unknown;
        expect([answer, curl.answer]).toEqual([id, id]);
        return output();
      }, env);
      expect(said).not.toMatch(/ERROR|schedule@6/);
      expect(await app.bin('snowflake', 'workers', '--support', url)).toMatch(/\b0 held\b/);
    });

    it('passes the tests that it came with', async () => {
      // In the words of Jest, which go to standard error, or of Vitest.
      const said = await app.npm(env, 'exec', '-c', 'npm run test:e2e 2>&1');
      expect(said).toMatch(/Tests:? .*1 passed/);
    });
  });

  if (major === 11) {
    it('with the scheduler of 12 starts with a warning, and fails its tests', async () => {
      await app.npm(UNASKED, 'install', '@nestjs/schedule@12');
      await app.whileStarted(async (_address, output) => {
        await until(async () => /WARN.*npm install @nestjs\/schedule@6/.test(output()));
      }, env);
      await expect(app.npm(env, 'run', 'test:e2e')).rejects.toThrow('Must use import to load ES');
    });
  }
});
