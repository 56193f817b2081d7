/**
 * A start that fails after its lease was held: the worker id is given back, the connections are
 * closed, and a process that has nothing else to do ends.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { redisSupport } from 'nestjs-snowflake/redis';
import { bundledScript } from '../threads/compiled-library.js';

const REDIS_URL = process.env['REDIS_URL']!;
/** Compiling on a busy machine takes a minute; a hang takes for ever. */
const SLOW = 300_000;

let script: string;
beforeAll(async () => {
  script = await bundledScript('nest/ending-application.mjs');
}, SLOW);

async function outcomeOf(way: string) {
  const namespace = randomUUID();
  const APPLICATION = JSON.stringify({ way, support: `${REDIS_URL}?namespace=${namespace}` });
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, APPLICATION },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: SLOW / 2,
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const support = redisSupport({ redis: REDIS_URL, namespace });
  const workers = await support.workers();
  await support.close();
  const heldCount = workers.filter(({ holder }) => holder !== undefined).length;
  return { ...(JSON.parse(output) as object), exitCode, usedCount: workers.length, heldCount };
}

describe('a start that fails', () => {
  it.each([
    ['an integration', 'planted'],
    ['a name taken in the scheduler', 'already exists in the SchedulerRegistry'],
    ['a second generator', 'No worker id was leased'],
    ['a script', 'planted'],
  ])(
    'because of %s gives the worker id back and lets the process end',
    async (way, message) => {
      expect(await outcomeOf(way)).toMatchObject({
        message: expect.stringContaining(message),
        exitCode: 0,
        usedCount: 1,
        heldCount: 0,
      });
    },
    SLOW,
  );

  it(
    'because of two generators without a name leases nothing',
    async () => {
      expect(await outcomeOf('two without a name')).toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('registered 2 times without a `name`'),
        exitCode: 0,
        usedCount: 0,
      });
    },
    SLOW,
  );
});
