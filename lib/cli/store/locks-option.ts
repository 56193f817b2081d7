/**
 * From --support to a store of locks.
 *
 * Promise: what was opened is closed, whatever happens in between, and no call lasts longer than
 * --timeout says.
 */
import { isMemory, locksOf, lockPreparationOf } from '../../backends/schemes.js';
import type { LockRecord, LockStore } from '../../lock/lock-store.js';
import { systemIdentity } from '../../patience/process-identity.js';
import type { StorePreparation } from '../../registry/registry-view.js';
import { usageFault, type Call } from '../command.js';
import type { ExitCode } from '../surroundings.js';
import { limitedCalls } from './limited-calls.js';
import { namedStore } from './support-option.js';

export interface NamedLocks {
  readonly place: string;
  /** In the order of their names. */
  records(): Promise<LockRecord[]>;
  advice(): Promise<readonly string[]>;
  /** Asks for a first lock. @returns for how many ms none is granted yet */
  begin(ttlMs: number): Promise<number>;
  /** What has to be in the store before there can be locks; absent where nothing has to. */
  readonly preparation?: StorePreparation;
}

/** Runs with the store that --support names. @throws SnowflakeError CONFIG_INVALID */
export async function withLocks(
  call: Call,
  use: (locks: NamedLocks) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { url, timeoutMs: ms } = namedStore(call);
  if (isMemory(url)) {
    throw usageFault('Locks in the memory of a process cannot be seen by another one.');
  }
  const store = await locksOf(url);
  try {
    return await use(named(store, { ms, preparation: await lockPreparationOf(url) }));
  } finally {
    await store.close?.();
  }
}

function named(
  store: LockStore,
  { ms, preparation }: { ms: number; preparation: StorePreparation | undefined },
): NamedLocks {
  const { place = 'the store' } = store;
  const limited = limitedCalls(place, ms);
  return {
    place,
    records: async () => {
      if (store.locks === undefined) throw usageFault(`${place} cannot list its locks.`);
      return limited(store.locks());
    },
    advice: async () => (await limited(store.advice?.() ?? Promise.resolve([]))) ?? [],
    begin: async (ttlMs) => {
      const who = { lock: 'snowflake', holder: systemIdentity('snowflake').randomText() };
      const asked = { ...who, label: 'snowflake', ttlMs, longestMs: ttlMs, have: 0n };
      const answer = await limited(store.acquire(asked));
      if (answer.status === 'wait') return answer.waitMs;
      await limited(store.release(who));
      return 0;
    },
    ...(preparation && {
      preparation: { text: preparation.text, run: () => limited(preparation.run()) },
    }),
  };
}
