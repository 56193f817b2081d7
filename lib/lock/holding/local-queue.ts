/**
 * Whoever wants the same lock in one process: one after another, in the order in which they came.
 *
 * Promise: one of them at a time asks the store or holds the lock; who leaves lets the next one go.
 */
export interface Place {
  /** True where nobody is before it. */
  readonly isFirst: boolean;
  /** Resolves to true when nobody is before it any more, or to false when it is given up. */
  readonly turn: Promise<boolean>;
  giveUp(): void;
  /** Once or more often. */
  leave(): void;
}

/** Lets one of them go, or says that it waits no more. */
type Wake = (isTurn: boolean) => void;

export class LocalQueue {
  /** In the order in which they came; whoever leaves is found at once, however many there are. */
  readonly #queues = new Map<string, Set<Wake>>();

  enter(lock: string): Place {
    const queue = this.#queues.get(lock) ?? new Set();
    this.#queues.set(lock, queue);
    let wake: Wake = () => {};
    const turn = new Promise<boolean>((resolve) => (wake = resolve));
    queue.add(wake);
    if (firstOf(queue) === wake) wake(true);
    return {
      turn,
      giveUp: () => wake(false),
      leave: () => this.#leave(lock, queue, wake),
      get isFirst() {
        return firstOf(queue) === wake;
      },
    };
  }

  #leave(lock: string, queue: Set<Wake>, wake: Wake): void {
    const wasFirst = firstOf(queue) === wake;
    if (!queue.delete(wake)) return;
    if (wasFirst) firstOf(queue)?.(true);
    if (queue.size === 0 && this.#queues.get(lock) === queue) this.#queues.delete(lock);
  }
}

function firstOf(queue: ReadonlySet<Wake>): Wake | undefined {
  const [first] = queue;
  return first;
}
