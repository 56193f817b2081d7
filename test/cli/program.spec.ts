/**
 * The real program as a process: exit codes, streams, a closed output, Ctrl-C, and each Redis
 * client.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { ROOT } from '../tidy/tree.js';
import { until } from '../until.js';
import { compiledLibrary } from '../support/builds.mjs';
import { withoutPackages, RunningProgram } from './run-command.js';
import { folderSupport } from '../../lib/stores/host/index.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { request } from '../stores/redis-lab.js';

const layout = layouts.snowflake();
const timestampMs = Date.parse('2026-11-21T09:00:00Z');
const idAt = (count: number) => layout.compose({ timestampMs: timestampMs + count, workerId: 7 });

/** Other specs share this build. */
let folder: string;
const links = mkdtempSync(join(tmpdir(), 'snowflake-program-'));
beforeAll(async () => {
  folder = await compiledLibrary();
});
afterAll(() => rmSync(links, { recursive: true }));

const start = (...args: string[]) => new RunningProgram(folder, args);

function* ids(count: number) {
  for (let at = 0; at < count; at++) yield `${idAt(at)}\n`;
}

describe('the program', () => {
  it('starts with a line that names its interpreter', () => {
    const main = readFileSync(join(folder, 'dist', 'esm', 'cli', 'main.js'), 'utf8');
    expect(main.split('\n')[0]).toBe('#!/usr/bin/env node');
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await start('--version').listen().end()).toMatchObject({ out: `${version}\n` });
  });

  it('also runs under the name of the package, as npx requires', async () => {
    const { name, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      name: string;
      bin: Record<string, string>;
    };
    expect(Object.keys(bin).toSorted()).toEqual([name, 'snowflake']);
    for (const [at, path] of Object.entries(bin)) {
      // npm installs such a link.
      symlinkSync(join(folder, path), join(links, at));
      const { status, stdout } = spawnSync(process.execPath, [join(links, at), 'decode', '7']);
      expect({ at, status, said: String(stdout).slice(0, 2) }).toEqual({
        at,
        status: 0,
        said: '7\n',
      });
    }
  });

  it('exits with 0, 1 and 2', async () => {
    const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
    const codes = [
      ['decode', String(idAt(0))],
      ['locks', '--support', support],
      ['decode', 'x'],
      ['workers', '--support', 'redis://127.0.0.1:1'],
      ['decoed'],
      [],
      ['registry', '--help'],
      ['registry'],
    ].map(
      async (args) =>
        (
          await start(...args)
            .listen()
            .end()
        ).code,
    );
    expect(await Promise.all(codes)).toEqual([0, 0, 1, 1, 2, 2, 0, 2]);
  });

  it.each([
    [0o755, 0, /^ok +rights +This user may write the registry/m],
    [0o555, 1, /^fault +rights .*may not/m],
  ])('lets doctor report the rights in a folder with mode %o', async (mode, code, told) => {
    const root = mkdtempSync(join(links, 'rights-'));
    await folderSupport({ folder: root, namespace: 'shop' }).getNextWorkId(request());
    chmodSync(join(root, 'shop'), mode);
    const main = join(folder, 'dist', 'esm', 'cli', 'main.js');
    const doctor = [process.execPath, main, 'doctor', '--support', `file:${root}?namespace=shop`];
    // Root ignores file modes unless it drops this capability.
    const as = process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override'] : [];
    const [program, ...args] = [...as, ...doctor];
    const { status, stdout } = spawnSync(program!, args, { encoding: 'utf8' });
    expect([status, stdout]).toEqual([code, expect.stringMatching(told)]);
  });

  it('loads no client of an unused store', async () => {
    const flags = withoutPackages(['ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide']);
    const decoded = await new RunningProgram(folder, ['decode', '1'], flags).listen().end();
    expect(decoded).toMatchObject({ code: 0, err: '' });
    const args = ['workers', '--support', 'redis://127.0.0.1:1'];
    const refused = await new RunningProgram(folder, args, flags).listen().end();
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('npm install ioredis');
    // npx puts packages here if it runs outside of a project.
    const bin = join(links, '_npx', '1f2e', 'node_modules', '.bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync(join(folder, 'dist', 'esm', 'cli', 'main.js'), join(bin, 'nestjs-snowflake'));
    const fetched = spawnSync(process.execPath, [...flags, join(bin, 'nestjs-snowflake'), ...args]);
    expect(String(fetched.stderr)).toMatch(
      /Run: npx --package nestjs-snowflake --package ioredis(@5)? snowflake <command>\n$/,
    );
  });
});

describe('streams', () => {
  it('decode 100,000 IDs in little memory', async () => {
    const small = ['--max-old-space-size=24'];
    const program = new RunningProgram(folder, ['decode', '--json'], small).listen();
    Readable.from(ids(100_000)).pipe(program.child.stdin);
    const { code, out, err } = await program.end();
    expect([code, err]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines).toHaveLength(100_000);
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ id: String(idAt(99_999)), workerId: 7 });
  });

  it('stop reading while their output is not read', async () => {
    let taken = 0;
    function* counted() {
      for (const id of ids(1_000_000)) {
        taken++;
        yield id;
      }
    }
    const program = start('decode', '--json');
    Readable.from(counted()).pipe(program.child.stdin);
    // The test does not read the output, so the program has to pause.
    let before = -1;
    let stoodStill = 0;
    await until(() => {
      stoodStill = taken > 0 && taken === before ? stoodStill + 1 : 0;
      before = taken;
      return stoodStill === 25;
    });
    expect(taken).toBeLessThan(100_000);
    program.child.kill();
    await program.end();
  });

  it('decode each ID as it arrives', async () => {
    const program = start('decode', '--json').listen();
    program.child.stdin.write(`${idAt(1)}\n`);
    await once(program.child.stdout, 'data');
    expect(JSON.parse(program.out)).toMatchObject({ id: String(idAt(1)) });
    program.child.stdin.end();
    expect(await program.end()).toMatchObject({ code: 0 });
  });

  it('end silently when their reader closes', async () => {
    const program = start('decode');
    Readable.from(ids(100_000)).pipe(program.child.stdin);
    await once(program.child.stdout, 'data');
    program.child.stdout.destroy();
    expect(await program.end()).toMatchObject({ code: 0, err: '' });
  });

  it('end on Ctrl-C without a stack trace', async () => {
    const program = start('decode', '--json').listen();
    program.child.stdin.write(`${idAt(1)}\n`);
    await once(program.child.stdout, 'data');
    program.child.kill('SIGINT');
    expect(await program.end()).toMatchObject({ signal: 'SIGINT', err: '' });
  });
});

// With any Redis client as the only one installed, every command that takes a URL works.
describe('a single Redis client', () => {
  const PACKAGES = ['ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide'];

  const COMMANDS = [
    'registry create --yes',
    'registry inspect',
    'workers',
    'release 0 --yes',
    'counters create order --start 1 --yes',
    'counters inspect order',
    'counters list',
    'locks create --yes',
    'locks',
    'doctor',
  ];

  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes'] });
  });
  afterAll(() => server.stop());

  describe.each(PACKAGES)('with only %s installed', (name) => {
    it('runs every command', async () => {
      const url = `${server.url}?namespace=${randomUUID()}`;
      const support = supportFromUrl(url);
      const said: string[] = [];
      let answers = '';
      for (const words of COMMANDS) {
        if (words.startsWith('release')) await support.getNextWorkId(request());
        const args = [...words.split(' '), '--support', url, '--timeout', '60000'];
        const flags = withoutPackages(PACKAGES.filter((other) => other !== name));
        const { code, out, err } = await new RunningProgram(folder, args, flags).listen().end();
        said.push(`${words}: ${code}${code === 0 ? '' : err}`);
        answers += out;
      }
      await support.close();
      expect(said).toEqual(COMMANDS.map((words) => `${words}: 0`));
      expect(answers).toContain(`asked by the package ${name}.\n`);
    });
  });
});
