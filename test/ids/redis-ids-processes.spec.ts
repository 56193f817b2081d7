/**
 * Ids made in a real Redis by processes of their own, of which some are killed; and nodes that are
 * given in another order, or are more or fewer, than those that made ids before.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { SnowflakeError } from 'nestjs-snowflake';
import { startRedisIds } from 'nestjs-snowflake/redis-ids';
import { RedisLab } from '../stores/redis-lab.js';
import { bundledScript } from '../threads/compiled-library.js';

const LINE_COUNT = 20;
const LINES_OF_EACH = 15;

const lab = new RedisLab();
let script: string;
beforeAll(async () => {
  Logger.overrideLogger(false);
  script = await bundledScript('segments/segments-worker.mjs');
}, 300_000);
afterAll(() => lab.end());

/** Ids of one process, in the order in which it told them, until it is ended by the signal. */
async function idsOf(redisIds: object, signal: NodeJS.Signals): Promise<bigint[]> {
  const env = { ...process.env, WORKER: JSON.stringify({ redisIds }), NODE_ENV: 'test' };
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    if (line.split(' ').length === LINE_COUNT) lines.push(line);
    if (lines.length === LINES_OF_EACH) child.kill(signal);
  }
  await ended;
  if (lines.length < LINES_OF_EACH) throw new Error(`A process ended by itself:\n${said}`);
  return lines.flatMap((line) => line.split(' ').map(BigInt));
}

const isRising = (ids: readonly bigint[]): boolean =>
  ids.every((id, at) => at === 0 || ids[at - 1]! < id);

describe('processes that make ids in one Redis', () => {
  it('make none twice, each in rising order, whichever of them are killed', async () => {
    const namespace = randomUUID();
    const url = `${process.env['REDIS_URL']!}?namespace=${namespace}&lossWindowMs=100`;
    const given = { redis: url, tag: 'order' };
    const pair = () => Promise.all([idsOf(given, 'SIGKILL'), idsOf(given, 'SIGTERM')]);
    const first = await pair();
    const later = await pair();
    const all = [...first, ...later];
    expect(all.every(isRising)).toBe(true);
    expect(all.flat().length).toBeGreaterThanOrEqual(4 * LINES_OF_EACH * LINE_COUNT);
    expect(new Set(all.flat()).size).toBe(all.flat().length);
    // Over all processes: whatever was made later is higher.
    const highest = first.flat().reduce((a, b) => (a > b ? a : b));
    expect(later.flat().every((id) => id > highest)).toBe(true);
  });
});

describe('three nodes', () => {
  it('are refused in another order, or as another number of them', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => lab.server('--appendonly', 'yes')));
    const [a, b, c] = servers.map(({ port }) => `redis://127.0.0.1:${port}`) as [
      string,
      string,
      string,
    ];
    const started = (redis: string[]) =>
      startRedisIds({ redis, tag: 'order', lossWindowMs: 100, callTimeoutMs: 2000 });
    const right = await started([a, b, c]);
    await right.ids.nextIdsAsync(100);
    await right.close();
    for (const wrong of [[b, a, c], [a, b], [a]]) {
      const failure = await started(wrong).catch((error: SnowflakeError) => error);
      expect(failure).toMatchObject({ code: 'COUNTER_MISMATCH', retryable: false });
      expect((failure as Error).message).toMatch(/[123]\/3/);
    }
    const again = await started([a, b, c]);
    expect(await again.ids.nextIdsAsync(10)).toHaveLength(10);
    await again.close();
  });
});
