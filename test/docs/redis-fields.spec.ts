/** The table of what Redis holds names every field that a real one then has. */
import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisSupport } from 'nestjs-snowflake/redis';
import { settleRegistry } from '../stores/settled-registry.js';
import { readTree } from '../tidy/tree.js';
import { rowsOf } from './sections.js';

it('name every field that Redis then holds', async () => {
  const redis = new Redis(process.env['REDIS_URL']!);
  const support = new RedisSupport({ redis, namespace: randomUUID() });
  await settleRegistry(redis, support.key);
  await support.getNextWorkId({
    fingerprint: 'f',
    ttlMs: 60_000,
    minRangeMs: 50,
    quarantineMs: 0,
    token: 'token',
    nonce: 'nonce',
    workerIdMin: 7,
    workerIdMax: 7,
    haveMs: 0,
    holder: { host: 'host', pid: 1, application: 'docs' },
  });
  const fields = await redis.hkeys(support.key);
  await Promise.all([redis.del(support.key), support.close()]);
  await redis.quit();
  const format = fields.map((name) => name.replace(/^([co])7$/, '$1<worker>'));
  const page = readTree().find(({ path }) => path === 'docs/reference/keys.md')!;
  expect([...rowsOf(page.text, 'field').keys()].toSorted()).toEqual(
    format.map((name) => name.replace('ktoken', 'k<token>')).toSorted(),
  );
});
