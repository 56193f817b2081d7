/**
 * Who holds which worker id, as a table that can be searched and sorted.
 *
 * Promise: a row stays the same element while its worker id is listed; only what differs is
 * written again.
 */
import type { WorkerView } from '../answers.js';
import { element, setAttributes, setBar, setHidden, setText } from './elements.js';
import { agoText, spanText } from './texts.js';

/** By which process a worker is held that this page is answered by. */
export interface Own {
  readonly host: string;
  readonly pid: number;
  readonly workerId: number | undefined;
}

interface Column {
  readonly title: string;
  readonly text: (worker: WorkerView, own: Own) => string;
  readonly order: (worker: WorkerView, own: Own) => number | string;
}

const COLUMNS: readonly Column[] = [
  { title: 'worker id', text: ({ workerId }) => `${workerId}`, order: ({ workerId }) => workerId },
  { title: 'state', text: stateText, order: stateText },
  labelColumn('application', (worker) => worker.holder?.application ?? ''),
  labelColumn('host', (worker, own) => worker.holder?.host ?? (isFixed(worker) ? own.host : '')),
  {
    title: 'pid',
    text: (worker, own) => String(pidOf(worker, own) ?? ''),
    order: (worker, own) => pidOf(worker, own) ?? -1,
  },
  {
    title: 'age',
    text: ({ holder }) => (holder === undefined ? '' : spanText(holder.heldForMs)),
    order: ({ holder }) => holder?.heldForMs ?? -1,
  },
  {
    title: 'time to ceiling',
    text: ceilingText,
    order: ({ remainingMs }) => remainingMs ?? Infinity,
  },
];
const CEILING_AT = COLUMNS.length - 1;

interface Row {
  readonly root: HTMLTableRowElement;
  readonly cells: readonly HTMLElement[];
  readonly bar: HTMLElement;
}

export class WorkerTable {
  private readonly rows = new Map<number, Row>();
  private readonly body = element('tbody', { role: 'rowgroup' });
  private readonly heads: readonly HTMLTableCellElement[];
  private readonly nothing = element('p', {}, 'No worker id matches.');
  private workers: readonly WorkerView[] = [];
  private own: Own = { host: '', pid: 0, workerId: undefined };
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
  }

  show(workers: readonly WorkerView[], own: Own): void {
    this.workers = workers;
    this.own = own;
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
    const { own, sortedAt, isDescending } = this;
    this.heads.forEach((head, at) => {
      const order = isDescending ? 'descending' : 'ascending';
      setAttributes(head, { 'aria-sort': at === sortedAt ? order : 'none' });
    });
    const { order } = COLUMNS[sortedAt]!;
    const listed = this.workers
      .filter((worker) => this.isWanted(worker))
      .toSorted((a, b) => compared(order(a, own), order(b, own)) || a.workerId - b.workerId);
    if (isDescending) listed.reverse();
    const longestMs = Math.max(1, ...listed.map(({ remainingMs }) => remainingMs ?? 0));
    const roots = listed.map((worker) => this.row(worker, longestMs));
    const isSame = roots.every((root, at) => root === this.body.children[at]);
    if (!isSame || roots.length !== this.body.children.length) this.body.replaceChildren(...roots);
    setHidden(this.nothing, listed.length > 0 || this.wanted === '');
    const kept = new Set(this.workers.map(({ workerId }) => workerId));
    for (const workerId of this.rows.keys()) if (!kept.has(workerId)) this.rows.delete(workerId);
  }

  private isWanted(worker: WorkerView): boolean {
    const texts = COLUMNS.slice(0, 5).map(({ text }) => text(worker, this.own).toLowerCase());
    return texts.some((text) => text.includes(this.wanted));
  }

  private row(worker: WorkerView, longestMs: number): HTMLTableRowElement {
    const row = this.rows.get(worker.workerId) ?? newRow();
    this.rows.set(worker.workerId, row);
    COLUMNS.forEach(({ text }, at) => setText(row.cells[at]!, text(worker, this.own)));
    const isOwn = worker.workerId === this.own.workerId;
    setAttributes(row.root, { class: isOwn ? `${worker.state} own` : worker.state });
    setHidden(row.bar, worker.remainingMs === undefined);
    setBar(row.bar, (worker.remainingMs ?? 0) / longestMs);
    return row.root;
  }
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

function labelColumn(title: string, text: (worker: WorkerView, own: Own) => string): Column {
  return { title, text, order: (worker, own) => text(worker, own).toLowerCase() };
}

const isFixed = ({ state }: WorkerView): boolean => state === 'fixed';

function pidOf(worker: WorkerView, own: Own): number | undefined {
  return worker.holder?.pid ?? (isFixed(worker) ? own.pid : undefined);
}

function stateText(worker: WorkerView, own: Own): string {
  return worker.workerId === own.workerId ? `${worker.state}, this process` : worker.state;
}

function ceilingText({ state, remainingMs }: WorkerView): string {
  if (remainingMs === undefined) return 'no end';
  return state === 'ended' ? agoText(-remainingMs) : spanText(remainingMs);
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return String(a).localeCompare(String(b));
}
