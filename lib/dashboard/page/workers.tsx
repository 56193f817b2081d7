/**
 * The worker IDs as map and as table. A cell of the map stands for one worker ID or several, and is
 * filled by the share in use.
 *
 * Guarantee: states differ by shape, not only by color. The table and the legend contain everything
 * that the map shows.
 */
import { Component, type ComponentChildren } from 'preact';
import {
  WORKERS_SHOWN_MAX,
  type LeasedGeneratorView,
  type WorkerState,
  type WorkerView,
} from '../answers.js';
import { LeaseBar, Table, type Sorting } from './parts.js';
import { agoText, holderText, numberText, said, spanText } from './texts.js';

/** Enough to show where the holders are; a cell may stand for several worker IDs. */
const CELLS_MAX = 64;
const CELL_WIDTH = 16;
const CELL_HEIGHT = 48;
/** A worker ID in use is always visible, however many others share its cell. */
const FILLED_MIN = 5;
const FILLING: readonly WorkerState[] = ['held', 'fixed', 'resting', 'ended'];

interface WorkersProps {
  readonly workers: readonly WorkerView[];
  /** True if the responding process holds it; unknown if several processes respond. */
  readonly isOwn: (worker: WorkerView) => boolean;
}

interface MapProps extends WorkersProps {
  readonly generator: LeasedGeneratorView;
}

export function WorkerMap({ generator, workers, isOwn }: MapProps) {
  const { min, max, perCell } = spaceOf(generator, workers);
  const { workerIds, lease } = generator;
  const isLeased = lease.remainingMs !== undefined || lease.workerId === undefined;
  const cells = Array.from({ length: Math.ceil((max - min + 1) / perCell) }, (_, at) => {
    const first = min + at * perCell;
    const last = first + perCell - 1;
    const inside = workers.filter(({ workerId }) => workerId >= first && workerId <= last);
    // This application may lease any of them.
    const isFree = isLeased && first <= workerIds.max && last >= workerIds.min;
    const look = `${isFree ? 'free' : 'outside'}${inside.some(isOwn) ? ' own' : ''}`;
    const place = { x: at * CELL_WIDTH + 1, width: CELL_WIDTH - 2, rx: 1.5 };
    const ids = perCell === 1 ? String(first) : said('{} to {}', first, last);
    const nobody = isFree ? said('{}: free', ids) : said('{}: not for this application', ids);
    return (
      <g key={first}>
        <title>
          {inside.length === 0 ? nobody : [ids, ...inside.map(titleIn(perCell))].join('\n')}
        </title>
        <rect class={look} y={0} height={CELL_HEIGHT} {...place} />
        {fillings(inside, perCell).map((filling) => (
          <rect key={filling.class} {...filling} {...place} />
        ))}
      </g>
    );
  });
  const viewBox = `0 0 ${cells.length * CELL_WIDTH} ${CELL_HEIGHT}`;
  return (
    <div id="map" aria-hidden="true">
      <svg class="map" viewBox={viewBox} preserveAspectRatio="none">
        {cells}
      </svg>
      <p class="scale">
        <span>{numberText(min)}</span>
        <span>{numberText(max)}</span>
      </p>
    </div>
  );
}

/**
 * All worker IDs of a small layout. Of a large one, those that the application may lease, and any
 * in use.
 */
function spaceOf({ layout, workerIds }: LeasedGeneratorView, workers: readonly WorkerView[]) {
  const isSmall = layout.workerIdMax < WORKERS_SHOWN_MAX;
  const seen = workers.map(({ workerId }) => workerId);
  const min = isSmall ? 0 : Math.min(workerIds.min, ...seen);
  const max = isSmall ? layout.workerIdMax : Math.max(workerIds.max, ...seen);
  return { min, max, perCell: Math.ceil((max - min + 1) / CELLS_MAX) };
}

const titleIn =
  (perCell: number) =>
  ({ workerId, state, holder }: WorkerView): string =>
    `${perCell === 1 ? '' : `${workerId} `}${state}${holder ? `: ${holderText(holder)}` : ''}`;

/** The filling of a cell, from bottom to top. */
function fillings(inside: readonly WorkerView[], perCell: number) {
  let y = CELL_HEIGHT;
  return FILLING.flatMap((state) => {
    const count = inside.filter((worker) => worker.state === state).length;
    if (count === 0) return [];
    const height = Math.min(y, Math.max(FILLED_MIN, (count / perCell) * CELL_HEIGHT));
    y -= height;
    return { class: state as string, y, height };
  });
}

/* A table of worker IDs and their holders, which can be searched and sorted. */

type Text = (worker: WorkerView) => string;
type Order = (worker: WorkerView) => number | string;

const column = (title: string, text: Text, order: Order = (one) => text(one).toLowerCase()) =>
  [title, text, order] as const;

const COLUMNS = [
  column(
    said('worker id'),
    ({ workerId }) => String(workerId),
    ({ workerId }) => workerId,
  ),
  column(said('state'), ({ state }) => state),
  column(said('application'), ({ holder }) => holder?.application ?? ''),
  column(said('host'), ({ holder }) => holder?.host ?? ''),
  column(
    'pid',
    ({ holder }) => String(holder?.pid ?? ''),
    ({ holder }) => holder?.pid ?? -1,
  ),
  column(said('version'), ({ holder }) => holder?.version ?? ''),
  column(said('age'), ageText, ({ holder }) => holder?.heldForMs ?? -1),
  column(said('time to ceiling'), ceilingText, ({ remainingMs }) => remainingMs ?? Infinity),
];
const STATE_AT = 1;
const CEILING_AT = COLUMNS.length - 1;
/** Durations are not searched. */
const SEARCHED = COLUMNS.slice(0, -2);

interface WorkerTableProps extends WorkersProps {
  /** The lease length of the responding process, the scale of all bars. */
  readonly ttlMs: number | undefined;
}

export class WorkerTable extends Component<
  WorkerTableProps,
  Sorting & { readonly wanted: string }
> {
  override state = { column: 0, isDescending: false, wanted: '' };

  render() {
    const { column, isDescending, wanted } = this.state;
    const [, , order] = COLUMNS[column]!;
    const rows = this.props.workers
      .filter((worker) => isWanted(worker, wanted.trim().toLowerCase()))
      .toSorted((a, b) => compared(order(a), order(b)) || a.workerId - b.workerId);
    if (isDescending) rows.reverse();
    return (
      <>
        <label id="filter-label">
          {said('find')}
          <input
            id="filter"
            type="search"
            autocomplete="off"
            spellcheck={false}
            placeholder={said('worker id, application, host, pid or state')}
            value={wanted}
            onInput={({ currentTarget }) => this.setState({ wanted: currentTarget.value })}
          />
        </label>
        <div id="table">
          <Table<WorkerView>
            caption={said('Who holds which worker id')}
            columns={COLUMNS.map(([title], at) => [title, (worker) => this.cell(worker, at)])}
            rows={rows}
            keyOf={keyOf}
            classOf={(worker) => (this.props.isOwn(worker) ? `${worker.state} own` : worker.state)}
            sorting={{ column, isDescending, by: (at) => this.sort(at) }}
          />
          {rows.length === 0 && wanted !== '' && <p>{said('No worker id matches.')}</p>}
        </div>
      </>
    );
  }

  private sort(at: number): void {
    this.setState(({ column, isDescending }) => ({
      column: at,
      isDescending: column === at && !isDescending,
    }));
  }

  private cell(worker: WorkerView, at: number): ComponentChildren {
    const text = COLUMNS[at]![1](worker);
    if (at === STATE_AT && this.props.isOwn(worker)) return said('{}, this process', text);
    if (at !== CEILING_AT) return text;
    return (
      <>
        {text} <LeaseBar leftMs={worker.remainingMs} ttlMs={this.props.ttlMs} />
      </>
    );
  }
}

const isWanted = (worker: WorkerView, wanted: string): boolean =>
  SEARCHED.some(([, text]) => text(worker).toLowerCase().includes(wanted));

/** If two processes have the same static worker ID by mistake, each has a row. */
function keyOf({ workerId, state, holder }: WorkerView): string {
  return state === 'fixed' ? `${workerId} ${holder?.host} ${holder?.pid}` : String(workerId);
}

function ageText({ holder }: WorkerView): string {
  return holder?.heldForMs === undefined ? '' : spanText(holder.heldForMs);
}

function ceilingText({ state, remainingMs }: WorkerView): string {
  if (remainingMs === undefined) return said('no end');
  return state === 'ended' ? agoText(-remainingMs) : spanText(remainingMs);
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return String(a).localeCompare(String(b));
}
