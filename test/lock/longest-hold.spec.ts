/**
 * A section that hangs does not keep its lock for ever where an end was set, and is spoken of where
 * none was.
 */
import { describe, expect, it } from '@jest/globals';
import type { LockSection } from '../../lib/lock/held-section.js';
import type { LockEvent } from '../../lib/lock/lock-events.js';
import { codeOf, LockWorld, open } from './held-locks.js';

const TTL_MS = 9000;
const AT_MOST = { holdAtMostMs: 60_000 };

async function hanging(options: object) {
  const world = new LockWorld();
  const { locks, link } = world.process({ ttlMs: TTL_MS });
  const begun = open<LockSection>();
  const end = open();
  const events: LockEvent[] = [];
  locks.listen((event) => void events.push(event));
  const ran = locks.using('job', options, async (section) => {
    begun.resolve(section);
    await end.promise;
  });
  ran.catch(() => undefined);
  return { world, locks, link, events, ran, end, section: await begun.promise };
}

describe('a section that may run for so long', () => {
  it('is told when it has, and others get its lock before its ttl is over', async () => {
    const { world, link, events, ran, end, section } = await hanging(AT_MOST);
    await world.time.advance(59_999);
    expect([section.signal.aborted, section.leftMs]).toEqual([false, 1]);
    await world.time.advance(1);
    expect(section.signal.reason).toMatchObject({
      code: 'LOCK_LOST',
      details: { reason: 'limit' },
    });
    expect(section.leftMs).toBe(0);
    expect(events).toContainEqual({ kind: 'lost', lock: 'job', reason: 'limit' });
    const count = link.countOf('extend');
    await world.time.advance(TTL_MS);
    expect(link.countOf('extend')).toBe(count);
    expect(await world.process().locks.using('job', () => 'next')).toBe('next');
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
    expect(world.time.timerCount).toBe(0);
  });

  it('is told by its own question, also where no timer has fired', async () => {
    const { world, section, end, ran } = await hanging(AT_MOST);
    await world.time.advance(57_000);
    world.time.wallMs += 3000;
    expect(() => section.assertHeld()).toThrow('`holdAtMostMs`');
    end.resolve();
    expect(await codeOf(ran)).toBe('LOCK_LOST');
  });

  it('runs on where it ends in time', async () => {
    const { world, section, end, ran } = await hanging(AT_MOST);
    await world.time.advance(50_000);
    end.resolve();
    await ran;
    expect(section.signal.aborted).toBe(false);
    expect(world.time.timerCount).toBe(0);
  });

  it.each([
    [{ holdAtMostMs: 99 }],
    [{ holdAtMostMs: 86_400_001 }],
    [{ holdAtMostMs: 5000, holdAtLeastMs: 5001 }],
    [{ holdAtMostMs: Infinity }],
  ])('cannot be meant so: %j', async (options) => {
    const { locks } = new LockWorld().process();
    const refused = locks.using('job', options, () => 1);
    expect(await codeOf(refused)).toBe('ARGUMENT_INVALID');
    await expect(refused).rejects.toThrow('holdAtMostMs');
  });
});

describe('a section that runs for long', () => {
  it('is spoken of at ten times its ttl, and each time that has doubled', async () => {
    const { world, events, end, ran } = await hanging({});
    await world.time.advance(TTL_MS * 45);
    const told = events.flatMap((event) => (event.kind === 'long' ? [event.heldMs / TTL_MS] : []));
    expect(told).toEqual([10, 20, 40]);
    end.resolve();
    await ran;
  });
});
