/**
 * What changed while somebody looked: who joined, who left, which state the lease went to.
 *
 * Promise: said once, in words, to a screen reader too; a list that could not be had is no change.
 */
import type { GeneratorView, WorkerView } from '../answers.js';
import { element } from './elements.js';
import { timeText } from './texts.js';

const SHOWN = 50;

export class Changes {
  private before: ReadonlyMap<number, WorkerView> | undefined;
  private readonly states = new Map<string, string>();

  constructor(private readonly list: HTMLElement) {}

  workers(workers: readonly WorkerView[]): void {
    const after = new Map(workers.map((worker) => [worker.workerId, worker]));
    const { before } = this;
    this.before = after;
    if (before === undefined) return;
    for (const workerId of new Set([...before.keys(), ...after.keys()])) {
      const text = changeText(before.get(workerId), after.get(workerId));
      if (text !== undefined) this.add(`Worker id ${workerId} ${text}`);
    }
  }

  /** @param process which of the processes that answer */
  state(process: string, { lease, reason }: GeneratorView): void {
    const before = this.states.get(process);
    this.states.set(process, lease.state);
    if (before === undefined || before === lease.state) return;
    this.add(`${process}: ${before} to ${lease.state}. ${reason ?? ''}`);
  }

  clear(): void {
    this.before = undefined;
    this.states.clear();
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
  // A lease that ended is not shown for ever; that is no news.
  if (was !== undefined && is === undefined) {
    return before?.state === 'held' ? `left: ${was} gave it back.` : undefined;
  }
  if (before?.state === 'held' && after?.state === 'ended') {
    return `was lost: ${is} did not renew it, and its lease ran out.`;
  }
  if (before?.state === 'ended' && after?.state === 'held') return `came back: ${is}.`;
  return undefined;
}

function holderText(worker: WorkerView | undefined): string | undefined {
  const holder = worker?.holder;
  return holder && `${holder.application} on ${holder.host}, pid ${holder.pid}`;
}
