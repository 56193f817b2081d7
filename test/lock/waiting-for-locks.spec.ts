/**
 * Whoever waits for a lock that nobody tells of is not left behind: it asks often as long as the
 * lock changes hands, and hears of what it may have missed.
 */
import { describe, expect, it } from '@jest/globals';
import { Releases } from '../../lib/lock/releases.js';
import { SettableTime } from '../../lib/testing/index.js';
import { LockWorld, open } from './held-locks.js';

describe('who is told nothing', () => {
  it('asks as often as at first when the lock has changed hands', async () => {
    const world = new LockWorld();
    const [one, other, last] = [world.process(), world.process(), world.process()];
    other.link.face.untilReleased = async () => Promise.reject(new Error('no such channel'));
    const ends = [open(), open()];
    const first = one.locks.using('a', () => ends[0]!.promise);
    await world.time.advance(1);
    const waiting = other.locks.using('a', { waitMs: 60_000 }, () => 'then');
    await world.time.advance(8000);
    ends[0]!.resolve();
    await first;
    // Between two questions somebody else was faster.
    const second = last.locks.using('a', () => ends[1]!.promise);
    await world.time.advance(8000);
    ends[1]!.resolve();
    await second;
    expect(await world.settled(waiting)).toBe('then');
    const acquires = other.link.asked.filter(({ call }) => call === 'acquire');
    const askedMs = acquires.map(({ atMs }) => atMs);
    const pauses = askedMs.slice(1).map((ms, at) => ms - askedMs[at]!);
    // It doubles to a second, twice.
    expect(pauses.filter((ms) => ms <= 50)).toHaveLength(2);
    expect(pauses.filter((ms) => ms <= 100)).toHaveLength(4);
  });
});

describe('releases of which messages tell', () => {
  it('are asked for again by everybody where messages may have been missed', async () => {
    const subscribed: string[] = [];
    let ended!: () => void;
    const messages = {
      hear: (_message: unknown, end: () => void) => void (ended = end),
      subscribe: async (channel: string) => void subscribed.push(channel),
      unsubscribe: async () => undefined,
      close: async () => undefined,
    };
    const releases = new Releases(messages, new SettableTime());
    const { signal } = new AbortController();
    const wait = () => releases.until('a', signal, async () => false);
    const both = Promise.all([wait(), wait()]);
    await new Promise(setImmediate);
    expect(subscribed).toEqual(['a']);
    ended();
    await both;
    void wait();
    expect(subscribed).toEqual(['a', 'a']);
  });
});
