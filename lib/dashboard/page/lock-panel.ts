/**
 * The locks: those of the process that answered, and all holders in the store.
 *
 * Guarantee: the panel is hidden if the application has no locks. If the store does not answer, the
 * last list stays, marked as old, and the process still shows its own locks.
 */
import type { LockView, LocksAnswer } from '../answers.js';
import { ask, askOften } from './polling.js';
import {
  element,
  found,
  setAttributes,
  setHidden,
  setTerms,
  setText,
  countText,
  localText,
  numberText,
  spanText,
  timeText,
} from './elements.js';

/** This differs from the other periods for the same reason as they differ from each other. */
const EVERY_MS = 2500;

const COLUMNS: readonly (readonly [title: string, text: (lock: LockView) => string])[] = [
  ['lock', ({ lock }) => lock],
  ['state', ({ state, isOwn }) => (isOwn ? `${state}, this process` : state)],
  ['by', ({ by }) => by],
  ['token', ({ token }) => token],
  ['since', ({ sinceMs }) => localText(sinceMs)],
  ['free in', ({ leftMs }) => spanText(leftMs)],
];

export class LockPanel {
  private readonly panel = found('locks');
  private readonly body = element('tbody', { role: 'rowgroup' });
  private readonly terms = element('dl', { id: 'lock-terms' });
  private readonly nothing = element('p', {}, 'No lock is held.');
  private readonly table: HTMLTableElement;
  private readonly rows = new Map<string, HTMLTableRowElement>();
  private listedAt = '';
  private begun: Promise<void> | undefined;

  constructor() {
    const heads = COLUMNS.map(([title]) =>
      element('th', { scope: 'col', role: 'columnheader' }, title),
    );
    const head = element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...heads));
    const caption = element('caption', { class: 'unseen' }, 'Who holds which lock');
    this.table = element('table', { role: 'table' }, caption, head, this.body);
    found('lock-table').append(this.terms, this.table, this.nothing);
  }

  /** Starts asking for locks; further calls do nothing. */
  begin(): void {
    this.begun ??= askOften(
      EVERY_MS,
      () => ask<LocksAnswer>('locks'),
      (answer) => this.show(answer),
      (fault) => this.fail(fault),
    )();
  }

  private show({ own, location, locks, problem }: LocksAnswer): void {
    setHidden(this.panel, own === undefined);
    if (own === undefined) return;
    setTerms(this.terms, [
      ...(location === undefined ? [] : [['kept in', location] as const]),
      ['held here', countText(own.held, 'lock')],
      ['waited for here', countText(own.waiting, 'caller')],
      ['got', numberText(own.acquired)],
      ['refused', numberText(own.refused)],
      ['store away', numberText(own.unavailable)],
      ['lost', numberText(own.lost)],
    ]);
    setAttributes(this.terms, { class: own.lost > 0 ? 'lost' : '' });
    const isListed = problem === undefined || locks.length > 0;
    if (isListed) this.list(locks);
    const isOld = !isListed && this.listedAt !== '';
    this.note(isOld ? `${problem} This list is from ${this.listedAt}.` : problem);
    setAttributes(this.panel, { class: isListed ? 'panel wide' : 'panel wide old' });
    setHidden(this.nothing, this.rows.size > 0 || !isListed);
    setHidden(this.table, this.rows.size === 0);
  }

  private fail(problem: string): void {
    if (!this.panel.hidden) this.note(`${problem} This list is from ${this.listedAt}.`);
  }

  private note(problem = ''): void {
    setText(found('locks-problem'), problem);
    setHidden(found('locks-problem'), problem === '');
  }

  private list(locks: readonly LockView[]): void {
    this.listedAt = timeText(new Date());
    const keys = new Set(locks.map(({ lock }) => lock));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.rows.delete(key);
    }
    locks.forEach((lock, at) => {
      const row = this.row(lock);
      const there = this.body.children[at] ?? null;
      if (there !== row) this.body.insertBefore(row, there);
    });
  }

  private row(lock: LockView): HTMLTableRowElement {
    const row = this.rows.get(lock.lock) ?? newRow();
    this.rows.set(lock.lock, row);
    COLUMNS.forEach(([, text], at) => setText(row.children[at]!, text(lock)));
    setAttributes(row, { class: lock.isOwn ? 'own' : lock.state });
    return row;
  }
}

function newRow(): HTMLTableRowElement {
  const cells = COLUMNS.map(([title], at) =>
    at === 0
      ? element('th', { scope: 'row', role: 'rowheader', 'data-title': title })
      : element('td', { role: 'cell', 'data-title': title }),
  );
  return element('tr', { role: 'row' }, ...cells);
}
