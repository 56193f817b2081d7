/**
 * The package as its users get it: packed, installed from the tarball into an application of
 * Nest 12 (ESM) and one of Nest 11 (CommonJS), compiled, started and tested there.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastLine } from './command.js';
import { ConsumerApp } from './consumer-app.js';
import { inspect, packLibrary } from './packed-library.js';

/** Installing from a cold cache over a slow line takes minutes; a hang takes for ever. */
const SLOW = 300_000;

const CONSUMERS = ['nest-12-esm', 'nest-11-cjs'] as const;

let folder: string;
let tarball: string;
const apps = new Map<string, ConsumerApp>();

beforeAll(async () => {
  folder = await realpath(await mkdtemp(`${tmpdir()}/nestjs-snowflake-package-`));
  tarball = await packLibrary(folder);
  const install = async (name: string): Promise<unknown> =>
    apps.set(name, await ConsumerApp.install(name, folder, tarball));
  await Promise.all(CONSUMERS.map(install));
}, SLOW);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the tarball', () => {
  it('has no fault that publint knows', async () => {
    expect(await inspect(tarball, 'publint', 'run', '--strict')).toContain('All good!');
  });

  it(
    'has types that every module resolution finds (attw)',
    async () => {
      const answer = await inspect(tarball, 'attw', '--no-definitely-typed', '--no-emoji');
      expect(answer).toContain('No problems found');
    },
    SLOW,
  );
});

describe.each(CONSUMERS)('in an application of %s', (name) => {
  const app = (): ConsumerApp => apps.get(name)!;

  it(
    'types of all five entries resolve',
    async () => {
      expect(await app().script('build')).toContain('> tsc');
    },
    SLOW,
  );

  it(
    'the module starts, injects IdMaker and stops',
    async () => {
      const said = lastLine(await app().script('start'));
      expect(said).toEqual({ id: expect.stringMatching(/^\d{18,19}$/), workerId: 7 });
    },
    SLOW,
  );

  it(
    "the application's own Jest test passes",
    async () => {
      expect(await app().script('test')).toContain('jest');
    },
    SLOW,
  );

  it(
    'import and require() give one instance of every class',
    async () => {
      expect(await app().probe('one-instance')).toEqual([]);
    },
    SLOW,
  );

  it(
    'the root and /core load and compile with no client installed',
    async () => {
      await app().withoutClients(async () => {
        expect(await app().probe('without-clients')).toEqual({
          clients: [],
          root: ['IdMaker', 'IdMaker'],
          core: ['BitLayout', 'BitLayout'],
        });
        await app().typecheck('tsconfig.without-clients.json');
        // A Redis URL is then refused with the package to install.
        expect(await app().probe('redis-without-client')).toEqual({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining('npm install ioredis'),
        });
      });
    },
    SLOW,
  );
});
