/**
 * workers, registry and doctor on real Redis servers.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { layouts } from 'nestjs-snowflake/core';
import { countersFromUrl } from '../../lib/stores/redis/redis-counters.js';
import { redisLocks } from '../../lib/stores/redis/redis-locks.js';
import { supportOf } from '../../lib/stores/schemes.js';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { leased } from '../stores/sql-lab.js';
import { command, typing, Tenants } from './run-command.js';
import { changeHeader, settleRegistry, slotOf } from '../stores/timed-redis.js';
import { until } from '../until.js';

const REDIS_URL = process.env['REDIS_URL']!;
const { fingerprint } = layouts.snowflake();
const tenants = new Tenants(REDIS_URL);
const servers: { stop(): Promise<void> }[] = [];

afterAll(async () => {
  await tenants.close();
  await Promise.all(servers.map((server) => server.stop()));
});

async function server(...args: string[]): Promise<string> {
  const started = await startRedis({ args });
  servers.push(started);
  return started.url;
}

/** Accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.resume()));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  };
  servers.push({ stop });
  return (silent.address() as AddressInfo).port;
}

function location(url = REDIS_URL): string[] {
  return ['--support', `${url}?namespace=${randomUUID()}`];
}

const DAY_MS = 86_400_000;
const namespaceOf = ([, url]: readonly string[]): string => url!.split('namespace=')[1]!;
const json = ({ lines }: { lines: string[] }) => lines.map((l) => JSON.parse(l) as object);

const findings = async (...args: string[]) => {
  const answer = await command(['doctor', '--json', ...args]);
  return { ...answer, found: json(answer) as { level: string; topic: string; text: string }[] };
};

describe('a registry ahead of its store', () => {
  it('can be settled with every ceiling, and the command names the ranges ahead', async () => {
    const at = location();
    const key = `snowflake:{${namespaceOf(at)}}:registry`;
    const redis = new Redis(REDIS_URL);
    const support = await supportOf(at[1]!, new Map());
    await leased(support, { fingerprint });
    // The state after the store's clock was a year ahead for a moment.
    await changeHeader(redis, key, { slewMs: 365 * 24 * 3_600_000 });
    const { workerId, ceilingMs } = await leased(support, { fingerprint });
    const dry = await command(['registry', 'settle', '--dry', ...at]);
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining(`${workerId} (held)`) });
    // A question mark would replace a control character.
    expect(dry.out).not.toContain('?');
    expect((await findings(...at)).found).toContainEqual(
      expect.objectContaining({ level: 'warning', topic: 'clock' }),
    );
    expect(await command(['registry', 'settle', '--yes', ...at])).toMatchObject({ code: 0 });
    expect(await slotOf(redis, key, workerId)).toMatchObject({ ceilingMs });
    const next = await leased(support, { fingerprint });
    expect(next.ceilingMs).toBeLessThan(Date.now() + 3_600_000);
    const again = await command(['registry', 'settle', '--yes', ...at]);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('not ahead') });
    await support.close?.();
    await redis.quit();
  });
});

describe('locks ahead of their store', () => {
  it('can be settled without a registry, and end in time', async () => {
    const at = location();
    const redis = new Redis(REDIS_URL);
    const locks = redisLocks({ redis, namespace: namespaceOf(at), lossWindowMs: 0 });
    const asked = { lock: 'job', holder: 'x', label: 'x', ttlMs: 1000, longestMs: 1000, have: 0n };
    await locks.acquire(asked);
    // The state after the clock was a day ahead, and no process corrected it.
    await redis.hincrby(locks.key, 'slew', DAY_MS);
    expect(await locks.acquire(asked)).toMatchObject({ status: 'ok' });
    const dry = await command(['registry', 'settle', '--dry', ...at]);
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining('The locks are 24 h') });
    expect(await locks.locks()).toHaveLength(1);
    expect(await command(['registry', 'settle', '--yes', ...at])).toMatchObject({ code: 0 });
    expect(await redis.hget(locks.key, 'slew')).toBe('0');
    expect((await locks.locks())[0]?.leftMs ?? 0).toBeLessThanOrEqual(1000);
    const again = await command(['registry', 'settle', '--yes', ...at]);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('no registry') });
    await locks.close();
    await redis.quit();
  });
});

describe('an unreachable store', () => {
  // ioredis keeps a timer of two seconds after a failed connection.
  afterAll(() => sleep(2100));

  it.each([
    ['no process listens', async () => 1, 'ECONNREFUSED'],
    ['the server stays silent', silentPort, 'did not answer within 500 ms'],
  ])('is reported if %s, without its password', async (_where, port, said) => {
    const url = `redis://u:secret@127.0.0.1:${await port()}`;
    const { code, out, err } = await findings('--support', url, '--timeout', '500');
    expect([code, err]).toEqual([1, '']);
    expect(out).toContain(said);
    expect(out).not.toContain('secret');
    expect(out).not.toContain('repeated');
    const workers = await command(['workers', '--support', url, '--timeout', '500']);
    expect(workers).toMatchObject({ code: 1, out: '' });
  });

  it('is reported with the reason if no Sentinel is reachable', async () => {
    const url = 'redis+sentinel://:secret@127.0.0.1:1/mymaster';
    const { code, out, err } = await command(['workers', '--support', url, '--timeout', '500']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('All sentinels are unreachable');
    expect(err).not.toContain('secret');
  });

  it('is reported if the password is missing or wrong', async () => {
    const url = await server('--requirepass', 'secret');
    const codes = { NOAUTH: url, WRONGPASS: url.replace('//', '//:other@') };
    for (const [reply, support] of Object.entries(codes)) {
      for (const name of ['workers', 'doctor']) {
        const { code, out, err } = await command([name, '--support', support]);
        expect(code).toBe(1);
        expect(out + err).toContain(reply);
        expect(out + err).not.toContain('other');
      }
    }
    const right = await command(['workers', '--support', url.replace('//', '//:secret@')]);
    expect(right.err).toContain('There is no registry yet');
  });
});

describe('workers', () => {
  it('shows each holder with its worker ID, and the number of free worker IDs', async () => {
    const at = location();
    const tenant = tenants.of(namespaceOf(at));
    await tenant.acquire({ holder: { host: 'h', pid: 7, application: 'shop', version: '1.2.3' } });
    const gone = await tenant.acquire();
    await tenant.release(gone);
    const [held, counts] = json(await command(['workers', '--json', ...at]));
    expect(held).toMatchObject({ workerId: 0, host: 'h', pid: 7, application: 'shop' });
    expect(held).toMatchObject({ version: '1.2.3' });
    expect(counts).toMatchObject({ held: 1, workers: 1024 });
    const { out } = await command(['workers', ...at]);
    expect(out).toMatch(/^ +worker|^worker/);
    expect(out).toMatch(/\n +0 +h +7 +shop +1\.2\.3 +\d{4}-.*Z +\d{4}-.*Z +\d+ s\n/);
    expect(out).toMatch(/1 held, .*of 1024 free\./);
  });

  it('replaces control characters in the name of a holder', async () => {
    const at = location();
    const application = 'a\u001b[2Jb\u202e\nc';
    const version = '1\u001b[2J';
    const holder = { host: 'h', pid: 1, application, version };
    await tenants.of(namespaceOf(at)).acquire({ holder });
    const { out } = await command(['workers', ...at]);
    expect(out).toMatch(/a\?\[2Jb\?\?c +1\?\[2J/);
  });

  it('reports a missing registry and does not create it', async () => {
    const at = location();
    const { code, out, err } = await command(['workers', ...at]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`(snowflake:{${namespaceOf(at)}}:registry)`);
    expect(await command(['workers', '--json', ...at])).toMatchObject({ code: 1, out: '', err });
    // The namespace may be misspelled, so each command names the key that it read.
    expect(await command(['release', '1', ...at])).toMatchObject({ code: 1, out: '', err });
    expect(await command(['registry', 'inspect', ...at])).toMatchObject({ code: 1 });
    expect((await command(['doctor', ...at])).out).toContain('None yet');
    const redis = new Redis(REDIS_URL);
    expect(await redis.exists(`snowflake:{${namespaceOf(at)}}:registry`)).toBe(0);
    await redis.quit();
  });

  it('reads the support from the environment', async () => {
    const env = { SNOWFLAKE_SUPPORT: location()[1]! };
    const { err } = await command(['workers'], { env });
    expect(err).toContain(namespaceOf(['--support', env.SNOWFLAKE_SUPPORT]));
  });
});

describe('registry create', () => {
  it('creates a registry without a layout, and fails if one exists', async () => {
    const at = location();
    const created = await command(['registry', 'create', '--yes', ...at]);
    expect(created).toMatchObject({ code: 0 });
    expect(created.out).toContain('none yet; the first process that leases sets it');
    const [seen] = json(await command(['registry', 'inspect', '--json', ...at]));
    expect(seen).toMatchObject({ fingerprint: '', era: 1, quarantineMs: 60_000, held: 0 });
    const released = await command(['release', '99999', '--yes', ...at]);
    expect(released.out).toMatch(
      /^Worker id 99999 was never leased\. The registry \(.*\) is for no layout/,
    );
    const again = await command(['registry', 'create', '--ttl', '600000', '--yes', ...at]);
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toContain('already exists');
    const { operations } = seen as { operations: number };
    const after = json(await command(['registry', 'inspect', '--json', ...at]));
    expect(after).toMatchObject([{ fingerprint: '', quarantineMs: 60_000, operations }]);
  });

  it('starts ranges above all that may be forgotten, and no option turns this off', async () => {
    const at = location();
    expect(await command(['registry', 'create', '--trust', '--yes', ...at])).toMatchObject({
      code: 2,
    });
    await command(['registry', 'create', '--ttl', '30000', '--yes', ...at]);
    const { floorMs, nowMs } = await tenants.of(namespaceOf(at)).acquire({ ttlMs: 30_000 });
    expect(floorMs - nowMs!).toBeGreaterThan(25_000);
    const [seen] = json(await command(['registry', 'inspect', '--json', ...at]));
    expect(seen).toMatchObject({ fingerprint });
  });

  it('asks for confirmation, and accepts only yes', async () => {
    const at = location();
    const no = await command(['registry', 'create', ...at], { stdin: typing('y') });
    expect(no.code).toBe(1);
    expect((await command(['registry', 'create', ...at])).code).toBe(2);
    expect((await command(['registry', 'inspect', ...at])).code).toBe(1);
    const yes = await command(['registry', 'create', ...at], { stdin: typing('yes') });
    expect(yes.code).toBe(0);
  });

  it('rejects a ttl that no process may have', async () => {
    const wrong = await command(['registry', 'create', '--ttl', '5', '--yes', ...location()]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('10000 to 600000');
  });
});

describe('doctor', () => {
  it('finds nothing wrong with a healthy server, and changes nothing', async () => {
    const at = location(await server());
    await command(['registry', 'create', '--yes', ...at]);
    const before = await command(['registry', 'inspect', '--json', ...at]);
    const { code, found, err } = await findings(...at);
    expect([code, err]).toEqual([0, '']);
    expect(found.map(({ topic }) => topic)).toEqual(
      expect.arrayContaining(['connection', 'clock', 'version', 'registry', 'worker ids']),
    );
    expect(found[0]!.text).toContain('database 0 answers in');
    const [first] = json(before) as [{ operations: number; era: number }];
    const { operations, era } = first;
    const after = await command(['registry', 'inspect', '--json', ...at]);
    expect(json(after)).toMatchObject([{ operations, era }]);
  });

  it('names a missing database', async () => {
    const { code, found } = await findings('--support', `${await server()}/99`);
    expect([code, found.length]).toEqual([1, 1]);
    expect(found[0]).toMatchObject({ level: 'fault', text: expect.stringMatching(/database 99/) });
  });

  it.each([
    [['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'], 'may evict any key'],
    [['--maxmemory', '1mb', '--maxmemory-policy', 'noeviction'], 'of maxmemory is used'],
    [['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'], 'not ready|node of a'],
    [['--replicaof', '127.0.0.1', '1'], 'is a replica'],
  ])('warns of a server with %p', async (args, said) => {
    const { code, found } = await findings(...location(await server(...args)));
    expect(code).toBe(1);
    const wrong = found.filter(({ level }) => level === 'warning' || level === 'fault');
    expect(wrong.map(({ text }) => text).join()).toMatch(new RegExp(said));
  });

  it('warns about counters without an append-only file, and only about them', async () => {
    const at = location(await server('--appendonly', 'no'));
    const persistence = async () =>
      (await findings(...at)).found.find(({ topic }) => topic === 'persistence');
    expect(await persistence()).toMatchObject({ level: 'ok' });
    const counters = countersFromUrl(`${at[1]}&lossWindowMs=0`);
    await counters.create({ counter: 'order', start: 1n });
    await counters.close();
    expect(await persistence()).toMatchObject({
      level: 'warning',
      text: expect.stringMatching(/file is off, and this namespace has counters.*appendonly yes/),
    });
  });

  it('warns about replicas that the URL omits, unless it has a failover window', async () => {
    const url = await server('--repl-diskless-sync-delay', '0');
    await server('--replicaof', '127.0.0.1', new URL(url).port);
    const redis = new Redis(url);
    await until(async () => (await redis.info('replication')).includes('connected_slaves:1'));
    await redis.quit();
    const [name, value] = location(url);
    expect((await findings(name!, value!)).code).toBe(1);
    expect(await findings(name!, `${value}&failoverWindowMs=15000`)).toMatchObject({ code: 0 });
  });

  it('warns if INFO is not allowed, and continues', async () => {
    const redis = new Redis(await server());
    await redis.call('ACL', 'SETUSER', 'shop', 'on', '>pw', '~*', '+@all', '-info');
    const { port } = redis.options;
    await redis.quit();
    const { code, found } = await findings(...location(`redis://shop:pw@127.0.0.1:${port}`));
    expect(code).toBe(1);
    expect(found.filter(({ level }) => level === 'warning')).toEqual([
      expect.objectContaining({ text: expect.stringContaining('may not run INFO') }),
    ]);
  });

  it.each([
    ['for no layout', { fingerprint: '' }, 'For no layout yet'],
    ['contested', { fingerprint: 'a and b' }, 'layout move --end'],
    ['of another version', { version: '3' }, 'kept by version 3'],
  ])('reports a registry that is %s', async (_, facts, said) => {
    const at = location();
    const redis = new Redis(REDIS_URL);
    const key = `snowflake:{${namespaceOf(at)}}:registry`;
    await settleRegistry(redis, key);
    await changeHeader(redis, key, facts);
    await redis.quit();
    expect((await findings(...at)).found.map(({ text }) => text).join()).toContain(said);
  });

  it('reports another layout and a lack of worker IDs', async () => {
    const at = location();
    const ofTwo = 't41-w1-s12/1ms@1704067200000';
    const tenant = tenants.of(namespaceOf(at));
    for (const _ of [0, 1]) await tenant.acquire({ fingerprint: ofTwo, workerIdMax: 1 });
    const { code, found } = await findings('--layout', 'twitter', ...at);
    expect(code).toBe(1);
    const faults = found.filter(({ level }) => level === 'fault').map(({ topic }) => topic);
    expect(faults).toEqual(['layout', 'worker ids']);
  });
});
