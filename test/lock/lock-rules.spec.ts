/**
 * The contract suite of locks is seen to notice each rule that is broken, in memory and over rows.
 */
import { describe, expect, it } from '@jest/globals';
import { LockMap } from '../../lib/stores/memory/memory-locks.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { LOCK_CASES } from '../../lib/testing/describe-lock-store.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { LOCK_MUTANTS } from '../mutants/lock-mutants.mjs';
import { memoryLockStore, rowLockStore, type LockBenchStore } from './settable-locks.js';

/** The cases of the suite that a store fails. */
async function failuresOf(store: LockBenchStore): Promise<string[]> {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  const test = (name: string, run: () => Promise<void>) => void cases.push({ name, run });
  describeLockStore({ test, expect, ...store, leaveOut: ['untilReleased'] });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

describe('the contract suite of locks', () => {
  it('passes the rules as they are', async () => {
    expect(await failuresOf(memoryLockStore(LockMap))).toEqual([]);
    expect(await failuresOf(rowLockStore(RowLocks))).toEqual([]);
    expect(LOCK_CASES.length).toBeGreaterThan(30);
  });

  it.each(LOCK_MUTANTS)('rejects: $name', async ({ edits, by }) => {
    const inMemory = (await loadLibrary(edits, 'stores/memory/memory-locks.ts')) as {
      LockMap: typeof LockMap;
    };
    expect(await failuresOf(memoryLockStore(inMemory.LockMap))).toContain(by);
    const inRows = (await loadLibrary(edits, 'lock/row-locks.ts')) as { RowLocks: typeof RowLocks };
    expect(await failuresOf(rowLockStore(inRows.RowLocks))).toContain(by);
  });

  it('asks for the controls that it needs', () => {
    const { createStore } = memoryLockStore(LockMap);
    const without = () => describeLockStore({ test: it, expect, createStore });
    expect(without).toThrow('clockControl');
  });
});
