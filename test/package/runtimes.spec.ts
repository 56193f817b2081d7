/**
 * The package on other runtimes than Node: what docs/guides/runtimes.md says was run there is run,
 * the TypeScript of consumers/runtimes as its author wrote it, against a real Redis.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { installPackages } from '../../scripts/install-packages.mjs';
import { packedLibrary } from '../support/packed-library.mjs';
import { ROOT } from '../tidy/tree.js';
import { rowsOf } from '../docs/sections.js';
import { until } from '../until.js';
import { lastLine, run, runWith } from './command.js';

const FOLDER = `${ROOT}/test/package/consumers/runtimes`;

const RUNTIMES = [
  ['Bun', 'bun', ['run']],
  ['Deno', 'deno', ['run', '--allow-all']],
] as const;

beforeAll(async () => {
  installPackages(pathToFileURL(`${FOLDER}/`));
  const library = `${FOLDER}/node_modules/nestjs-snowflake`;
  await rm(library, { recursive: true, force: true });
  await mkdir(library);
  await run(library, 'tar', 'xzf', await packedLibrary(), '--strip-components=1');
});

describe.each(RUNTIMES)('on %s', (name, program, args) => {
  const binary = `${FOLDER}/node_modules/.bin/${program}`;
  const support = () => `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const runOn = async (file: string, url = support()): Promise<unknown> => {
    const env = { SNOWFLAKE_SUPPORT: url };
    return lastLine(await runWith(env, FOLDER, binary, ...args, `src/${file}`));
  };

  it('the generator makes ids', async () => {
    const expected = { distinct: 2000, rises: true, workerId: 7, isReadBack: true };
    expect(await runOn('core.ts')).toEqual(expected);
  });

  it('worker ids are leased from Redis, renewed and given back', async () => {
    const expected = { workerIds: [0, 1], again: 2, state: 'active', distinct: 2000 };
    expect(await runOn('lease.ts')).toEqual(expected);
  });

  it('threads share a lease, or have one of their own', async () => {
    expect(await runOn('threads.ts')).toEqual({ distinct: 5000, workerIds: [0, 1] });
  });

  it('a Nest application answers ids, and gives its worker id back at SIGTERM', async () => {
    const url = support();
    const env = { ...process.env, SNOWFLAKE_SUPPORT: url };
    const child = spawn(binary, [...args, 'src/app.ts'], { cwd: FOLDER, env, detached: true });
    let [said, hasEnded] = ['', false];
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    const ended = once(child, 'close').finally(() => (hasEnded = true));
    try {
      await until(() => hasEnded || said.includes('{"isNew"'));
      expect(said).toMatch(/\{"isNew":true,"workerId":0\}\n$/);
      expect(await workers(url)).toMatch(/\b1 held\b/);
    } finally {
      // Below npm's program lies that of the runtime.
      if (!hasEnded) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
    expect(await workers(url)).toMatch(/\b0 held\b/);
  });

  /** The program of the package, on this runtime too. */
  const workers = (url: string): Promise<string> => {
    const main = 'node_modules/nestjs-snowflake/dist/esm/cli/main.js';
    return run(FOLDER, binary, ...args, main, 'workers', '--support', url);
  };

  it('the guide names the version', async () => {
    const manifest = JSON.parse(await readFile(`${FOLDER}/package.json`, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const guide = await readFile(`${ROOT}/docs/guides/runtimes.md`, 'utf8');
    expect(rowsOf(guide, 'runtime').get(name)?.[0]).toBe(manifest.dependencies[program]);
  });
});
