/**
 * The processes that a move has to wait for, or has no worker id for.
 */
import { cutName } from '../../messages.js';
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { commonSpan, isWithin, type AdmittedLayout } from '../../registry/layout-move.js';
import type { IdSpan, RegistryView } from '../../registry/snapshot.js';
import { pause, systemTimers } from '../../time/timers.js';
import { spanText } from '../command.js';
import type { Terminal } from '../terminal.js';
import { activeIn, idsText } from './layout-move-plan.js';

export function isHeld({ holder, freeInMs }: WorkerRecord): boolean {
  return holder !== undefined && freeInMs > 0;
}

const SHOWN_COUNT = 5;

/** Names the first few of them. */
export function holdersText(records: readonly WorkerRecord[]): string {
  const names = records.slice(0, SHOWN_COUNT).map(({ workerId, holder, freeInMs }) => {
    const { host, pid, application } = holder!;
    const who = `${cutName(application)} on ${cutName(host)}, pid ${pid}`;
    return `worker id ${workerId} (${who}, free in ${spanText(freeInMs)} at most)`;
  });
  const restCount = records.length - names.length;
  return [...names, ...(restCount > 0 ? [`${restCount} more`] : [])].join('; ');
}

interface Leaving {
  readonly record: WorkerRecord;
  /** Its range has ended by then, Unix ms. */
  readonly byMs: number;
}

/**
 * Follows the processes whose worker id is for others now, over several reads of a registry. Each
 * gives it up at a renewal and leases another one, which shows at the next read, or has ended.
 */
export class Resettled {
  readonly #leaving = new Map<number, Leaving>();
  /** The leases of the first read: any other one is new. */
  #known: ReadonlySet<string> | undefined;

  /** Returns those that have none of the worker ids of the layouts yet. */
  rest({ workers, nowMs, facts }: RegistryView): WorkerRecord[] {
    const held = workers.filter(isHeld);
    this.#known ??= new Set(held.map(leaseOf));
    const isPlaced = isWithinAny(activeIn(facts?.fingerprint ?? ''));
    const outside = held.filter((record) => !isPlaced(record));
    for (const record of outside) {
      this.#leaving.set(record.workerId, { record, byMs: nowMs + record.freeInMs });
    }
    const placed = held.filter((each) => isPlaced(each) && !this.#known!.has(leaseOf(each)));
    const owners = placed.map(ownerOf);
    const between = [...this.#leaving.values()].filter(({ record, byMs }) => {
      if (byMs <= nowMs || outside.some(({ workerId }) => workerId === record.workerId))
        return false;
      const at = owners.indexOf(ownerOf(record));
      if (at >= 0) owners.splice(at, 1);
      return at < 0;
    });
    return [...outside, ...between.map(({ record }) => record)];
  }
}

const leaseOf = ({ workerId, holder }: WorkerRecord): string => `${workerId} ${holder!.sinceMs}`;

const ownerOf = ({ holder }: WorkerRecord): string =>
  JSON.stringify([holder!.host, holder!.pid, holder!.application]);

export function isWithinAny(layouts: readonly AdmittedLayout[]) {
  return ({ workerId }: WorkerRecord): boolean =>
    layouts.some(({ span }) => isWithin(workerId, span!));
}

/** How often a registry is read for those who are waited for. */
export const POLL_MS = 250;

/** Waits until nobody is left, and names those who are. */
export async function untilNobody(
  read: () => Promise<WorkerRecord[]>,
  terminal: Terminal,
): Promise<void> {
  let lastCount = Infinity;
  for (;;) {
    const holders = await read();
    if (holders.length === 0) return;
    if (holders.length < lastCount) await terminal.say(`Waiting for ${holdersText(holders)}.`);
    lastCount = holders.length;
    await pause(systemTimers, POLL_MS);
  }
}

/** Returns why the holders of a registry do not all find a worker id in a part of it. */
export function crowdedText(records: readonly WorkerRecord[], left: IdSpan): string | undefined {
  const holders = records.filter(isHeld);
  const leftCount = left.workerIdMax - left.workerIdMin + 1;
  if (holders.length > leftCount) {
    return `${holders.length} worker ids are in use, and ${leftCount} would be left for them.`;
  }
  const unplaced = unplacedIn(holders, left);
  if (unplaced.length === 0) return undefined;
  const asked = new Set(unplaced.map(({ holder }) => `${holder!.workerIds}`));
  return (
    `Worker ids ${idsText(left)} would be left, and processes that may only have the worker ids ` +
    `${[...asked].slice(0, SHOWN_COUNT).join(', ')} find none among them: ` +
    `${holdersText(unplaced)}. If all processes here may have the same ones, name those: --workers.`
  );
}

/**
 * The holders that are left over if as many as possible get a worker id of a span, each one that it
 * may have: in the order of the ids, each goes to the holder whose own end first (Glover, 1967).
 */
function unplacedIn(holders: readonly WorkerRecord[], span: IdSpan): WorkerRecord[] {
  const unplaced: WorkerRecord[] = [];
  const seekers = holders.flatMap((record) => {
    const own = commonSpan(span, spanOf(record));
    if (own === undefined) unplaced.push(record);
    return own === undefined ? [] : [{ record, ...own }];
  });
  seekers.sort((a, b) => a.workerIdMin - b.workerIdMin);
  let workerId = span.workerIdMin;
  const open: typeof seekers = [];
  while (seekers.length + open.length > 0) {
    if (open.length === 0) workerId = Math.max(workerId, seekers[0]!.workerIdMin);
    while (seekers.length > 0 && seekers[0]!.workerIdMin <= workerId) open.push(seekers.shift()!);
    open.sort((a, b) => a.workerIdMax - b.workerIdMax);
    const next = open.shift()!;
    if (next.workerIdMax < workerId) unplaced.push(next.record);
    else workerId++;
  }
  return unplaced;
}

/** The worker ids that a holder may have, as far as it tells. */
function spanOf({ holder }: WorkerRecord): IdSpan {
  const [, min, max] = /^(\d{1,9})-(\d{1,9})$/.exec(holder?.workerIds ?? '') ?? [];
  return min === undefined
    ? { workerIdMin: 0, workerIdMax: Infinity }
    : { workerIdMin: Number(min), workerIdMax: Number(max) };
}
