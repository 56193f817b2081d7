/**
 * A server that was left for another one and is asked again, although it was never restarted: it
 * remembers what it knew, under its own name. Whoever was granted a lock by the other one knows.
 */
import { describe, expect, it } from '@jest/globals';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { SettableTime } from '../../lib/testing/index.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { codeOf } from './held-locks.js';
import type { RowStore } from '../../lib/rows/row-store.js';
import { MapStore } from '../registry/map-store.js';

const TTL_MS = 3000;
const TERMS = { ttlMs: TTL_MS, longestTtlMs: TTL_MS };

/** Processes on server one, on server two from a copy of it, and on server one again. */
class World {
  readonly time = new SettableTime();
  private server = 'one';
  private readonly rows = new MapStore(() => ({ timeMs: this.time.now(), server: this.server }), 0);

  constructor(private readonly Locks: new (rows: RowStore) => LockStore) {}

  process(): DistributedLock {
    const { time } = this;
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    return new DistributedLock(new this.Locks(this.rows), { ...ports, ...TERMS });
  }

  /** @returns the way back */
  leave(): () => void {
    const left = new Map(this.rows.rows);
    this.server = 'two';
    return () => {
      this.rows.rows = left;
      this.server = 'one';
    };
  }

  async held(locks: DistributedLock, lock: string) {
    for (;;) {
      const held = await locks.tryAcquire(lock).catch(() => undefined);
      if (held !== undefined) return held;
      await this.time.advance(100);
    }
  }
}

/** What a newcomer gets who asks for a lock that is held, after somebody else came back. */
async function newcomersAnswer(Locks: new (rows: RowStore) => LockStore): Promise<unknown> {
  const world = new World(Locks);
  const [holder, survivor, newcomer] = [world.process(), world.process(), world.process()];
  await (await world.held(survivor, 'first')).release();
  const goBack = world.leave();
  await (await world.held(survivor, 'second')).release();
  await world.held(holder, 'report');
  goBack();
  await codeOf(survivor.tryAcquire('third'));
  return codeOf(newcomer.tryAcquire('report'));
}

describe('locks of a server that was left for another one', () => {
  it('are granted to nobody once somebody has come back', async () => {
    expect(await newcomersAnswer(RowLocks)).toBe('STORE_UNAVAILABLE');
  });

  it.each([
    ['the store does not hear it', 'lock/lock-rules.ts', 'era > header.era ?', 'era < 0 ?'],
  ])('would be granted to a second holder: %s', async (_, file, find, put) => {
    const { RowLocks: Mutant } = (await loadLibrary(
      [{ file, find, put }],
      'lock/row-locks.ts',
    )) as { RowLocks: typeof RowLocks };
    expect(await newcomersAnswer(Mutant)).toBe('no error');
  });
});
