/** Locks of real stores, held by whoever tests them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireRequest, HeldLock, LockStore } from '../../lib/lock/lock-store.js';

export function namedLock(lock: string, changes: Partial<AcquireRequest> = {}): AcquireRequest {
  const who = { holder: randomUUID(), label: 'a test' };
  return { lock, ...who, ttlMs: 2000, longestMs: 2000, have: 0n, ...changes };
}

/** Waits for a store that grants nothing yet, by its own clock. */
export async function heldIn(store: LockStore, request: AcquireRequest): Promise<HeldLock> {
  const { lock, holder } = request;
  for (;;) {
    const answer = await store.acquire(request);
    if (answer.status === 'ok') return { lock, holder, token: answer.token };
    if (answer.status === 'held') throw new Error(`${lock} is held by ${answer.label}`);
    // So long the store asks to wait, by a clock that nobody sets.
    await sleep(answer.waitMs);
  }
}

/**
 * Stores on namespaces that grant locks already, so that not each case has to wait for it.
 *
 * @param store of a namespace
 * @returns what makes a store for the name of a case, once all are ready
 */
export async function readySpaces(
  store: (namespace: string) => LockStore,
  count = 40,
): Promise<(name: string) => LockStore> {
  const run = randomUUID();
  const spaces = Array.from({ length: count }, (_, at) => `${run}/${at}`);
  const first = namedLock('first', { ttlMs: 4000, longestMs: 4000 });
  await Promise.all(
    spaces.map(async (space) => {
      const own = store(space);
      await own.release(await heldIn(own, first));
      await own.close?.();
    }),
  );
  const spaceOf = new Map<string, string>();
  return (name) => {
    if (!spaceOf.has(name)) spaceOf.set(name, spaces.pop()!);
    return store(spaceOf.get(name)!);
  };
}
