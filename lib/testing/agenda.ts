/**
 * What is due, in order: by time, and among equals by who came first.
 *
 * Promise: the same calls give the same order, so that a seed decides a whole simulation.
 */

/** One thing to be done at a time. */
export interface Due {
  atMs: number;
  readonly everyMs: number | undefined;
  readonly run: () => void;
  /** Among equals the smaller goes first. */
  order: number;
  isCancelled: boolean;
}

/** A binary heap. What is cancelled stays in it until its time comes. */
export class Agenda {
  private readonly heap: Due[] = [];
  private count = 0;

  add(atMs: number, run: () => void, everyMs?: number): Due {
    return this.push({ atMs, everyMs, run, order: 0, isCancelled: false });
  }

  get openCount(): number {
    return this.heap.filter((due) => !due.isCancelled).length;
  }

  /** Takes the first thing due by then; a repeated one is put back for its next time. */
  take(endMs: number): Due | undefined {
    for (;;) {
      const first = this.heap[0];
      if (first === undefined || (first.atMs > endMs && !first.isCancelled)) return undefined;
      this.pop();
      if (first.isCancelled) continue;
      if (first.everyMs === undefined) return first;
      const taken = { ...first };
      first.atMs += first.everyMs;
      this.push(first);
      return taken;
    }
  }

  private push(due: Due): Due {
    due.order = this.count++;
    const { heap } = this;
    let at = heap.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = heap[(at - 1) >> 1]!;
      if (!isBefore(due, parent)) break;
      heap[at] = parent;
    }
    heap[at] = due;
    return due;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (child >= heap.length || !isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
