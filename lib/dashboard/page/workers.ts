/**
 * The worker ids as map and as table. The map has a cell for each, or for several,
 * which is filled as far as they are in use.
 *
 * Guarantee: states differ by shape, not only by colour. Everything it shows is also in the table
 * and the legend.
 */
import {
  WORKERS_SHOWN_MAX,
  type GeneratorView,
  type LeasedGeneratorView,
  type StateAnswer,
  type WorkerState,
  type WorkerView,
} from '../answers.js';
import {
  agoText,
  drawn,
  element,
  holderText,
  numberText,
  said,
  setAttributes,
  setBar,
  setHidden,
  setText,
  spanText,
} from './elements.js';

/** Enough to see where holders are; each may stand for several worker ids. */
const CELLS_MAX = 64;
const CELL_WIDTH = 16;
const CELL_HEIGHT = 48;
/** What is in use is always seen, however many worker ids stand beside it in a cell. */
const FILLED_MIN = 5;
/** From the bottom of a cell to its top. */
const FILLING: readonly WorkerState[] = ['held', 'fixed', 'resting', 'ended'];

interface Space {
  readonly min: number;
  readonly max: number;
  readonly perCell: number;
  readonly cellCount: number;
}

interface Cell {
  readonly ground: SVGElement;
  readonly title: SVGElement;
  readonly filled: ReadonlyMap<WorkerState, SVGElement>;
}

export class WorkerMap {
  private readonly root = drawn('svg', { class: 'map', preserveAspectRatio: 'none' });
  private readonly first = element('span');
  private readonly last = element('span');
  private cells: readonly Cell[] = [];
  private drawnFor = '';

  constructor(location: HTMLElement) {
    setAttributes(location, { 'aria-hidden': 'true' });
    location.append(this.root, element('p', { class: 'scale' }, this.first, this.last));
  }

  show(generator: LeasedGeneratorView, workers: readonly WorkerView[], isOwn: IsOwn): void {
    const space = spaceOf(generator, workers);
    this.draw(space);
    const byCell = grouped(workers, (worker) => cellOf(space, worker.workerId));
    this.cells.forEach(({ ground, title, filled }, at) => {
      const inside = byCell.get(at) ?? [];
      const look = isForLease(space, at, generator) ? 'free' : 'outside';
      setAttributes(ground, { class: inside.some(isOwn) ? `${look} own` : look });
      let top = CELL_HEIGHT;
      for (const [state, rect] of filled) {
        const count = inside.filter((worker) => worker.state === state).length;
        const share = (count / space.perCell) * CELL_HEIGHT;
        const height = count === 0 ? 0 : Math.min(top, Math.max(FILLED_MIN, share));
        top -= height;
        setAttributes(rect, { y: top, height, class: height === 0 ? 'none' : state });
      }
      setText(title, titleOf(space, at, { inside, state: look }));
    });
  }

  private draw(space: Space): void {
    const { min, max, perCell, cellCount } = space;
    const drawnFor = `${min} ${perCell} ${cellCount}`;
    if (drawnFor === this.drawnFor) return;
    this.drawnFor = drawnFor;
    setAttributes(this.root, { viewBox: `0 0 ${cellCount * CELL_WIDTH} ${CELL_HEIGHT}` });
    this.cells = Array.from({ length: cellCount }, (_, at) => newCell(at * CELL_WIDTH));
    const groups = this.cells.map(({ title, ground, filled }) =>
      drawn('g', {}, title, ground, ...filled.values()),
    );
    this.root.replaceChildren(...groups);
    setText(this.first, numberText(min));
    setText(this.last, numberText(max));
  }
}

function newCell(x: number): Cell {
  const place = { x: x + 1, width: CELL_WIDTH - 2, rx: 1.5 };
  const filled = FILLING.map((state) => [state, drawn('rect', { ...place, height: 0 })] as const);
  return {
    ground: drawn('rect', { ...place, y: 0, height: CELL_HEIGHT }),
    title: drawn('title', {}),
    filled: new Map(filled),
  };
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
  const perCell = Math.ceil((max - min + 1) / CELLS_MAX);
  return { min, max, perCell, cellCount: Math.ceil((max - min + 1) / perCell) };
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

/** True if this application may lease any of a cell's worker ids. */
function isForLease(
  { min, perCell }: Space,
  at: number,
  { workerIds, lease }: LeasedGeneratorView,
): boolean {
  const first = min + at * perCell;
  const isLeased = lease.remainingMs !== undefined || lease.workerId === undefined;
  return isLeased && first <= workerIds.max && first + perCell > workerIds.min;
}

function titleOf(
  { min, perCell }: Space,
  at: number,
  { inside, state }: { readonly inside: readonly WorkerView[]; readonly state: string },
): string {
  const first = min + at * perCell;
  const ids = perCell === 1 ? `${first}` : said('{} to {}', first, first + perCell - 1);
  if (inside.length === 0)
    return state === 'free' ? said('{}: free', ids) : said('{}: not for this application', ids);
  const listed = inside.map(({ workerId, state, holder }) => {
    const who = holder === undefined ? '' : `: ${holderText(holder)}`;
    return `${perCell === 1 ? '' : `${workerId} `}${state}${who}`;
  });
  return `${ids}\n${listed.join('\n')}`;
}

/*
 * A table of worker ids and their holders, which can be searched and sorted.
 *
 * Guarantee: a row stays the same element while its holder is listed; only changes are written, and
 * only rows in the wrong place are moved.
 */

/** Tells whether the answering process holds it; known only if one process answers. */
type IsOwn = (worker: WorkerView) => boolean;

interface Column {
  readonly title: string;
  readonly text: (worker: WorkerView) => string;
  readonly order: (worker: WorkerView) => number | string;
  readonly isSearched?: boolean;
}

const COLUMNS: readonly Column[] = [
  {
    title: said('worker id'),
    text: ({ workerId }) => String(workerId),
    order: ({ workerId }) => workerId,
    isSearched: true,
  },
  wordColumn(said('state'), ({ state }) => state),
  wordColumn(said('application'), ({ holder }) => holder?.application ?? ''),
  wordColumn(said('host'), ({ holder }) => holder?.host ?? ''),
  {
    title: 'pid',
    text: ({ holder }) => String(holder?.pid ?? ''),
    order: ({ holder }) => holder?.pid ?? -1,
    isSearched: true,
  },
  wordColumn(said('version'), ({ holder }) => holder?.version ?? ''),
  {
    title: said('age'),
    text: ({ holder }) => (holder?.heldForMs === undefined ? '' : spanText(holder.heldForMs)),
    order: ({ holder }) => holder?.heldForMs ?? -1,
  },
  {
    title: said('time to ceiling'),
    text: ceilingText,
    order: ({ remainingMs }) => remainingMs ?? Infinity,
  },
];
const STATE_AT = 1;
const CEILING_AT = COLUMNS.length - 1;

interface Row {
  readonly root: HTMLTableRowElement;
  readonly cells: readonly HTMLElement[];
  readonly bar: HTMLElement;
}

export class WorkerTable {
  private readonly rows = new Map<string, Row>();
  private readonly body = element('tbody', { role: 'rowgroup' });
  private readonly heads: readonly HTMLTableCellElement[];
  private readonly nothing = element('p', {}, said('No worker id matches.'));
  private workers: readonly WorkerView[] = [];
  private isOwn: IsOwn = () => false;
  private wanted = '';
  private sortedAt = 0;
  private isDescending = false;

  constructor(location: HTMLElement, filter: HTMLInputElement) {
    this.heads = COLUMNS.map(({ title }, at) => this.head(title, at));
    const line = element('tr', { role: 'row' }, ...this.heads);
    const head = element('thead', { role: 'rowgroup' }, line);
    const caption = element('caption', { class: 'unseen' }, said('Who holds which worker id'));
    location.append(element('table', { role: 'table' }, caption, head, this.body), this.nothing);
    filter.addEventListener('input', () => {
      this.wanted = filter.value.trim().toLowerCase();
      this.render();
    });
    this.render();
  }

  show(workers: readonly WorkerView[], isOwn: IsOwn): void {
    this.workers = workers;
    this.isOwn = isOwn;
    this.render();
  }

  private head(title: string, at: number): HTMLTableCellElement {
    const button = element('button', { type: 'button' }, title);
    button.addEventListener('click', () => {
      this.isDescending = this.sortedAt === at && !this.isDescending;
      this.sortedAt = at;
      this.render();
    });
    return element('th', { scope: 'col', role: 'columnheader' }, button);
  }

  private render(): void {
    const { sortedAt, isDescending, body } = this;
    this.heads.forEach((head, at) => {
      const order = isDescending ? 'descending' : 'ascending';
      setAttributes(head, { 'aria-sort': at === sortedAt ? order : 'none' });
    });
    const { order } = COLUMNS[sortedAt]!;
    const listed = this.workers
      .filter((worker) => this.isWanted(worker))
      .toSorted((a, b) => compared(order(a), order(b)) || a.workerId - b.workerId);
    if (isDescending) listed.reverse();
    const longestMs = Math.max(1, ...listed.map(({ remainingMs }) => remainingMs ?? 0));
    listed.forEach((worker, at) => {
      const row = this.row(worker, longestMs);
      const there = body.children[at] ?? null;
      if (there !== row) body.insertBefore(row, there);
    });
    while (body.children.length > listed.length) body.lastElementChild!.remove();
    setHidden(this.nothing, listed.length > 0 || this.wanted === '');
    const kept = new Set(this.workers.map(keyOf));
    for (const key of this.rows.keys()) if (!kept.has(key)) this.rows.delete(key);
  }

  private isWanted(worker: WorkerView): boolean {
    return COLUMNS.filter(({ isSearched }) => isSearched).some(({ text }) =>
      text(worker).toLowerCase().includes(this.wanted),
    );
  }

  private row(worker: WorkerView, longestMs: number): HTMLTableRowElement {
    const row = this.rows.get(keyOf(worker)) ?? newRow();
    this.rows.set(keyOf(worker), row);
    const isOwn = this.isOwn(worker);
    COLUMNS.forEach(({ text }, at) => {
      const isNamed = isOwn && at === STATE_AT;
      setText(row.cells[at]!, isNamed ? said('{}, this process', text(worker)) : text(worker));
    });
    setAttributes(row.root, { class: isOwn ? `${worker.state} own` : worker.state });
    setHidden(row.bar, worker.remainingMs === undefined);
    setBar(row.bar, (worker.remainingMs ?? 0) / longestMs);
    return row.root;
  }
}

/** If two processes have the same static worker id by mistake, each has a row. */
function keyOf({ workerId, state, holder }: WorkerView): string {
  return state === 'fixed' ? `${workerId} ${holder?.host} ${holder?.pid}` : String(workerId);
}

function newRow(): Row {
  const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
  const cells = COLUMNS.map(() => element('span'));
  const boxes = COLUMNS.map(({ title }, at) => {
    const content = at === CEILING_AT ? [cells[at]!, bar] : [cells[at]!];
    if (at > 0) return element('td', { role: 'cell', 'data-title': title }, ...content);
    return element('th', { scope: 'row', role: 'rowheader', 'data-title': title }, ...content);
  });
  return { root: element('tr', { role: 'row' }, ...boxes), cells, bar };
}

function wordColumn(title: string, text: Column['text']): Column {
  return { title, text, order: (worker) => text(worker).toLowerCase(), isSearched: true };
}

function ceilingText({ state, remainingMs }: WorkerView): string {
  if (remainingMs === undefined) return said('no end');
  return state === 'ended' ? agoText(-remainingMs) : spanText(remainingMs);
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return String(a).localeCompare(String(b));
}

/* Worker ids that the page knows without a list. */

/** A generator without a worker id is in no list of workers. */
export const hasWorkerId = (generator: GeneratorView): generator is LeasedGeneratorView =>
  generator.lease !== undefined;

/** Without a list the page shows what this process knows of itself. */
export function ownWorkers(
  { application, lease }: LeasedGeneratorView,
  { host, pid, version }: StateAnswer,
): WorkerView[] {
  const { workerId, remainingMs } = lease;
  if (workerId === undefined) return [];
  const state = remainingMs === undefined ? 'fixed' : 'held';
  return [{ workerId, state, holder: { host, pid, version, application }, remainingMs }];
}

/*
 * Static worker ids; each process knows only its own.
 *
 * Guarantee: behind a load balancer the list has every process that answered within a minute, so a
 * number given to two of them appears twice.
 */

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
