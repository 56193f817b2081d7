/**
 * A real BullMQ application under SIGTERM, in every order of imports: the job generates IDs until
 * it ends, then the application releases its worker ID.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { redisSupport } from 'nestjs-snowflake/redis';
import { bundledScript } from '../support/builds.mjs';

const REDIS_URL = process.env['REDIS_URL']!;
/** Compiling on a busy machine takes a minute. A hang never ends. */
const SLOW = 300_000;

let script: string;
let redis: Redis;
beforeAll(async () => {
  redis = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
  script = await bundledScript('nest/bullmq-application.mjs');
}, SLOW);
afterAll(async () => {
  await redis?.quit();
});

type Part = 'bull' | 'schedule' | 'snowflake';

interface Case {
  readonly order: readonly Part[];
  readonly isGlobal?: boolean;
  /** Names of generators. Null stands for the generator without a name. */
  readonly names?: readonly (string | null)[];
  readonly sharesConnection?: boolean;
}

/** Starts the application with a job, stops it while the job runs, and returns the outcome. */
async function stopped(asked: Case) {
  const namespace = randomUUID();
  const settings = { isGlobal: true, names: [null], sharesConnection: false, ...asked };
  const queue = new Queue(namespace, { connection: redis });
  const APPLICATION = JSON.stringify({ ...settings, url: REDIS_URL, namespace, queue: namespace });
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, APPLICATION },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const said: Record<string, unknown> = {};
  await queue.add('work', {});
  for await (const line of createInterface({ input: child.stdout })) {
    Object.assign(said, line.startsWith('{') ? JSON.parse(line) : { log: line });
    if (said['ready'] && said['running'] && !child.killed) child.kill('SIGTERM');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const { failed, completed } = await queue.getJobCounts('failed', 'completed');
  const [job] = await queue.getJobs(['failed']);
  await queue.close();
  const holders = await Promise.all(settings.names.map((name) => holdersIn(namespace, name)));
  return { failed, completed, reason: job?.failedReason, said, errors, holders };
}

async function holdersIn(namespace: string, name: string | null): Promise<number> {
  const support = redisSupport({ redis: REDIS_URL, namespace: `${namespace}-${name ?? ''}` });
  const workers = await support.workers();
  await support.close();
  return workers.filter(({ holder }) => holder !== undefined).length;
}

const ORDERS: readonly (readonly Part[])[] = [
  ['bull', 'schedule', 'snowflake'],
  ['bull', 'snowflake', 'schedule'],
  ['schedule', 'bull', 'snowflake'],
  ['schedule', 'snowflake', 'bull'],
  ['snowflake', 'bull', 'schedule'],
  ['snowflake', 'schedule', 'bull'],
];

const WORST = ORDERS[0]!;

/** A clean shutdown, with IDs in the first and in the last hook of the global module. */
function goodEnd({ names = [null] }: Case): unknown {
  const ids = names.map(() => expect.stringMatching(/^\d+$/));
  return {
    failed: 0,
    completed: 1,
    reason: undefined,
    errors: '',
    holders: names.map(() => 0),
    said: expect.objectContaining({ first: ids, last: ids }),
  };
}

describe('a job that generates IDs until the application has ended', () => {
  it.each(ORDERS)(
    'does not fail with the imports %s, %s, %s',
    async (...order) => expect(await stopped({ order })).toEqual(goodEnd({ order })),
    SLOW,
  );

  it.each<[string, Case]>([
    ['if the generator is not global', { order: WORST, isGlobal: false }],
    ['with several generators', { order: WORST, names: [null, 'orders', 'tickets'] }],
    ['on the connection that BullMQ uses', { order: WORST, sharesConnection: true }],
  ])(
    'does not fail %s',
    async (_, asked) => expect(await stopped(asked)).toEqual(goodEnd(asked)),
    SLOW,
  );
});
