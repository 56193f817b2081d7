/**
 * How the scripts learn which server runs them: the same text on every version of Redis, or a
 * registry would take an upgrade of this library for a loss of data.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { leaseAnswer } from '../../lib/stores/redis/redis.support.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { LeaseGrant } from '../../lib/lease/distributed-support.js';

const ONE_CALL = "info('server', 'replication')";

describe('the server that runs a script', () => {
  let redis: Redis;
  let expected: string;
  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    const told = `${await redis.info('server')}${await redis.info('replication')}`;
    const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(told)![1]!;
    expected = `${field('run_id')}:${field('master_replid')}`;
  });
  afterAll(() => redis.quit());

  async function serverSeen(lua: string): Promise<string> {
    const key = 'identity:{test}';
    await redis.del(key);
    const noClocks = ['', '', '', '', ''];
    const own = ['token', 'nonce', 0, 9, 0, 0, '{}', 0];
    const asked = ['f', 60_000, 0, 'random', ...noClocks, ...own, '', '', 0, 0];
    const answer = leaseAnswer((await redis.eval(lua, 1, key, ...asked)) as unknown[]);
    return (answer as LeaseGrant).mark!.server;
  }

  it.each([
    ['from version 7 on, by one call', (lua: string) => lua],
    [
      'before version 7, by one call for each half',
      (lua: string) =>
        lua.replace('redis.REDIS_VERSION_NUM', 'nil').replace(ONE_CALL, 'error("too new")'),
    ],
    [
      'where a server of another make refuses the one call',
      (lua: string) => lua.replace(ONE_CALL, "info('server', 'replication', {})"),
    ],
  ])('is known by run and replication: %s', async (_name, changed) => {
    const { lua } = SCRIPTS.acquire;
    expect(lua).toContain(`redis.REDIS_VERSION_NUM and ${ONE_CALL}`);
    expect(await serverSeen(changed(lua))).toBe(expected);
  });

  it.each([
    ['where a user may not ask', "{ err = 'NOPERM no' }", 'NOPERM no'],
    ['where only the half is told', "redis.pcall('INFO', 'server')", 'NOSERVER'],
  ])('is no reason to guess: %s', async (_case, reply, says) => {
    const lua = SCRIPTS.acquire.lua.replace("redis.pcall('INFO', ...)", reply);
    expect(lua).not.toBe(SCRIPTS.acquire.lua);
    await expect(serverSeen(lua)).rejects.toThrow(says);
  });
});
