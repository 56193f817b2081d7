/**
 * The panels beside the cards and the workers: the layout of the ids, the legend, the
 * fleet in figures, the locks and the jobs. First the layout: its fields, and how much of its
 * lifetime is used. Every number comes from the layout in the answer.
 */
import type {
  GeneratorView,
  HolderView,
  JobRunView,
  JobsAnswer,
  JobView,
  LayoutView,
  LeasedGeneratorView,
  WorkerView,
  LockView,
  LocksAnswer,
} from '../answers.js';
import {
  dayText,
  element,
  found,
  numberText,
  said,
  setAttributes,
  setBar,
  setHidden,
  setTerms,
  setText,
  spanText,
  YEAR_MS,
  countText,
  localText,
  timeText,
  type Term,
} from './elements.js';
import { colourOf } from './id-reader.js';
import { ask, askOften } from './polling.js';

export class LayoutPanel {
  private readonly fields = element('div', { class: 'fields', 'aria-hidden': 'true' });
  private readonly bar = element('div', { class: 'bar lifetime', 'aria-hidden': 'true' });
  private readonly used = element('p');
  private readonly terms = element('dl');
  private drawnFor = '';

  constructor(location: HTMLElement) {
    location.append(this.fields, this.used, this.bar, this.terms);
  }

  show({ layout, workerIds, counts }: GeneratorView): void {
    setHidden(found('layout-panel'), layout === undefined);
    if (layout === undefined) return;
    this.draw(layout);
    const { epochMs, endsMs } = layout;
    const share = (counts.readAtMs - epochMs) / (endsMs - epochMs);
    const left = Math.floor((endsMs - counts.readAtMs) / (YEAR_MS / 10)) / 10;
    setText(
      this.used,
      left > 0
        ? said(
            '{} to {}: {} % is used, {} years are left.',
            dayText(epochMs),
            dayText(endsMs),
            numberText(share * 100),
            numberText(left),
          )
        : said('It ran out on {}: no id can be made.', dayText(endsMs)),
    );
    setBar(this.bar, share);
    setTerms(this.terms, [
      [said('fingerprint'), layout.fingerprint],
      [said('one tick'), spanText(layout.unitMs)],
      [said('worker ids'), said('{} to {}', 0, numberText(layout.workerIdMax))],
      ...(workerIds === undefined ? [] : [mayLease(workerIds)]),
      [said('ids per second and worker'), numberText(layout.idsPerSecond)],
    ]);
  }

  private draw({ fingerprint, fields }: LayoutView): void {
    if (fingerprint === this.drawnFor) return;
    this.drawnFor = fingerprint;
    const boxes = fields.map((field) => {
      const box = element(
        'span',
        { class: colourOf(field, fields) },
        `${field.bits} ${field.name}`,
      );
      box.style.setProperty('flex-grow', String(field.bits));
      return box;
    });
    this.fields.replaceChildren(...boxes);
  }
}

function mayLease({ min, max }: NonNullable<GeneratorView['workerIds']>): [string, string] {
  return [said('this application may lease'), said('{} to {}', numberText(min), numberText(max))];
}

/*
 * Counts the worker ids in each state, next to the sign that the map uses for it.
 *
 * The numbers add up to all worker ids that this application may lease, and any others in the list.
 */

const SIGNS = ['held', 'resting', 'ended', 'fixed', 'free'] as const;

interface Counted {
  readonly generator: LeasedGeneratorView;
  readonly workers: readonly WorkerView[];
  /** True if the list has every worker id in use. */
  readonly isKnown: boolean;
}

export function showLegend(list: HTMLElement, { generator, workers, isKnown }: Counted): void {
  const counts = SIGNS.map((sign) => [sign, countOf(sign, generator, workers)] as const);
  const format = counts.filter(([sign, count]) => count > 0 || sign === 'free');
  const texts = format.map(([sign, count]) => [
    sign,
    sign === 'free' ? freeText(count, isKnown) : `${numberText(count)} ${sign}`,
  ]);
  while (list.children.length > texts.length) list.lastElementChild!.remove();
  while (list.children.length < texts.length) list.append(element('li'));
  texts.forEach(([sign, text], at) => {
    const item = list.children[at]!;
    setAttributes(item, { class: sign! });
    setText(item, text!);
  });
}

const freeText = (count: number, isKnown: boolean): string =>
  isKnown ? said('{} free', numberText(count)) : said('others: unknown');

function countOf(
  sign: (typeof SIGNS)[number],
  { workerIds }: LeasedGeneratorView,
  workers: readonly WorkerView[],
): number {
  if (sign !== 'free') return workers.filter(({ state }) => state === sign).length;
  return workerIds.max - workerIds.min + 1 - workers.filter(isWithin(workerIds)).length;
}

/** True for a worker id that this application may lease. */
const isWithin =
  ({ min, max }: LeasedGeneratorView['workerIds']) =>
  ({ workerId }: WorkerView): boolean =>
    workerId >= min && workerId <= max;

/*
 * The fleet in figures: all that the list of holders says of it together.
 */

export function showFleet(
  list: HTMLElement,
  { workerIds }: LeasedGeneratorView,
  workers: readonly WorkerView[],
): void {
  const held = workers.filter(({ state }) => state === 'held' || state === 'fixed');
  const holders = held.flatMap(({ holder }) => holder ?? []);
  const ages = holders.flatMap(({ heldForMs }) => heldForMs ?? []);
  const left = held.flatMap(({ remainingMs }) => remainingMs ?? []);
  const countBy = (textOf: (holder: HolderView) => string): string =>
    numberText(new Set(holders.map(textOf)).size);
  const spans: Term[] = [
    [said('longest held'), spanText(Math.max(...ages)), 'large'],
    [said('newest'), spanText(Math.min(...ages)), 'large'],
  ];
  setTerms(list, [
    [said('processes'), countBy(({ host, pid }) => `${host} ${pid}`), 'large'],
    [said('applications'), countBy(({ application }) => application), 'large'],
    [said('versions of the library'), versionsText(holders)],
    [
      said('worker ids in use'),
      said(
        '{} of {}',
        numberText(held.filter(isWithin(workerIds)).length),
        numberText(workerIds.max - workerIds.min + 1),
      ),
      'large',
    ],
    ...(ages.length === 0 ? [] : spans),
    ...(left.length === 0
      ? []
      : [[said('first to end'), spanText(Math.min(...left)), 'large'] as const]),
  ]);
}

/** While a fleet is rolled there are two; an older library does not say which it is. */
const versionsText = (holders: readonly HolderView[]): string =>
  [...new Set(holders.map(({ version = said('unknown') }) => version))].toSorted().join(', ');

/*
 * A panel with a table of what the store lists, one row for each.
 *
 * Guarantee: if the store does not answer, the last list stays, marked as old.
 */

type Columns<Row> = readonly (readonly [title: string, text: (row: Row) => string])[];

interface Listed<Row> {
  /** The id of the panel; its problem and its table have it at the beginning of theirs. */
  readonly panel: string;
  readonly table: string;
  readonly caption: string;
  readonly columns: Columns<Row>;
  readonly key: (row: Row) => string;
  readonly colour: (row: Row) => string;
  /** What is said where there is no row. */
  readonly nothing: string;
}

class ListPanel<Row> {
  readonly panel: HTMLElement;
  private readonly problem: HTMLElement;
  private readonly body = element('tbody', { role: 'rowgroup' });
  private readonly nothing: HTMLElement;
  private readonly table: HTMLTableElement;
  private readonly rows = new Map<string, HTMLTableRowElement>();
  private listedAt = '';

  constructor(private readonly listed: Listed<Row>) {
    const { panel, table, caption, columns, nothing } = listed;
    this.panel = found(panel);
    this.problem = found(`${panel}-problem`);
    this.nothing = element('p', {}, nothing);
    const heads = columns.map(([title]) =>
      element('th', { scope: 'col', role: 'columnheader' }, title),
    );
    const head = element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...heads));
    const unseen = element('caption', { class: 'unseen' }, caption);
    this.table = element('table', { role: 'table' }, unseen, head, this.body);
    found(table).append(this.table, this.nothing);
  }

  show(list: readonly Row[], problem: string | undefined): void {
    const isListed = problem === undefined || list.length > 0;
    if (isListed) this.list(list);
    const isOld = !isListed && this.listedAt !== '';
    this.note(isOld ? said('{} This list is from {}.', problem ?? '', this.listedAt) : problem);
    setAttributes(this.panel, { class: isListed ? 'panel wide' : 'panel wide old' });
    setHidden(this.nothing, this.rows.size > 0 || !isListed);
    setHidden(this.table, this.rows.size === 0);
  }

  fail(problem: string): void {
    if (!this.panel.hidden)
      this.note(said('{} This list is from {}.', problem ?? '', this.listedAt));
  }

  private note(problem = ''): void {
    setText(this.problem, problem);
    setHidden(this.problem, problem === '');
  }

  private list(list: readonly Row[]): void {
    this.listedAt = timeText(new Date());
    const keys = new Set(list.map((one) => this.listed.key(one)));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.rows.delete(key);
    }
    list.forEach((one, at) => {
      const row = this.row(one);
      const there = this.body.children[at] ?? null;
      if (there !== row) this.body.insertBefore(row, there);
    });
  }

  private row(one: Row): HTMLTableRowElement {
    const { columns, key, colour } = this.listed;
    const row = this.rows.get(key(one)) ?? newRow(columns);
    this.rows.set(key(one), row);
    columns.forEach(([, text], at) => setText(row.children[at]!, text(one)));
    setAttributes(row, { class: colour(one) });
    return row;
  }
}

function newRow(columns: Columns<never>): HTMLTableRowElement {
  const cells = columns.map(([title], at) =>
    at === 0
      ? element('th', { scope: 'row', role: 'rowheader', 'data-title': title })
      : element('td', { role: 'cell', 'data-title': title }),
  );
  return element('tr', { role: 'row' }, ...cells);
}

/*
 * The locks: those of the process that answered, and all holders in the store.
 *
 * Guarantee: the panel is hidden if the application has no locks. If the store does not answer, the
 * process still shows its own locks.
 */

/** These differ from the other periods for the same reason as they differ from each other. */
const LOCKS_EVERY_MS = 2500;
const JOBS_EVERY_MS = 3500;

export class LockPanel {
  private readonly terms = element('dl', { id: 'lock-terms' });
  private readonly list = new ListPanel<LockView>({
    panel: 'locks',
    table: 'lock-table',
    caption: said('Who holds which lock'),
    columns: [
      [said('lock'), ({ lock }) => lock],
      [said('state'), ({ state, isOwn }) => (isOwn ? said('{}, this process', state) : state)],
      [said('by'), ({ by }) => by],
      [said('token'), ({ token }) => token],
      [said('since'), ({ sinceMs }) => localText(sinceMs)],
      [said('free in'), ({ leftMs }) => spanText(leftMs)],
    ],
    key: ({ lock }) => lock,
    colour: ({ isOwn, state }) => (isOwn ? 'own' : state),
    nothing: said('No lock is held.'),
  });
  private begun: Promise<void> | undefined;

  constructor() {
    found('lock-table').prepend(this.terms);
  }

  /** Starts asking for locks; further calls do nothing. */
  begin(): void {
    this.begun ??= askOften(
      LOCKS_EVERY_MS,
      () => ask<LocksAnswer>('locks'),
      (answer) => this.show(answer),
      (fault) => this.list.fail(fault),
    )();
  }

  private show({ own, location, locks, problem }: LocksAnswer): void {
    setHidden(this.list.panel, own === undefined);
    if (own === undefined) return;
    setTerms(this.terms, [
      ...(location === undefined ? [] : [[said('kept in'), location] as const]),
      [said('held here'), countText(own.held, 'lock')],
      [said('waited for here'), countText(own.waiting, 'caller')],
      [said('got'), numberText(own.acquired)],
      [said('refused'), numberText(own.refused)],
      [said('store away'), numberText(own.unavailable)],
      [said('lost'), numberText(own.lost)],
    ]);
    setAttributes(this.terms, { class: own.lost > 0 ? 'lost' : '' });
    this.list.show(locks, problem);
  }
}

/*
 * The jobs of `@CronOnce`, by their records in the store of the locks.
 *
 * Guarantee: the panel is hidden as long as there is no job.
 */

export class JobPanel {
  private readonly list = new ListPanel<JobView>({
    panel: 'jobs',
    table: 'job-table',
    caption: said('Which job ran when'),
    columns: [
      [said('job'), ({ job }) => job],
      [said('schedule'), ({ schedule }) => schedule],
      [
        said('last run for'),
        ({ last }) => (last === undefined ? said('none yet') : localText(last.tickMs)),
      ],
      [said('began'), ({ last }) => (last === undefined ? '' : localText(last.startedAtMs))],
      [said('ended'), ({ last }) => (last === undefined ? '' : endText(last))],
      [said('by'), ({ last }) => last?.by ?? ''],
      [said('next'), (view) => nextText(view)],
    ],
    key: ({ job }) => job,
    colour: ({ last, lateMs }) =>
      lateMs !== undefined || BAD.includes(last?.outcome ?? '') ? 'ended' : 'held',
    nothing: said('There is no job.'),
  });
  private begun: Promise<void> | undefined;

  /** Starts asking for jobs; further calls do nothing. */
  begin(): void {
    this.begun ??= askOften(
      JOBS_EVERY_MS,
      () => ask<JobsAnswer>('jobs'),
      ({ jobs, problem }) => {
        if (jobs.length > 0) setHidden(this.list.panel, false);
        if (!this.list.panel.hidden) this.list.show(jobs, problem);
      },
      (fault) => this.list.fail(fault),
    )();
  }
}

const BAD: readonly string[] = ['failed', 'lost', 'given-up', 'too-long'];

function endText({ outcome, tookMs, skippedCount }: JobRunView): string {
  const took = ['running', 'skipped'].includes(outcome) ? '' : said(' in {}', spanText(tookMs));
  const skipped = skippedCount === 0 ? '' : said(', {} before left out', numberText(skippedCount));
  return outcome + took + skipped;
}

function nextText({ nextMs, lateMs }: JobView): string {
  if (nextMs === undefined) return '';
  return localText(nextMs) + (lateMs === undefined ? '' : said(', {} late', spanText(lateMs)));
}
