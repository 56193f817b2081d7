/**
 * A table of who holds which worker id, which can be searched and sorted.
 *
 * Promise: a row stays the same element while its holder is listed; only changes are written, and
 * only rows in the wrong place are moved.
 */
import type { WorkerView } from '../answers.js';
import { element, setAttributes, setBar, setHidden, setText } from './elements.js';
import { agoText, spanText } from './texts.js';

/** Whether the answering process holds it; known only if one process answers. */
export type IsOwn = (worker: WorkerView) => boolean;

interface Column {
  readonly title: string;
  readonly text: (worker: WorkerView) => string;
  readonly order: (worker: WorkerView) => number | string;
  readonly isSearched?: boolean;
}

const COLUMNS: readonly Column[] = [
  {
    title: 'worker id',
    text: ({ workerId }) => String(workerId),
    order: ({ workerId }) => workerId,
    isSearched: true,
  },
  wordColumn('state', ({ state }) => state),
  wordColumn('application', ({ holder }) => holder?.application ?? ''),
  wordColumn('host', ({ holder }) => holder?.host ?? ''),
  {
    title: 'pid',
    text: ({ holder }) => String(holder?.pid ?? ''),
    order: ({ holder }) => holder?.pid ?? -1,
    isSearched: true,
  },
  {
    title: 'age',
    text: ({ holder }) => (holder?.heldForMs === undefined ? '' : spanText(holder.heldForMs)),
    order: ({ holder }) => holder?.heldForMs ?? -1,
  },
  {
    title: 'time to ceiling',
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
  private readonly nothing = element('p', {}, 'No worker id matches.');
  private workers: readonly WorkerView[] = [];
  private isOwn: IsOwn = () => false;
  private wanted = '';
  private sortedAt = 0;
  private isDescending = false;

  constructor(place: HTMLElement, filter: HTMLInputElement) {
    this.heads = COLUMNS.map(({ title }, at) => this.head(title, at));
    const line = element('tr', { role: 'row' }, ...this.heads);
    const head = element('thead', { role: 'rowgroup' }, line);
    const caption = element('caption', { class: 'unseen' }, 'Who holds which worker id');
    place.append(element('table', { role: 'table' }, caption, head, this.body), this.nothing);
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
      const more = isOwn && at === STATE_AT ? ', this process' : '';
      setText(row.cells[at]!, text(worker) + more);
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
  if (remainingMs === undefined) return 'no end';
  return state === 'ended' ? agoText(-remainingMs) : spanText(remainingMs);
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return String(a).localeCompare(String(b));
}
