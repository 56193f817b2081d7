/**
 * A Redis registry uses one version of the protocol: the fields of version 1, or the rows of
 * version 2. A process of the other version gets an error and changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startSnowflake } from '../../lib/nest/start-snowflake.js';
import { inspectorFromUrl } from '../../lib/stores/redis/redis-inspector.js';
import { RedisSupport } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { held, request } from '../stores/redis-lab.js';
import { settleRegistry } from '../stores/timed-redis.js';

const URL = process.env['REDIS_URL']!;
const opened: { close(): Promise<void> }[] = [];
let redis: Redis;
beforeAll(() => void (redis = new Redis(URL)));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});
afterAll(() => redis.quit());

function registry() {
  const namespace = randomUUID();
  const support = new RedisSupport({ redis: URL, namespace });
  const inspector = inspectorFromUrl(`${URL}?namespace=${namespace}`);
  opened.push(support, inspector);
  return { support, inspector, key: support.key };
}

/** A hash from version 1, with one holder. */
const FIELDS = {
  version: '1',
  incarnation: '35d0ddf4-bf4b-4f35-a945-a0fd2caf040d',
  server: 'server0',
  fingerprint: 't41-w10-s12/1ms@1704067200000',
  lastTime: '1767225685000',
  slew: '0',
  quarantine: '65000',
  safeFloor: '1767225665000',
  era: '1',
  operations: '6',
  c0: '1767225745000',
  o0: 'token|nonce|1767225665000|1|1767225665000|{"host":"host","pid":1,"application":"app"}',
  ktoken: '0',
};

async function inFields(key: string): Promise<Record<string, string>> {
  await redis.hset(key, FIELDS);
  return FIELDS;
}

it('rows change nothing in a hash of fields, whichever client calls', async () => {
  const { support, key } = registry();
  const fields = await inFields(key);
  const asked = request();
  const refused = { status: 'other-version', version: '1' };
  expect(await support.getNextWorkId(asked)).toEqual(refused);
  const mark = { incarnation: fields['incarnation']!, server: 'server0', operations: 9 };
  const lease = held(asked, { status: 'ok', workerId: 0, floorMs: 0, ceilingMs: 1, mark });
  expect(await support.refreshAlive(lease)).toEqual(refused);
  await support.release(lease, undefined);
  expect(await support.workers()).toEqual([]);
  expect(await redis.hgetall(key)).toEqual(fields);
});

it('a start on a hash of fields reports its version', async () => {
  const { support, key } = registry();
  await inFields(key);
  await expect(startSnowflake({ support })).rejects.toMatchObject({
    code: 'VERSION_MISMATCH',
    message: expect.stringContaining('has version 1 of the lease protocol'),
  });
});

it('an operator sees the version of either', async () => {
  const { support, inspector, key } = registry();
  await inFields(key);
  const { facts, nowMs, storeMs } = await inspector.read();
  expect({ facts, nowMs }).toMatchObject({ facts: { version: '1' }, nowMs: storeMs });
  await redis.del(key);
  await settleRegistry(redis, key);
  await support.getNextWorkId(request());
  expect((await inspector.read()).facts).toMatchObject({ version: '2', fingerprint: 'f' });
});

it('the scripts of version 1 refuse a hash of rows before any other check', async () => {
  const { support, key } = registry();
  await settleRegistry(redis, key);
  await support.getNextWorkId(request());
  const rows = await redis.hgetall(key);
  // The first lines of all version 1 scripts, which lock scripts still have.
  expect(await redis.eval(SCRIPTS.acquireLock.lua, 1, key, 'lock')).toEqual([
    'other-version',
    '2',
    expect.any(Number),
  ]);
  expect(await redis.hgetall(key)).toEqual(rows);
});
