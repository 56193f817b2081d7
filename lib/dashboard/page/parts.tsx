/**
 * Components that several panels share.
 */
import type { ComponentChildren, HTMLAttributes } from 'preact';
import type { Listed } from './polling.js';
import { said } from './texts.js';

/** A term without a text is omitted. */
export type Term = readonly [name: string, text: string | undefined, look?: 'large'];

/** Zero counts and durations, which the page shows less prominently. */
const ZERO = /^0( (ms|times|locks|callers))?$/;

interface TermsProps {
  readonly terms: readonly Term[];
  readonly id?: string;
  readonly class?: string;
}

/** Large terms come before the others, and zeros are less prominent. */
export function Terms({ terms, ...list }: TermsProps) {
  const known = terms.filter(([, text]) => text !== undefined);
  return (
    <dl {...list}>
      {known.map(([name, text, look]) => (
        <div key={name} class={look ?? (ZERO.test(text!) ? 'zero' : '')}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A link to the runbook for the problem. */
export const Runbook = ({ href }: { readonly href: string | undefined }) =>
  href === undefined ? null : (
    <a href={href} rel="noreferrer" target="_blank">
      {said('Open the runbook')}
    </a>
  );

/** The number is shown next to it as text. */
export function Bar({ share, look = '' }: { readonly share: number; readonly look?: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  return <span class={`bar ${look}`} style={{ '--share': `${percent}%` }} aria-hidden="true" />;
}

interface LeaseBarProps {
  readonly leftMs: number | undefined;
  readonly ttlMs: number | undefined;
}

/** The rest of a lease; empty for an endless one. */
export const LeaseBar = ({ leftMs, ttlMs }: LeaseBarProps) =>
  leftMs === undefined || ttlMs === undefined ? null : <Bar share={leftMs / ttlMs} />;

interface PanelProps extends HTMLAttributes<HTMLElement> {
  readonly name: string;
  readonly title: string;
  readonly look?: string;
  /** The list from the store that the panel shows. */
  readonly listed?: Listed<unknown>;
}

export function Panel({ name, title, look = 'wide', listed, children, ...section }: PanelProps) {
  const age = listed?.isOld ? 'old' : '';
  return (
    <section
      id={name}
      class={`panel ${look} ${age}`}
      aria-labelledby={`${name}-title`}
      {...section}
    >
      <h2 id={`${name}-title`}>{title}</h2>
      {listed && (
        <p id={`${name}-problem`} class="notice" hidden={listed.problem === undefined}>
          {listed.problem}
        </p>
      )}
      {children}
    </section>
  );
}

/** Empty text is omitted, because each update would write it again. */
export type Column<Row> = readonly [title: string, text: (row: Row) => ComponentChildren];

interface TableProps<Row> {
  readonly id?: string;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly classOf: (row: Row) => string;
  readonly sorting?: Sorting & { readonly by: (column: number) => void };
}

export interface Sorting {
  readonly column: number;
  readonly isDescending: boolean;
}

/** A row keeps its element while it is listed. */
export function Table<Row>(props: TableProps<Row>) {
  const { id, caption, columns, rows, keyOf, classOf, sorting } = props;
  const order = sorting?.isDescending ? 'descending' : 'ascending';
  return (
    <table id={id} role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(([title], at) => (
            <th
              scope="col"
              role="columnheader"
              aria-sort={sorting && (at === sorting.column ? order : 'none')}
            >
              {sorting === undefined ? (
                title
              ) : (
                <button type="button" onClick={() => sorting.by(at)}>
                  {title}
                </button>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} class={classOf(row)} role="row">
            {columns.map(([title, text], at) =>
              at === 0 ? (
                <th scope="row" role="rowheader" data-title={title}>
                  {text(row) || null}
                </th>
              ) : (
                <td role="cell" data-title={title}>
                  {text(row) || null}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
