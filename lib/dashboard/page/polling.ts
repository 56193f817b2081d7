/**
 * Polls the application while the page is visible.
 *
 * Guarantee: only the response to the last request counts, and a page in the background sends no
 * requests. Polling continues after a failure, and the page shows the reason.
 */
import type { GeneratorView, WorkerView } from '../answers.js';
import { holderText, said, timeText } from './texts.js';

const TIMEOUT_MS = 10_000;

/** The page may have any path prefix, with or without a trailing slash. */
const HERE = location.pathname.replace(/^\/+/, '/').replace(/\/*$/, '/');

/** The response, or the reason why there is none. */
export type Reply<Answer> = Answer | (Partial<Answer> & { readonly problem: string });

export async function ask<Answer>(
  what: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
): Promise<Reply<Answer>> {
  const given = Object.entries(parameters).filter((entry) => entry[1] !== undefined);
  const query = String(new URLSearchParams(given as [string, string][]));
  try {
    const response = await fetch(HERE + what + (query && `?${query}`), {
      headers: { accept: 'application/json' },
      // A redirect to a login page means that the session has ended.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    if (response.ok && isJson) return (await response.json()) as Answer;
    return { problem: refusalOf(response) } as Reply<Answer>;
  } catch (error) {
    return { problem: faultText(error) } as Reply<Answer>;
  }
}

/**
 * Sends a request now and `everyMs` after each response; the returned function sends one at once.
 */
export function askOften<Answer>(
  everyMs: number,
  what: string,
  onReply: (reply: Reply<Answer>) => void,
  parameters?: () => Parameters<typeof ask>[1],
): () => Promise<void> {
  let timer: number | undefined;
  let turn = 0;
  const next = async () => {
    clearTimeout(timer);
    const own = ++turn;
    const reply = await ask<Answer>(what, parameters?.());
    if (own !== turn) return;
    if (!document.hidden) timer = window.setTimeout(() => void next(), everyMs);
    onReply(reply);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else void next();
  });
  return next;
}

function refusalOf({ ok, status, type }: Response): string {
  if (type === 'opaqueredirect' || ok) {
    return said('You are signed out. Sign in and reload this page.');
  }
  if (status === 401 || status === 403) {
    return said('You may no longer see this page ({}). Sign in and reload it.', status);
  }
  return said('The application answered {}.', status);
}

function faultText(error: unknown): string {
  return error instanceof DOMException && error.name === 'TimeoutError'
    ? said('The application did not answer within {} s.', TIMEOUT_MS / 1000)
    : said('The application does not answer.');
}

/** A list from the store. If the store is unavailable, the last list stays, marked as old. */
export interface Listed<Row> {
  /** Absent before the first list. */
  readonly rows?: readonly Row[];
  readonly listedAt?: string;
  readonly problem?: string | undefined;
  readonly isOld?: boolean;
}

export function listed<Row>(
  before: Listed<Row>,
  rows: readonly Row[] = [],
  problem?: string,
): Listed<Row> {
  if (problem === undefined || rows.length > 0) {
    return { rows, problem, listedAt: timeText(new Date()), isOld: false };
  }
  const { listedAt } = before;
  const text =
    listedAt === undefined ? problem : said('{} This list is from {}.', problem, listedAt);
  return { ...before, problem: text, isOld: true };
}

/*
 * Lists the changes since the page was opened: holders that joined, holders that left, and states
 * of the lease.
 *
 * Guarantee: the page and screen readers announce each change once. A failed read is not a change.
 */

const SHOWN = 50;

interface Change {
  /** The number of this change since the page was opened. */
  readonly number: number;
  readonly at: string;
  readonly text: string;
}

export class Changes {
  /** The newest first. */
  list: readonly Change[] = [];
  private previous: ReadonlyMap<number, WorkerView> | undefined;
  private readonly states = new Map<string, string>();
  private readonly registries = new Map<string, string>();

  workers(workers: readonly WorkerView[]): void {
    const after = new Map(workers.map((worker) => [worker.workerId, worker]));
    const before = this.previous;
    this.previous = after;
    if (before === undefined) return;
    for (const workerId of new Set([...before.keys(), ...after.keys()])) {
      const text = changeText(workerId, before.get(workerId), after.get(workerId));
      if (text !== undefined) this.add(text);
    }
  }

  /** @param process one of the processes that respond */
  state(process: string, { lease, buffer }: GeneratorView): void {
    this.registry(process, lease?.incarnation);
    const state = lease?.state ?? buffer?.state;
    const before = this.states.get(process);
    if (state === undefined || state === before) return;
    this.states.set(process, state);
    if (before === undefined) return;
    this.add(said('{}: {} to {}.', process, before, state));
  }

  /**
   * If a new registry does not list a holder, the holder has not left: the old registry was lost.
   */
  private registry(process: string, incarnation: string | undefined): void {
    const before = this.registries.get(process);
    if (incarnation === undefined || incarnation === before) return;
    this.registries.set(process, incarnation);
    if (before === undefined) return;
    this.previous = undefined;
    this.add(
      said(
        '{}: there is a new registry, because the store lost its data or was replaced.',
        process,
      ) + said(' Worker ids are leased again, and ids run ahead of the clock for a while.'),
    );
  }

  private add(text: string): void {
    const number = (this.list[0]?.number ?? 0) + 1;
    this.list = [{ number, at: timeText(new Date()), text }, ...this.list].slice(0, SHOWN);
  }
}

function changeText(
  workerId: number,
  before: WorkerView | undefined,
  after: WorkerView | undefined,
): string | undefined {
  const [was, is] = [whoOf(before), whoOf(after)];
  if (is !== undefined && is !== was) return said('Worker id {} joined: {}.', workerId, is);
  if (was !== undefined && is === undefined) {
    // An ended lease disappears from the list later, which is not a change.
    if (before?.state !== 'held') return undefined;
    // If the list lacks it, the registry may have lost it.
    return after === undefined
      ? said('Worker id {} left: {}.', workerId, was)
      : said('Worker id {} left: {} gave it back.', workerId, was);
  }
  if (is === undefined) return undefined;
  if (before?.state === 'held' && after?.state === 'ended') {
    return said('Worker id {} was lost: {} did not renew its lease in time.', workerId, is);
  }
  if (before?.state === 'ended' && after?.state === 'held') {
    return said('Worker id {} came back: {}.', workerId, is);
  }
  return undefined;
}

const whoOf = (worker: WorkerView | undefined): string | undefined =>
  worker?.holder && holderText(worker.holder);
