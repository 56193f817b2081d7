/**
 * Counters in a Redis that syncs its append-only file every second, on a slow disk.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { DenseTake } from '../../lib/counters/counter-store.js';
import { RedisCounters } from '../../lib/stores/redis/index.js';
import { SlowDisk } from '../../scripts/servers/slow-disk.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { RedisLab } from '../stores/redis-lab.js';
import { until, untilTime } from '../until.js';

describe('numbers from a Redis on a slow disk', () => {
  const LOSS_WINDOW_MS = 2000;
  const TAKE: DenseTake = {
    kind: 'dense',
    counter: 'c',
    count: 1n,
    have: 0n,
    lossGap: 10n,
    startAt: 1n,
    stores: '1/1',
  };

  const lab = new RedisLab();
  const opened: RedisCounters[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  afterAll(() => lab.end());

  function countersAt(port: number): RedisCounters {
    const store = new RedisCounters({ redis: `redis://127.0.0.1:${port}` });
    opened.push(store);
    return store;
  }

  /** A Redis that syncs every second, in a permanent folder, and the disk below it. */
  async function onSlowDisk() {
    const folder = mkdtempSync(`${tmpdir()}/snowflake-counters-`);
    const disk = new SlowDisk(`${folder}/disk`);
    const args = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'everysec'];
    return { disk, folder, args, ...(await startRedis({ args, env: disk.env })) };
  }

  it('are not granted again after a hanging fsync and a power loss', async () => {
    const { disk, folder, args, ...before } = await onSlowDisk();
    const many = { ...TAKE, count: 100n, lossGap: 1000n };
    const store = countersAt(before.port);
    await until(async () => (await store.take(many)).status === 'ok');
    disk.hold(true);
    const endMs = Date.now() + 4 * LOSS_WINDOW_MS;
    let end = 0n;
    await until(async () => {
      const answer = await store.take(many);
      if (answer.status === 'ok') ({ end } = answer);
      return Date.now() > endMs;
    });
    await before.stop();
    disk.cut(`${folder}/appendonlydir/appendonly.aof.1.incr.aof`);

    await using _after = await startRedis({ port: before.port, args });
    try {
      const newcomer = countersAt(before.port);
      let first = 0n;
      await until(async () => {
        const answer = await newcomer.take(many).catch(() => undefined);
        if (answer?.status === 'ok') ({ first } = answer);
        return first > 0n;
      });
      expect(first).toBeGreaterThanOrEqual(end);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('continue once a hanging fsync has ended, without a loss', async () => {
    const { disk, folder, port, stop } = await onSlowDisk();
    const admin = lab.client(port);
    const clock = { kind: 'clock', counter: 'ids', count: 1n, have: 0n } as const;
    const ids = { ...clock, perMs: 1, aheadMs: 60_000, stores: '1/1' };
    const store = countersAt(port);
    const hangs = async () => {
      disk.hold(true);
      await until(async () => {
        await admin.incr('written');
        return (await admin.info('persistence')).includes('aof_pending_bio_fsync:1');
      });
    };
    try {
      await until(async () => (await store.take(TAKE)).status === 'ok');
      await until(async () => (await store.take(ids)).status === 'ok');
      // Each of these is stored, and then has to reach an age.
      await until(async () => {
        await store.take({ ...TAKE, counter: 'young' });
        return (await admin.hexists(store.key, 'c:young')) === 1;
      });
      await hangs();
      const stored = await admin.hget(store.key, 'c:young');
      await untilTime(Date.now() + LOSS_WINDOW_MS);
      expect(await store.take({ ...TAKE, counter: 'young' })).toMatchObject({ status: 'wait' });
      // Counters that must be stored first are not stored, so their wait does not begin.
      for (const take of [
        { ...TAKE, counter: 'new' },
        { ...TAKE, lossGap: 20n },
        { ...ids, counter: 'new' },
      ]) {
        expect(await store.take(take)).toMatchObject({ status: 'wait', waitMs: 100 });
      }
      expect(await admin.hexists(store.key, 'c:new')).toBe(0);
      expect(await admin.hget(store.key, 'c:young')).toBe(stored);
      // Counters that are already on disk continue, and a dense counter only within its window.
      expect(await store.take(ids)).toMatchObject({ status: 'ok' });
      let answer = await store.take(TAKE);
      while (answer.status === 'ok') answer = await store.take(TAKE);
      expect(answer).toMatchObject({ status: 'wait', waitMs: 100 });
      disk.hold(false);
      for (const counter of ['c', 'young', 'new']) {
        await until(async () => (await store.take({ ...TAKE, counter })).status === 'ok');
      }
    } finally {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
