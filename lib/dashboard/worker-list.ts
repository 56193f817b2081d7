/**
 * Asks the support who holds which worker id.
 *
 * Promise: at most one request per second and one at a time, however many pages are open. If the
 * store fails or is silent, the answer says so after at most 3 s.
 */
import { errorText, printable, shownName, withoutSecrets } from '../shown.js';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import { SharedAnswer } from '../patience/shared-answer.js';
import type { Timers } from '../patience/timers.js';
import {
  WORKERS_SHOWN_MAX,
  type HolderView,
  type WorkerView,
  type WorkersAnswer,
} from './answers.js';

const ASKED_EVERY_MS = 1000;
const WAITED_MS_MAX = 3000;
/** How long a crashed process is shown; the registry keeps its holder until the id is leased. */
const ENDED_SHOWN_MS = 3_600_000;

const TOO_MANY =
  `Only ${WORKERS_SHOWN_MAX.toLocaleString('en-US')} of the worker ids in the registry are ` +
  'shown. The command `snowflake workers` lists all of them.';
const NO_LIST = 'This support cannot list who holds which worker id.';
const SILENT = `The store did not answer within ${WAITED_MS_MAX / 1000} s.`;
const FIXED =
  'The worker id comes from the configuration. There is no store, so it is unknown whether ' +
  'another process has the same number.';

export class WorkerList {
  private readonly answer: SharedAnswer<WorkersAnswer>;

  /** @param own this process, which is the holder of a worker id without a store */
  constructor(
    private readonly support: Pick<IDistributedSupport, 'workers'>,
    timers: Timers,
    private readonly own: HolderView,
  ) {
    const over = () => faulty(SILENT);
    const sharing = { everyMs: ASKED_EVERY_MS, limitMs: WAITED_MS_MAX, over, timers };
    this.answer = new SharedAnswer((nowMs) => this.ask(nowMs), sharing);
  }

  read(nowMs: number): Promise<WorkersAnswer> {
    return this.answer.read(nowMs);
  }

  private async ask(nowMs: number): Promise<WorkersAnswer> {
    try {
      const records = await this.support.workers?.(WORKERS_SHOWN_MAX + 1);
      return Array.isArray(records) ? this.answerOf(records, nowMs) : faulty(NO_LIST);
    } catch (error) {
      return faulty(
        `The list of holders could not be read. ${printable(withoutSecrets(errorText(error)))}`,
      );
    }
  }

  private answerOf(records: readonly WorkerRecord[], hostNowMs: number): WorkersAnswer {
    const fixed = records.filter(({ ceilingMs }) => ceilingMs === Infinity);
    if (fixed.length > 0) return { workers: fixed.map(this.fixedView), problem: FIXED };
    const running = records.find(({ freeInMs }) => freeInMs > 0);
    // Ages are by the store's clock, which a ceiling in the future tells.
    const nowMs = running === undefined ? hostNowMs : running.ceilingMs - running.freeInMs;
    const workers = records
      .slice(0, WORKERS_SHOWN_MAX)
      .flatMap((record) => workerView(record, nowMs) ?? []);
    return records.length > WORKERS_SHOWN_MAX ? { workers, problem: TOO_MANY } : { workers };
  }

  private readonly fixedView = ({ workerId }: WorkerRecord): WorkerView => ({
    workerId,
    state: 'fixed',
    holder: this.own,
  });
}

const faulty = (problem: string): WorkersAnswer => ({ workers: [], problem });

/** Undefined for a worker id that was used before and is free. */
function workerView(record: WorkerRecord, nowMs: number): WorkerView | undefined {
  const { workerId, ceilingMs, freeInMs } = record;
  const remainingMs = ceilingMs - nowMs;
  if (record.holder === undefined) {
    return freeInMs > 0 ? { workerId, state: 'resting', remainingMs } : undefined;
  }
  if (remainingMs < -ENDED_SHOWN_MS) return undefined;
  const holder = holderView(record.holder, nowMs);
  return { workerId, state: freeInMs > 0 ? 'held' : 'ended', holder, remainingMs };
}

/** The names were written by other processes, so they are made printable. */
function holderView(
  { host, pid, application, sinceMs }: NonNullable<WorkerRecord['holder']>,
  nowMs: number,
): HolderView {
  const names = { host: shownName(host), pid, application: shownName(application) };
  return sinceMs === 0 ? names : { ...names, heldForMs: nowMs - sinceMs };
}
