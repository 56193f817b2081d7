/**
 * A map with a cell for each worker id, or for several if there are very many.
 *
 * Promise: states differ by shape, not only by colour. Everything it shows is also in the table and
 * the legend.
 */
import {
  WORKERS_SHOWN_MAX,
  type LeasedGeneratorView,
  type WorkerState,
  type WorkerView,
} from '../answers.js';
import type { IsOwn } from './worker-table.js';
import { drawn, setAttributes, setText } from './elements.js';

const STEP = 10;
/** The most important first: a cell for several worker ids shows this one. */
const NOTABLE: readonly WorkerState[] = ['ended', 'held', 'fixed', 'resting'];

interface Space {
  readonly min: number;
  readonly perCell: number;
  readonly cellCount: number;
}

export class WorkerMap {
  private readonly root = drawn('svg', { class: 'map', 'aria-hidden': 'true' });
  private cells: { readonly rect: SVGElement; readonly title: SVGElement }[] = [];
  private drawnFor = '';

  constructor(place: HTMLElement) {
    place.append(this.root);
  }

  show(generator: LeasedGeneratorView, workers: readonly WorkerView[], isOwn: IsOwn): void {
    const space = spaceOf(generator, workers);
    this.draw(space);
    const byCell = grouped(workers, (worker) => cellOf(space, worker.workerId));
    this.cells.forEach(({ rect, title }, at) => {
      const inside = byCell.get(at) ?? [];
      const state =
        NOTABLE.find((one) => inside.some((worker) => worker.state === one)) ??
        (isForLease(space, at, generator) ? 'free' : 'outside');
      setAttributes(rect, { class: inside.some(isOwn) ? `${state} own` : state });
      setText(title, titleOf(space, at, { inside, state }));
    });
  }

  private draw({ min, perCell, cellCount }: Space): void {
    const drawnFor = `${min} ${perCell} ${cellCount}`;
    if (drawnFor === this.drawnFor) return;
    this.drawnFor = drawnFor;
    const columns = columnsFor(cellCount);
    const rows = Math.ceil(cellCount / columns);
    setAttributes(this.root, { viewBox: `0 0 ${columns * STEP} ${rows * STEP}` });
    this.cells = Array.from({ length: cellCount }, (_, at) => {
      const x = (at % columns) * STEP + 1;
      const y = Math.floor(at / columns) * STEP + 1;
      const title = drawn('title', {});
      return { title, rect: drawn('rect', { x, y, width: 8, height: 8, rx: 1.5 }, title) };
    });
    this.root.replaceChildren(...this.cells.map(({ rect }) => rect));
  }
}

/** All worker ids of a small layout; of a large one those that can be leased, and any in use. */
function spaceOf(
  { layout, workerIds }: LeasedGeneratorView,
  workers: readonly WorkerView[],
): Space {
  const isSmall = layout.workerIdMax < WORKERS_SHOWN_MAX;
  const seen = workers.map(({ workerId }) => workerId);
  const min = isSmall ? 0 : Math.min(workerIds.min, ...seen);
  const max = isSmall ? layout.workerIdMax : Math.max(workerIds.max, ...seen);
  const perCell = Math.ceil((max - min + 1) / WORKERS_SHOWN_MAX);
  return { min, perCell, cellCount: Math.ceil((max - min + 1) / perCell) };
}

const cellOf = ({ min, perCell }: Space, workerId: number): number =>
  Math.floor((workerId - min) / perCell);

function grouped(
  workers: readonly WorkerView[],
  keyOf: (worker: WorkerView) => number,
): ReadonlyMap<number, WorkerView[]> {
  const groups = new Map<number, WorkerView[]>();
  for (const worker of workers) {
    const key = keyOf(worker);
    groups.set(key, [...(groups.get(key) ?? []), worker]);
  }
  return groups;
}

/** Whether this application may lease any of a cell's worker ids. */
function isForLease(
  { min, perCell }: Space,
  at: number,
  { workerIds, lease }: LeasedGeneratorView,
): boolean {
  const first = min + at * perCell;
  const isLeased = lease.remainingMs !== undefined || lease.workerId === undefined;
  return isLeased && first <= workerIds.max && first + perCell > workerIds.min;
}

function columnsFor(cellCount: number): number {
  if (cellCount <= 256) return 32;
  return cellCount <= 1024 ? 64 : 128;
}

function titleOf(
  { min, perCell }: Space,
  at: number,
  { inside, state }: { readonly inside: readonly WorkerView[]; readonly state: string },
): string {
  const first = min + at * perCell;
  const ids = perCell === 1 ? `${first}` : `${first} to ${first + perCell - 1}`;
  if (inside.length === 0)
    return state === 'free' ? `${ids}: free` : `${ids}: not for this application`;
  const said = inside.map(({ workerId, state, holder }) => {
    const who = holder === undefined ? '' : ` by ${holder.application} on ${holder.host}`;
    return `${perCell === 1 ? '' : `${workerId} `}${state}${who}`;
  });
  return `${ids}: ${said.join(', ')}`;
}
