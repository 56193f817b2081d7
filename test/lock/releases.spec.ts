/**
 * Whoever waits for a lock in Redis again and again asks the server once, hears of what was
 * released between two waits, and leaves no subscription behind. The time is in the test's hands.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { messagesFrom } from '../../lib/stores/redis/redis-options.js';
import { LINGER_MS, Releases } from '../../lib/lock/releases.js';
import { SettableTime } from '../../lib/testing/index.js';
import { RedisLab } from '../stores/redis-lab.js';
import { until } from '../until.js';

const CHANNEL = 'locks:order:7';

const lab = new RedisLab();
let admin: Redis;
let time: SettableTime;
let releases: Releases;
/** How often it was asked whether the lock is free. */
let askedCount: number;
let isFree: boolean;
let stop: AbortController;

beforeEach(async () => {
  const { port } = await lab.server();
  admin = lab.client(port);
  time = new SettableTime();
  releases = new Releases(messagesFrom(`redis://127.0.0.1:${port}`), time);
  [askedCount, isFree, stop] = [0, false, new AbortController()];
});
afterEach(() => releases.close());
afterAll(() => lab.end());

function wait(signal = stop.signal): Promise<void> {
  return releases.until(CHANNEL, signal, async () => {
    askedCount++;
    return isFree;
  });
}

/** Waits for a while and gives up, as whoever asks again in between. */
async function waitInVain(): Promise<void> {
  const once = new AbortController();
  const waiting = wait(once.signal);
  await until(() => askedCount > 0);
  once.abort();
  await waiting;
}

const channels = async (): Promise<number> => (await admin.pubsub('CHANNELS')).length;

describe('who waits again and again', () => {
  it('asks the server once', async () => {
    for (let n = 0; n < 5; n++) {
      await waitInVain();
      await time.advance(LINGER_MS - 1);
    }
    expect(askedCount).toBe(1);
    const waiting = wait();
    // Heard by whoever has listened all along; whoever began again may have come too late for it.
    expect(await admin.publish(CHANNEL, '')).toBe(1);
    await waiting;
    const stats = await admin.info('commandstats');
    expect(stats).toMatch(/cmdstat_subscribe:calls=1,/);
  });

  it('hears at once of a release between two waits, and of none twice', async () => {
    await waitInVain();
    await admin.publish(CHANNEL, '');
    await until(async () => {
      const once = new AbortController();
      const waiting = wait(once.signal).then(() => !once.signal.aborted);
      await new Promise(setImmediate);
      once.abort();
      return waiting;
    });
    let isTold = false;
    const waiting = wait().then(() => (isTold = true));
    await admin.ping();
    expect(isTold).toBe(false);
    stop.abort();
    await waiting;
  });

  it('asks whether it is free where it has not listened before', async () => {
    isFree = true;
    await wait();
    expect(askedCount).toBe(1);
  });
});

describe('who has stopped waiting', () => {
  it('leaves no subscription behind', async () => {
    await waitInVain();
    expect(await channels()).toBe(1);
    await time.advance(LINGER_MS);
    await until(async () => (await channels()) === 0);
  });

  it('ends nothing of somebody who came back', async () => {
    await waitInVain();
    await time.advance(LINGER_MS - 1);
    const waiting = wait();
    await time.advance(LINGER_MS * 2);
    expect(await channels()).toBe(1);
    await admin.publish(CHANNEL, '');
    await waiting;
  });
});
