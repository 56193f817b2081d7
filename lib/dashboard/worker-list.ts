/**
 * Asks the support for all worker ids and their holders.
 *
 * Guarantee: at most one request per second and one at a time, however many pages are open. If the
 * store fails or is silent, the answer says so after at most 3 s.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import { errorText, printable, formatName, withoutSecrets } from '../messages.js';
import { isReplaced, type RunParts } from '../nest/generator-run.js';
import type { IdMaker } from '../nest/id-maker.js';
import { SNOWFLAKE_RUN_PARTS } from '../nest/tokens.js';
import { SharedAnswer } from '../time/call-record.js';
import { systemTimers, type Timers } from '../time/timers.js';
import {
  WORKERS_SHOWN_MAX,
  type HolderView,
  type WorkersAnswer,
  type WorkerView,
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
    private readonly support: Pick<IDistributedSupport, 'workers'> | undefined,
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
      const records = await this.support?.workers?.(WORKERS_SHOWN_MAX + 1);
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
    // Ages are by the store's clock, which a ceiling in the future reveals.
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

/** Other processes wrote the names, so they are made printable. */
function holderView(
  { host, pid, application, sinceMs }: NonNullable<WorkerRecord['holder']>,
  nowMs: number,
): HolderView {
  const names = { host: formatName(host), pid, application: formatName(application) };
  return sinceMs === 0 ? names : { ...names, heldForMs: nowMs - sinceMs };
}

/*
 * Finds the generators of the application and keeps the list of workers of each.
 *
 * Guarantee: every generator that a module registered, through any copy of this package, is
 * shown once. One whose IdMaker a test has overridden is left out.
 */

export interface ShownGenerator {
  readonly name: string | undefined;
  readonly ids: IdMaker;
  readonly location: string;
  readonly application: string;
  readonly workers: WorkerList;
}

@Injectable()
export class ShownGenerators {
  private found: readonly ShownGenerator[] | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Empty if the application has none. */
  all(): readonly ShownGenerator[] {
    this.found ??= this.discovery
      .getProviders()
      .filter(({ token }) => token === SNOWFLAKE_RUN_PARTS)
      .map(({ instance }) => instance as RunParts)
      .filter((parts) => !isReplaced(parts))
      .map(listedGenerator);
    return this.found;
  }

  named(name: string | undefined): ShownGenerator | undefined {
    return this.all().find((generator) => generator.name === name);
  }
}

function listedGenerator({ name, idMaker: ids, support, engine }: RunParts): ShownGenerator {
  const { location, identity } = engine;
  const own = identity.label();
  const workers = new WorkerList(support, systemTimers, own);
  return { name, ids, location, application: own.application, workers };
}
