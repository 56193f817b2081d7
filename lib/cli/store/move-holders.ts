/**
 * The processes for which a move has to wait, or for which it has no worker ID.
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

/** Names the first few holders. */
export function holdersText(records: readonly WorkerRecord[]): string {
  const names = records.slice(0, SHOWN_COUNT).map(({ workerId, holder, freeInMs }) => {
    const { host, pid, application } = holder!;
    const who = `${cutName(application)} on ${cutName(host)}, pid ${pid}`;
    return `worker id ${workerId} (${who}, free in ${spanText(freeInMs)} at most)`;
  });
  const restCount = records.length - names.length;
  return [...names, ...(restCount > 0 ? [`${restCount} more`] : [])].join('; ');
}

/**
 * Follows the processes whose worker IDs now belong to other processes, over several reads of a
 * registry. The first read is before the move. Each process gives its ID up at a renewal.
 */
export class Resettled {
  /** The leases from before the move; each range ends by `byMs`, Unix ms. */
  readonly #leases = new Map<string, { record: WorkerRecord; byMs: number }>();

  /** Returns the processes that have no worker ID of the layouts yet. */
  rest({ workers, nowMs, facts }: RegistryView): WorkerRecord[] {
    const held = workers.filter(isHeld);
    const isPlaced = isWithinAny(activeIn(facts?.fingerprint ?? ''));
    const isFirst = this.#leases.size === 0;
    for (const record of held) {
      if (!isFirst && isPlaced(record) && !this.#leases.has(leaseOf(record))) continue;
      this.#leases.set(leaseOf(record), { record, byMs: nowMs + record.freeInMs });
    }
    const placed = held.filter(isPlaced);
    const kept = new Set(placed.map(leaseOf));
    const owners = placed.filter((each) => !this.#leases.has(leaseOf(each))).map(ownerOf);
    const waiting = [...this.#leases].filter(([lease, { record, byMs }]) => {
      if (byMs <= nowMs || kept.has(lease)) return false;
      const at = owners.indexOf(ownerOf(record));
      if (at >= 0) owners.splice(at, 1);
      return at < 0;
    });
    return waiting.map(([, { record }]) => record);
  }
}

const leaseOf = ({ workerId, holder }: WorkerRecord): string => `${workerId} ${holder!.sinceMs}`;

const ownerOf = ({ holder }: WorkerRecord): string =>
  JSON.stringify([holder!.host, holder!.pid, holder!.application]);

export function isWithinAny(layouts: readonly AdmittedLayout[]) {
  return ({ workerId }: WorkerRecord): boolean =>
    layouts.some(({ span }) => isWithin(workerId, span!));
}

/**
 * Holders of a layout that ends. The first of the layouts ran before the move, so a worker ID in
 * neither layout belongs to it until the next renewal.
 */
export function isHeldBeside(
  { fingerprint }: Pick<AdmittedLayout, 'fingerprint'>,
  active: readonly AdmittedLayout[],
) {
  const leaving = active.filter((layout) => layout.fingerprint !== fingerprint);
  const ownsRest = leaving.includes(active[0]!);
  return (record: WorkerRecord): boolean =>
    isHeld(record) && (isWithinAny(leaving)(record) || (ownsRest && !isWithinAny(active)(record)));
}

/** The interval between two reads of a registry during a wait. */
export const POLL_MS = 250;

/** Waits until no holder is left, and names the remaining ones. */
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

/**
 * Returns the reason if some holders of a registry find no worker ID before or after a rollout.
 *
 * @param left the worker IDs of the old side, which must suffice for all processes
 */
export function crowdedText(
  records: readonly WorkerRecord[],
  { left, rest }: Readonly<Record<'left' | 'rest', IdSpan>>,
): string | undefined {
  const takenCount = records.filter(({ freeInMs }) => freeInMs > 0).length;
  const leftCount = left.workerIdMax - left.workerIdMin + 1;
  if (takenCount > leftCount) {
    return `${takenCount} worker ids are in use, and ${leftCount} would be left for them.`;
  }
  const holders = records.filter(isHeld);
  // A holder of only one number is left out, because its successor may claim another number.
  const ofRegions = holders.filter(
    (record) => spanOf(record).workerIdMin < spanOf(record).workerIdMax,
  );
  const unplaced = new Set([...unplacedIn(holders, left), ...unplacedIn(ofRegions, rest)]);
  if (unplaced.size === 0) return undefined;
  const asked = new Set([...unplaced].map(({ holder }) => `${holder!.workerIds}`));
  return (
    `Processes that may only have the worker ids ${[...asked].slice(0, SHOWN_COUNT).join(', ')} ` +
    `find none on one side of the move (${idsText(left)}, and ${idsText(rest)}): ` +
    `${holdersText([...unplaced])}. If all processes here may have the same ones, name them in ` +
    '--workers.'
  );
}

/**
 * The holders that remain if as many as possible get an allowed worker ID of a span. In the order
 * of the IDs, each goes to the holder whose allowed span ends first (Glover, 1967).
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

/** The worker IDs that a holder may have, if its record names them. */
export function spanOf({ holder }: WorkerRecord): IdSpan {
  const [, min, max] = /^(\d{1,9})-(\d{1,9})$/.exec(holder?.workerIds ?? '') ?? [];
  return min === undefined
    ? { workerIdMin: 0, workerIdMax: Infinity }
    : { workerIdMin: Number(min), workerIdMax: Number(max) };
}
