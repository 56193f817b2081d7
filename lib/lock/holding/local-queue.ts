/**
 * Whoever wants the same lock in one process: one after another, in the order in which they came.
 *
 * Promise: one of them at a time asks the store or holds the lock; who leaves lets the next one go.
 */
export interface Place {
  /** True where nobody is before it. */
  readonly isFirst: boolean;
  /** Resolves when nobody is before it any more. */
  readonly turn: Promise<void>;
  /** Once or more often. */
  leave(): void;
}

interface Queued {
  wake(): void;
}

export class LocalQueue {
  readonly #queues = new Map<string, Queued[]>();

  enter(lock: string): Place {
    const queue = this.#queues.get(lock) ?? [];
    this.#queues.set(lock, queue);
    let wake = () => {};
    const turn = new Promise<void>((resolve) => (wake = resolve));
    const queued = { wake };
    queue.push(queued);
    if (queue[0] === queued) wake();
    return {
      turn,
      leave: () => this.#leave(lock, queue, queued),
      get isFirst() {
        return queue[0] === queued;
      },
    };
  }

  #leave(lock: string, queue: Queued[], queued: Queued): void {
    const at = queue.indexOf(queued);
    if (at < 0) return;
    queue.splice(at, 1);
    if (at === 0) queue[0]?.wake();
    if (queue.length === 0 && this.#queues.get(lock) === queue) this.#queues.delete(lock);
  }
}
