/**
 * Every command that takes a URL works with whichever client of Redis is installed, the only one.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { request } from '../stores/redis-lab.js';
import { compiledLibrary } from '../threads/compiled-library.js';
import { withoutPackages, RunningProgram } from './run-command.js';

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

let folder: string;
let server: Awaited<ReturnType<typeof startRedis>>;
beforeAll(async () => {
  folder = await compiledLibrary();
  server = await startRedis({ args: ['--appendonly', 'yes'] });
});
afterAll(() => server.stop());

describe.each(PACKAGES)('where %s alone is installed', (name) => {
  it('every command answers', async () => {
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
