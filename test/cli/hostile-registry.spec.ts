/**
 * A registry that somebody else has written to, on a real Redis: no line of it hides another,
 * steers the terminal or floods it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { LONG, STEERING, STEERS, plant, type Planted } from './planted.js';
import { command } from './run-command.js';
import { Tenants } from './tenants.js';

const REDIS_URL = process.env['REDIS_URL']!;
const namespace = randomUUID();
const key = `snowflake:{${namespace}}:registry`;
const at = ['--support', `${REDIS_URL}?namespace=${namespace}`];
const tenants = new Tenants(REDIS_URL);
const redis = new Redis(REDIS_URL);
let planted: Planted;

beforeAll(async () => {
  await tenants.of(namespace).acquire({ holder: { host: 'honest', pid: 1, application: 'shop' } });
  planted = await plant(redis, key);
});
afterAll(async () => {
  await redis.del(key);
  await redis.quit();
  await tenants.close();
});

const shownBy = async (...args: string[]) => {
  const answer = await command([...args, ...at]);
  const said = answer.out + answer.err;
  expect(STEERS.exec(said)).toBeNull();
  expect(said.length).toBeLessThan(LONG / 4);
  return answer;
};

const jsonOf = ({ lines }: { lines: string[] }) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a registry that somebody else has written to', () => {
  it('hides nobody from workers()', async () => {
    const records = await tenants.of(namespace).support.workers();
    expect(records.map(({ workerId }) => workerId)).toEqual([0, ...planted.hosts.keys()]);
    expect(records[0]).toMatchObject({ holder: { host: 'honest', pid: 1, application: 'shop' } });
    for (const { ceilingMs, freeInMs, holder } of records) {
      const { host, application, pid, sinceMs } = holder!;
      expect([ceilingMs, freeInMs, pid, sinceMs].every(Number.isFinite)).toBe(true);
      expect(freeInMs).toBeGreaterThan(0);
      expect(Math.max(host.length, application.length)).toBeLessThanOrEqual(255);
    }
  });

  it('is listed by `workers`, each holder in a line of its own', async () => {
    const { code, lines } = await shownBy('workers');
    expect(code).toBe(0);
    expect(lines).toHaveLength(1 + 1 + planted.hosts.size + 2);
    expect(lines[1]).toMatch(/^ +0 +honest +1 +shop /);
    const hosts = [...planted.hosts];
    for (const [n, [workerId, host]] of hosts.entries()) {
      expect(lines[2 + n]!.replace(/ +/, '')).toMatch(new RegExp(`^${workerId} `));
      expect(lines[2 + n]).toContain(` ${host.length < 255 ? host : `${'x'.repeat(62)}…`} `);
      expect(lines[2 + n]!.length).toBeLessThan(220);
    }
  });

  it('is listed by `workers --json`, whose texts are whole and whose output is plain', async () => {
    const records = jsonOf(await shownBy('workers', '--json'));
    expect(records[0]).toMatchObject({ workerId: 0, host: 'honest' });
    expect(records).toHaveLength(1 + planted.hosts.size + 1);
    expect(records.find(({ workerId }) => workerId === 108)).toMatchObject({
      host: `x${STEERING}`,
      application: STEERING,
    });
  });

  it('is counted by doctor and inspect', async () => {
    const held = `${1 + planted.hosts.size} held`;
    expect((await shownBy('doctor')).out).toContain(held);
    expect((await shownBy('doctor', '--json')).out).toContain(held);
    expect((await shownBy('registry', 'inspect')).out).toContain(held);
    const [record] = jsonOf(await shownBy('registry', 'inspect', '--json'));
    expect(record).toMatchObject({ held: 1 + planted.hosts.size });
  });

  it('loses one holder to a release, and keeps one that cannot be read', async () => {
    const steering = await shownBy('release', '108', '--yes');
    expect(steering.err).toContain('held by ?[2J?]0;t??1m??????? on x?[2J?]0;t');
    expect(steering).toMatchObject({ code: 0, out: expect.stringContaining('No process holds') });
    const lines = await shownBy('release', '110', '--yes');
    expect(lines.err).not.toMatch(/^snowflake: all is well/m);
    const garbage = await shownBy('release', '112', '--yes');
    expect(garbage).toMatchObject({ code: 1, out: '' });
    expect(garbage.err).toContain(
      '112 was not released: its holder in the registry cannot be read',
    );
    expect(await redis.hget(key, 'o112')).toBe('garbage');
  });

  it('is inspected also where its own fields were written over', async () => {
    const texts = {
      incarnation: STEERING + 'x'.repeat(LONG),
      version: '\u202e1',
      server: STEERING,
    };
    await redis.hset(key, { ...texts, slew: 'x', era: 'y', quarantine: 'z', operations: '1e999' });
    for (const name of [['registry', 'inspect'], ['doctor'], ['workers']]) {
      await shownBy(...name);
      await shownBy(...name, '--json');
    }
    await redis.hset(key, 'fingerprint', STEERING + 't9-'.repeat(LONG));
    const { out } = await shownBy('registry', 'inspect');
    expect(out).toMatch(/layout +\?\[2J\?\]0;t/);
    await shownBy('doctor', '--layout', 'twitter');
    await shownBy('release', '101', '--yes');
  });
});

describe('standard input', () => {
  it.each([
    ['spaces between its beginning and its end', `7${' '.repeat(5000)}8`],
    ['spaces behind it', `7${' '.repeat(5000)}x`],
    ['half a character at its end', Uint8Array.from([0x37, 0xe2])],
    ['a null', '7\0'],
    ['bytes of anything', Uint8Array.from({ length: 5000 }, (_, n) => (n * 7919) % 256)],
  ])('a line of %s is no id', async (_what, bytes) => {
    async function* input() {
      yield bytes;
      yield '';
      if (bytes === String(bytes)) yield '\n';
    }
    const { code, out, err } = await command(['decode'], { stdin: input() });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(STEERS.exec(err)).toBeNull();
    expect(err.split('\n')[0]!.length).toBeLessThan(500);
  });

  it('a wrong word on the command line steers nothing either', async () => {
    for (const args of [[STEERING], ['decode', STEERING], ['decode', `--${STEERING}`]]) {
      const { err } = await command(args);
      expect(err).toContain('[2J');
      expect(STEERS.exec(err)).toBeNull();
    }
  });
});
