/**
 * Lists what changed since the page was opened: who joined, who left, and states of the lease.
 *
 * Promise: each change is announced once, also by screen readers. A list that could not be read is
 * no change.
 */
import type { GeneratorView, WorkerView } from '../answers.js';
import { element } from './elements.js';
import { timeText } from './texts.js';

const SHOWN = 50;

export class Changes {
  private previous: ReadonlyMap<number, WorkerView> | undefined;
  private readonly states = new Map<string, string>();
  private readonly registries = new Map<string, string>();

  constructor(private readonly list: HTMLElement) {}

  workers(workers: readonly WorkerView[]): void {
    const after = new Map(workers.map((worker) => [worker.workerId, worker]));
    const before = this.previous;
    this.previous = after;
    if (before === undefined) return;
    for (const workerId of new Set([...before.keys(), ...after.keys()])) {
      const text = changeText(before.get(workerId), after.get(workerId));
      if (text !== undefined) this.add(`Worker id ${workerId} ${text}`);
    }
  }

  /** @param process which of the processes that answer */
  state(process: string, { lease, hand, reason }: GeneratorView): void {
    this.registry(process, lease?.incarnation);
    const state = lease?.state ?? hand?.state;
    const before = this.states.get(process);
    if (state === undefined || state === before) return;
    this.states.set(process, state);
    if (before !== undefined) this.add(`${process}: ${before} to ${state}. ${reason ?? ''}`);
  }

  /** Holders that a new registry does not list have not left: the old registry was lost. */
  private registry(process: string, incarnation: string | undefined): void {
    const before = this.registries.get(process);
    if (incarnation === undefined || incarnation === before) return;
    this.registries.set(process, incarnation);
    if (before === undefined) return;
    this.previous = undefined;
    this.add(
      `${process}: there is a new registry, because the store lost its data or was replaced. ` +
        'Worker ids are leased again, and ids run ahead of the clock for a while.',
    );
  }

  clear(): void {
    this.previous = undefined;
    this.states.clear();
    this.registries.clear();
    this.list.replaceChildren();
  }

  private add(text: string): void {
    const time = element('time', {}, timeText(new Date()));
    this.list.prepend(element('li', {}, time, ` ${text}`));
    while (this.list.children.length > SHOWN) this.list.lastElementChild!.remove();
  }
}

function changeText(
  before: WorkerView | undefined,
  after: WorkerView | undefined,
): string | undefined {
  const [was, is] = [holderText(before), holderText(after)];
  if (is !== undefined && is !== was) return `joined: ${is}.`;
  if (was !== undefined && is === undefined) {
    // A lease that ended disappears after a while, which is no change.
    if (before?.state !== 'held') return undefined;
    // If it is not listed at all, the registry may have lost it.
    return after === undefined ? `left: ${was}.` : `left: ${was} gave it back.`;
  }
  if (before?.state === 'held' && after?.state === 'ended') {
    return `was lost: ${is} did not renew its lease in time.`;
  }
  if (before?.state === 'ended' && after?.state === 'held') return `came back: ${is}.`;
  return undefined;
}

function holderText(worker: WorkerView | undefined): string | undefined {
  const holder = worker?.holder;
  return holder && `${holder.application} on ${holder.host}, pid ${holder.pid}`;
}
