/**
 * Who holds which worker id, asked from the support.
 *
 * Promise: the store is asked once a second at most, however many pages are open; all of them
 * share the answer. A store that is away is told in words, never thrown.
 */
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import type { WorkerView, WorkersAnswer } from './answers.js';

const ASKED_EVERY_MS = 1000;
/** A crash is news for as long; the registry remembers its holder until somebody takes over. */
const ENDED_SHOWN_MS = 3_600_000;

const NO_LIST = 'This support does not tell who holds which worker id.';
const FIXED =
  'The worker id comes from the configuration. There is no store, so nobody knows who else was ' +
  'given the same number.';

export class WorkerList {
  private asked: Promise<WorkersAnswer> | undefined;
  private askedAtMs = 0;

  constructor(private readonly support: Pick<IDistributedSupport, 'workers'>) {}

  read(nowMs: number): Promise<WorkersAnswer> {
    // A clock that was set back must not make an answer last.
    if (this.asked !== undefined && Math.abs(nowMs - this.askedAtMs) < ASKED_EVERY_MS) {
      return this.asked;
    }
    this.askedAtMs = nowMs;
    this.asked = this.ask(nowMs);
    return this.asked;
  }

  private async ask(nowMs: number): Promise<WorkersAnswer> {
    try {
      const records = await this.support.workers?.();
      return records === undefined ? { workers: [], problem: NO_LIST } : answerOf(records, nowMs);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { workers: [], problem: `The store did not say who holds what. ${reason}` };
    }
  }
}

function answerOf(records: readonly WorkerRecord[], hostNowMs: number): WorkersAnswer {
  const fixed = records.filter(({ ceilingMs }) => ceilingMs === Infinity);
  if (fixed.length > 0) return { workers: fixed.map(fixedView), problem: FIXED };
  const running = records.find(({ freeInMs }) => freeInMs > 0);
  // Ages are by the store's clock, which is where a ceiling that is not reached begins.
  const nowMs = running === undefined ? hostNowMs : running.ceilingMs - running.freeInMs;
  return { workers: records.flatMap((record) => workerView(record, nowMs) ?? []) };
}

const fixedView = ({ workerId }: WorkerRecord): WorkerView => ({ workerId, state: 'fixed' });

/** Undefined for a worker id that was held once and is free. */
function workerView(record: WorkerRecord, nowMs: number): WorkerView | undefined {
  const { workerId, ceilingMs, freeInMs } = record;
  const remainingMs = ceilingMs - nowMs;
  if (record.holder === undefined) {
    return freeInMs > 0 ? { workerId, state: 'resting', remainingMs } : undefined;
  }
  if (remainingMs < -ENDED_SHOWN_MS) return undefined;
  const { host, pid, application, sinceMs } = record.holder;
  const holder = { host, pid, application, heldForMs: nowMs - sinceMs };
  return { workerId, state: freeInMs > 0 ? 'held' : 'ended', holder, remainingMs };
}
