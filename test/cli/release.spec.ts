/**
 * A forced release never shortens a range: the next holder of the worker ID starts above it.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgetHolder } from '../../lib/cli/commands/release.js';
import { layouts } from '../../lib/core/layout/presets.js';
import { inspectorFromUrl } from '../../lib/stores/redis/redis-inspector.js';
import { regionsFingerprint } from '../../lib/lease/region-claim.js';
import type { LeaseAnswer, LeaseGrant } from '../../lib/lease/distributed-support.js';
import type { RegistryInspector } from '../../lib/registry/snapshot.js';
import { command, typing, Tenants, type Held, type Tenant } from './run-command.js';
import { headerOf, slotOf } from '../stores/timed-redis.js';
import { until, untilTime } from '../until.js';

const REDIS_URL = process.env['REDIS_URL']!;
const tenants = new Tenants(REDIS_URL);
const redis = new Redis(REDIS_URL);

afterAll(async () => {
  await tenants.close();
  await redis.quit();
});

function world() {
  const namespace = randomUUID();
  const release = (worker: number, ...rest: string[]) => [
    'release',
    String(worker),
    '--support',
    `${REDIS_URL}?namespace=${namespace}`,
    ...rest,
  ];
  const key = `snowflake:{${namespace}}:registry`;
  const store = () => inspectorFromUrl(`${REDIS_URL}?namespace=${namespace}`);
  return { tenant: tenants.of(namespace), release, key, store };
}

/** The same store, but `disturb` runs once between the read and the release. */
async function disturbed(store: RegistryInspector, disturb: () => Promise<unknown>, token: string) {
  let isDone = false;
  const disturbing: RegistryInspector = {
    where: store.where,
    key: store.key,
    lossWindowMs: store.lossWindowMs,
    read: () => store.read(),
    findings: () => store.findings(),
    close: () => store.close(),
    release: async (...given) => {
      if (!isDone) await disturb();
      isDone = true;
      return store.release(...given);
    },
  };
  const fault = await forgetHolder(disturbing, 0, token);
  await store.close();
  return fault;
}

describe('release', () => {
  it('removes the holder and leaves the ceiling unchanged', async () => {
    const { tenant, release, key } = world();
    const held = await tenant.acquire();
    const before = await headerOf(redis, key);
    const answer = await command(release(0, '--yes'));
    expect(answer).toMatchObject({ code: 0 });
    expect(answer.out).toContain(new Date(held.ceilingMs).toISOString());
    expect(await slotOf(redis, key, 0)).toEqual({ ceilingMs: held.ceilingMs });
    expect(await redis.hexists(key, `t:${held.lease.token}`)).toBe(0);
    const { quarantineMs, safeFloorMs, era } = before;
    expect(await headerOf(redis, key)).toMatchObject({ quarantineMs, safeFloorMs, era });
  });

  it('takes no number from a region, which keeps it', async () => {
    const { tenant, release, key } = world();
    const ofRegions = { fingerprint: regionsFingerprint(3), workerIdMin: 2, workerIdMax: 2 };
    const { workerId, lease } = await tenant.acquire(ofRegions);
    const { code, err } = await command(release(workerId, '--yes'));
    expect([code, err]).toEqual([1, expect.stringContaining('registry of regions')]);
    expect(await redis.hexists(key, `t:${lease.token}`)).toBe(1);
  });

  it('lets a living holder use up its range before its worker ID is leased again', async () => {
    const { tenant, release } = world();
    const held = await tenant.acquire({ ttlMs: 600 });
    await command(release(0, '--yes'));
    expect(await tenant.renew(held)).toMatchObject({ status: 'unknown' });
    const only = { ttlMs: 600, workerIdMin: 0, workerIdMax: 0 };
    const answers: LeaseAnswer[] = [];
    await until(async () => {
      answers.push(await tenant.ask(only).answer);
      return answers.at(-1)!.status === 'ok';
    });
    const next = answers.pop() as LeaseGrant;
    expect(next.floorMs).toBeGreaterThanOrEqual(held.ceilingMs);
    expect(answers.filter(({ status }) => status !== 'none-free')).toEqual([]);
  });

  it('keeps a ceiling that rises while the operator decides', async () => {
    const { tenant, release, key } = world();
    const held = await tenant.acquire();
    await untilTime(held.nowMs!);
    const renew = () => tenant.renew(held);
    const answer = await command(release(0), { stdin: typing('yes', renew) });
    expect(answer.code).toBe(0);
    expect(held.lease.haveMs).toBeGreaterThan(held.ceilingMs);
    expect((await slotOf(redis, key, 0)).ceilingMs).toBe(held.lease.haveMs);
  });

  it('does not take the worker ID from another process that got it in the meantime', async () => {
    const { tenant, release, key } = world();
    const only = { workerIdMax: 0 };
    const held = await tenant.acquire(only);
    const change = async () => {
      await tenant.release(held);
      await until(async () => (await tenant.ask(only).answer).status === 'ok');
    };
    const answer = await command(release(0), { stdin: typing('yes', change) });
    expect(answer).toMatchObject({ code: 1, out: '' });
    expect(answer.err).toContain('Another process now holds');
    expect((await slotOf(redis, key, 0)).token).toBeDefined();
  });

  it('changes nothing without confirmation', async () => {
    const { tenant, release, key } = world();
    await tenant.acquire();
    const before = await redis.hgetall(key);
    expect((await command(release(0), { stdin: typing('no') })).code).toBe(1);
    expect((await command(release(0))).code).toBe(2);
    expect(await redis.hgetall(key)).toEqual(before);
  });

  it('lets copies of a process still detect each other', async () => {
    const { tenant, release, key } = world();
    const held = await tenant.acquire();
    const copy = { ...held, lease: { ...held.lease, nonceNext: randomUUID() } };
    await tenant.renew(held);
    expect(await tenant.renew(copy)).toMatchObject({ status: 'cloned' });
    const before = await redis.hgetall(key);
    const answer = await command(release(0, '--yes'));
    expect(answer).toMatchObject({ code: 1, out: '' });
    expect(await redis.hgetall(key)).toEqual(before);
    expect(await tenant.renew(held)).toMatchObject({ status: 'cloned' });
  });

  it('creates no registry if the old one was lost in the meantime', async () => {
    const { tenant, release, key } = world();
    await tenant.acquire();
    const lose = () => redis.del(key);
    await command(release(0), { stdin: typing('yes', lose) });
    expect(await redis.exists(key)).toBe(0);
  });

  it('keeps a ceiling that a repeated renewal raises at the last moment', async () => {
    const { tenant, key, store } = world();
    const held = await tenant.acquire();
    const sent = { ...held };
    await tenant.renew(held);
    await untilTime(held.nowMs!);
    // The answer was lost, so the holder repeats the same nonces, and the chain does not advance.
    const repeat = () => tenant.renew(sent);
    expect(await disturbed(store(), repeat, held.lease.token)).toBeUndefined();
    expect(sent.lease.haveMs).toBeGreaterThan(held.lease.haveMs);
    expect(await slotOf(redis, key, 0)).toEqual({ ceilingMs: sent.lease.haveMs });
  });

  it('tries again if the holder renews at the last moment', async () => {
    const { tenant, key, store } = world();
    const held = await tenant.acquire();
    const renew = () => tenant.renew(held);
    expect(await disturbed(store(), renew, held.lease.token)).toBeUndefined();
    expect(await slotOf(redis, key, 0)).toEqual({ ceilingMs: held.lease.haveMs });
  });

  it('grants no forgotten range if the registry is lost at the last moment', async () => {
    const { tenant, key, store } = world();
    const held = await tenant.acquire({ ttlMs: 300_000 });
    expect(await disturbed(store(), () => redis.del(key), held.lease.token)).toBeUndefined();
    const { safeFloorMs, quarantineMs } = await headerOf(redis, key);
    expect([quarantineMs, (await slotOf(redis, key, 0)).ceilingMs]).toEqual([300_000, 0]);
    expect(safeFloorMs).toBeGreaterThanOrEqual(held.ceilingMs);
  });

  it.each([
    [5, 'never leased'],
    [1, 'is free'],
  ])('does nothing for worker ID %d, which has no holder', async (worker, said) => {
    const { tenant, release, key } = world();
    await tenant.acquire();
    await tenant.release(await tenant.acquire());
    await until(async () => (await tenant.support.workers()).some(({ freeInMs }) => freeInMs <= 0));
    const before = await redis.hgetall(key);
    const answer = await command(release(worker, '--yes'));
    expect(answer).toMatchObject({ code: 0, err: '' });
    expect(answer.out).toContain(said);
    expect(await redis.hgetall(key)).toEqual(before);
  });
});

describe('release of a worker ID that cannot be held', () => {
  it('is rejected if the layout has no such worker ID', async () => {
    const { tenant, release } = world();
    const { fingerprint } = layouts.snowflake();
    await tenant.acquire({ fingerprint });
    const answer = await command(release(99_999, '--yes'));
    expect(answer).toMatchObject({ code: 2, out: '' });
    expect(answer.err).toContain(
      `from 0 to 1023, as in the layout of this registry, ${fingerprint}`,
    );
    expect(await command(release(1023, '--yes'))).toMatchObject({ code: 0, err: '' });
  });

  it('is rejected if there is no registry', async () => {
    const answer = await command(world().release(0, '--yes'));
    expect(answer).toMatchObject({ code: 1, out: '' });
    expect(answer.err).toContain('There is no registry yet');
  });
});

interface Range {
  readonly workerId: number;
  readonly floorMs: number;
  ceilingMs: number;
}

/** Leases, renews and sometimes repeats a renewal; records every granted range. */
async function live(tenant: Tenant, ranges: Range[], isOver: () => boolean): Promise<void> {
  let held: Held | undefined;
  let range: Range | undefined;
  while (!isOver()) {
    // Random pauses make the renewals meet the releases at any point.
    await sleep(Math.random() * 20);
    if (held === undefined) {
      const terms = { ttlMs: 120, minRangeMs: 10, workerIdMax: 2 };
      held = await tenant.acquire(terms).catch(() => undefined);
      if (held === undefined) continue;
      const { workerId, floorMs, ceilingMs } = held;
      range = { workerId, floorMs, ceilingMs };
      ranges.push(range);
    }
    const sent = { ...held, lease: held.lease };
    const answer = await tenant.renew(held);
    // The answer was lost, so the holder repeats the request with the same nonces.
    const again = Math.random() < 0.5 ? await tenant.renew(sent) : undefined;
    for (const each of [answer, again]) {
      if (each?.status === 'ok') range!.ceilingMs = Math.max(range!.ceilingMs, each.ceilingMs);
    }
    if (answer.status !== 'ok' || (again && again.status !== 'ok')) held = undefined;
  }
}

describe('releases during renewals', () => {
  it('never let two ranges of a worker ID overlap', async () => {
    const { tenant, release } = world();
    const ranges: Range[] = [];
    let isOver = false;
    const lives = Array.from({ length: 4 }, () => live(tenant, ranges, () => isOver));
    const codes: number[] = [];
    for (let count = 0; !isOver; count++) {
      codes.push((await command(release(count % 3, '--yes'))).code);
      isOver = ranges.length > 40 && codes.filter((code) => code === 0).length > 20;
    }
    await Promise.all(lives);
    const sorted = ranges.toSorted((a, b) => a.workerId - b.workerId || a.floorMs - b.floorMs);
    const overlaps = sorted.filter((range, at) => {
      const before = sorted[at - 1];
      return before?.workerId === range.workerId && before.ceilingMs > range.floorMs;
    });
    expect(overlaps).toEqual([]);
  });
});
