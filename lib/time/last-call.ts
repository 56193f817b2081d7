/**
 * The end of a store that is still in use: a call may come after close(), or be on its way then,
 * and a store opens its connections again for whoever calls it.
 *
 * Guarantee: once such a call has ended, and no other of the same user is under way, the store is
 * closed again.
 */

interface Closable {
  close?(): Promise<void>;
}

type Call = (...args: unknown[]) => unknown;

/** The same store, for one user of it. */
export function closedAfterLastCall<S extends Closable>(store: S): S {
  let [underWayCount, isOver] = [0, false];
  const close = async (): Promise<void> => {
    isOver = true;
    await store.close?.();
  };
  const run = async (call: Call, args: unknown[]): Promise<unknown> => {
    underWayCount++;
    try {
      return await call.apply(store, args);
    } finally {
      underWayCount--;
      // Its failure is not that of the call, which has its own outcome.
      if (isOver && underWayCount === 0) await close().catch(() => undefined);
    }
  };
  return new Proxy(store, {
    get: (_, name) => {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function' || name === 'constructor') return member;
      if (name === 'close') return close;
      return (...args: unknown[]) => run(member as Call, args);
    },
  });
}
