/**
 * Callers in one process whose store grants nothing. Each gets this error by every method, however
 * many callers there are. No caller sees a free lock as held, and none skips its work.
 */
import { describe, expect, it } from '@jest/globals';
import { SnowflakeError } from '../../lib/errors.js';
import type { DistributedLock } from '../../lib/lock/distributed-lock.js';
import { LockWorld, codeOf, type Link } from './held-locks.js';

const CALLER_COUNT = 5;

const refuses = (link: Link, retryable: boolean) => {
  link.face.acquire = () =>
    Promise.reject(new SnowflakeError('STORE_UNAVAILABLE', 'no rights', { retryable }));
};

const STORES: readonly (readonly [string, (link: Link) => void])[] = [
  ['is unreachable', (link) => void (link.way = 'failing')],
  ['hangs', (link) => void (link.way = 'hanging')],
  ['handles each request, and loses the answer', (link) => void (link.way = 'deaf')],
  ['answers too late', (link) => void (link.delayMs = 5000)],
  ['refuses temporarily', (link) => refuses(link, true)],
  ['refuses permanently', (link) => refuses(link, false)],
  [
    'grants nothing yet',
    (link) => void (link.face.acquire = async () => ({ status: 'wait', waitMs: 90_000 })),
  ],
];

type Ask = (locks: DistributedLock, waitMs: number, run: () => void) => Promise<unknown>;

const WAYS: readonly (readonly [string, Ask])[] = [
  ['a lock', (locks, waitMs, run) => locks.using('a', { waitMs }, run)],
  ['one of two permits', (locks, waitMs, run) => locks.using('a', { waitMs, permits: 2 }, run)],
  ['several locks', (locks, waitMs, run) => locks.usingAll(['a', 'b'], { waitMs }, run)],
  ['a lock, or skips', (locks, waitMs, run) => locks.usingOrSkip('a', { waitMs }, run)],
  ['a lock to keep', (locks, waitMs) => locks.acquire('a', { waitMs })],
];

describe.each(STORES)('a store that %s', (_, breaks) => {
  describe.each([0, 3000])('to callers that wait for %d ms', (waitMs) => {
    it.each(WAYS)('is reported to each caller that requests %s', async (_name, ask) => {
      const world = new LockWorld();
      const { locks, link } = world.process();
      breaks(link);
      let runCount = 0;
      const asked = Array.from({ length: CALLER_COUNT }, () =>
        codeOf(ask(locks, waitMs, () => void runCount++)),
      );
      const codes = await world.settled(Promise.all(asked), 50);
      expect(codes).toEqual(codes.map(() => 'STORE_UNAVAILABLE'));
      expect(runCount).toBe(0);
      const { refused, unavailable, acquired } = locks.status.counts;
      expect([acquired, refused, unavailable]).toEqual([0, 0, CALLER_COUNT]);
    });
  });
});
