/**
 * Static worker ids; each process knows only its own.
 *
 * Promise: behind a load balancer the list has every process that answered within a minute, so a
 * number given to two of them appears twice.
 */
import type { WorkerView } from '../answers.js';

const SHOWN_MS = 60_000;

export class FixedWorkers {
  private readonly seen = new Map<string, { readonly worker: WorkerView; readonly atMs: number }>();

  /** The list in the answer, plus the static worker ids of other processes. */
  with(workers: readonly WorkerView[], nowMs: number): readonly WorkerView[] {
    const fixed = workers.filter(({ state }) => state === 'fixed');
    if (fixed.length === 0) return workers;
    for (const worker of fixed) {
      const { workerId, holder } = worker;
      this.seen.set(`${workerId} ${holder?.host} ${holder?.pid}`, { worker, atMs: nowMs });
    }
    for (const [key, { atMs }] of this.seen) if (nowMs - atMs > SHOWN_MS) this.seen.delete(key);
    return [...this.seen.values()].map(({ worker }) => worker);
  }

  clear(): void {
    this.seen.clear();
  }
}
