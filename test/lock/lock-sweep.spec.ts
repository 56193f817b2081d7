/**
 * Locks that are used once: however many names come, the rows of those that nobody needs go.
 */
import { expect, it } from '@jest/globals';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { MapStore } from '../registry/map-store.js';
import { heldIn, namedLock } from './store-locks.js';

const MINUTE_MS = 60_000;
const NAMES = 300;

it('leaves no more rows than the names of a minute or two, where a sweep takes few', async () => {
  const moment = { timeMs: Date.parse('2026-11-23T00:00:00Z'), server: 'one' };
  const rows = new MapStore(() => moment, 0);
  rows.sweptMax = 10;
  const locks = new RowLocks(rows);
  const ask = namedLock('first');
  await locks.acquire(ask);
  moment.timeMs += ask.longestMs + 1;
  for (let minute = 0; minute < 10; minute++) {
    for (let count = 0; count < NAMES; count++) {
      await locks.release(await heldIn(locks, namedLock(`${minute}/${count}`)));
      moment.timeMs += MINUTE_MS / NAMES;
    }
  }
  expect(rows.sweptCount).toBeGreaterThan(NAMES);
  expect(rows.rows.size).toBeLessThan(3 * NAMES);
});
