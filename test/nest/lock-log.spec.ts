/**
 * What the log of an application says of its locks: one line for a pause of the store, however many
 * ask meanwhile, and one for a section that may hang.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { MemoryLocks } from 'nestjs-snowflake';
import { DistributedLock, LockModule, type LockStore } from 'nestjs-snowflake/lock';
import { SettableTime } from '../../lib/testing/index.js';
import { codeOf, open } from '../lock/held-locks.js';

let module: TestingModule | undefined;
afterEach(() => module?.close());

async function logged(locks: LockStore, options: object) {
  const warnings: string[] = [];
  const nothing = () => undefined;
  const warn = (line: string) => void (/in memory/.test(line) || warnings.push(line));
  module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ locks, ...options })],
  })
    .setLogger({ log: nothing, error: nothing, warn })
    .compile();
  await module.init();
  return { warnings, locks: module.get(DistributedLock) };
}

describe('the log', () => {
  it('has one line for each pause of the store', async () => {
    const store = new MemoryLocks();
    store.acquire = async () => ({ status: 'wait', waitMs: 500_000 });
    const { warnings, locks } = await logged(store, {});
    for (const name of ['a', 'b', 'a']) {
      expect(await codeOf(locks.using(name, () => 1))).toBe('STORE_UNAVAILABLE');
    }
    expect(warnings).toEqual([expect.stringMatching(/grants none for another 500000 ms/)]);
  });

  it('has one line more for the next one', async () => {
    const store = new MemoryLocks();
    store.acquire = async () => ({ status: 'wait', waitMs: 0 });
    const { warnings, locks } = await logged(store, {});
    for (let n = 0; n < 2; n++) await codeOf(locks.using('a', () => 1));
    expect(warnings).toHaveLength(2);
  });

  it('has one for a section that runs for ten times its ttl', async () => {
    const time = new SettableTime();
    const ports = { clock: time, monotonic: { now: () => time.passedMs }, timers: time };
    const { warnings, locks } = await logged(new MemoryLocks({ clock: time }), ports);
    const end = open();
    const ran = locks.using('job', () => end.promise);
    await time.advance(105_000);
    end.resolve();
    await ran;
    expect(warnings).toEqual([expect.stringMatching(/job has been held for 10\d s.*holdAtMostMs/)]);
  });
});
