/**
 * Worker IDs or counters in etcd as rows with compare-and-swap: each read and each write is one
 * transaction.
 *
 * Guarantee: the time is the Date of the member that responded, never that of this process. A
 * snapshot comes from a run of etcd that was examined, and a write does not count if a run may have
 * lost it. This code takes no lease of etcd: the ceiling decides whether a worker ID is held.
 */
import { randomInt } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import { triedRights } from '../../registry/row-inspector.js';
import type { Finding } from '../../registry/snapshot.js';
import {
  HEADER_KEY,
  SharedReads,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type SharedQuery,
  type StoredRow,
} from '../../rows/row-store.js';
import { slewed, type ClockPolicy } from '../../rows/store-clock.js';
import { pause, systemTimers } from '../../time/timers.js';
import type { EtcdClient } from './etcd-client.js';
import { etcdAdvice, etcdFindings, EtcdMembers, type EtcdFound } from './etcd-members.js';
import {
  ceilingText,
  get,
  getRows,
  headerIn,
  headerText,
  isLeased,
  isUnchanged,
  page,
  parseRow,
  put,
  RowKeys,
  toBase64,
  writing,
  writtenBy,
  type EtcdRowKind,
  type KeyValue,
} from './etcd-rows.js';
import type { EtcdSettings } from './etcd-options.js';
import { RUN_ENDED } from './restore-detector.js';

/** Each repetition means that another process has just created the registry or recorded a loss. */
const READ_COUNT = 10;
/** The maximum time for which a registry in a new run grants nothing. */
const OUTRUN_MS = 500;
/** A transaction of etcd allows 128 comparisons by default, and a row needs two. */
const ROW_COUNT_MAX = 60;
const PAGE_ROWS = 1000;

export class EtcdStore implements RowStore {
  readonly location: string;
  readonly namespace: string;
  readonly lossWindowMs: number;
  readonly clock: ClockPolicy;
  readonly #client: EtcdClient;
  readonly #keys: RowKeys;
  readonly #members: EtcdMembers;
  readonly #reads = new SharedReads((query) => this.#read(query));
  readonly #settings: EtcdSettings;

  constructor(settings: EtcdSettings, client: EtcdClient, kind: EtcdRowKind = 'worker ids') {
    const { namespace, failoverWindowMs, clockDifferenceMs } = settings;
    this.namespace = namespace;
    this.#client = client;
    this.#settings = settings;
    this.#keys = new RowKeys(namespace, kind);
    this.#members = new EtcdMembers(client);
    this.location = `etcd at ${client.where}, ${this.#keys.prefix}`;
    const uncertainMs = wholeSeconds(clockDifferenceMs);
    this.lossWindowMs =
      kind === 'worker ids'
        ? failoverWindowMs + uncertainMs
        : lossWindowByMembers(failoverWindowMs, uncertainMs);
    this.clock = clockOfMembers(clockDifferenceMs);
  }

  /** Hosts and ports, for messages. */
  get where(): string {
    return this.#client.where;
  }

  /** The prefix of all keys of the registry. */
  get prefix(): string {
    return this.#keys.prefix;
  }

  read(query: RowQuery): Promise<RowSnapshot> {
    return this.#reads.read(query);
  }

  async #read({ keys, tokens }: SharedQuery): Promise<RowSnapshot> {
    for (let count = 0; count < READ_COUNT; count++) {
      const found = await this.#rows(keys, tokens);
      const [[headerValue] = [], [clock] = [], ...lists] = found.lists;
      const kept = headerValue && headerIn(headerValue, clock, found.header.revision);
      // A foreign header stays unchanged, so that the rules reject it.
      const isOurs = kept?.server !== '';
      const isLost = kept === undefined || kept.isWithoutClock === true;
      if (isOurs && (isLost || (await this.#members.fate(kept.server, found)) !== 'same')) {
        await this.#beginRun(kept?.server, found);
        continue;
      }
      const stored = lists.flat().map((row) => this.#parseRow(row));
      const { timeMs, resolutionMs } = found.answer;
      return {
        timeMs,
        resolutionMs,
        server: kept.server,
        rows: kept.row === undefined ? stored : [kept.row, ...stored],
      };
    }
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `Each read of ${this.location} was answered by a different etcd. It will be asked again.`,
    );
  }

  async readAll(countMax = Infinity): Promise<RowSnapshot> {
    const { header: key, clock: clockKey, rows } = this.#keys;
    const span = { to: rows.to, limit: PAGE_ROWS };
    const questions = [get(key), get(clockKey), page({ ...span, from: rows.from })];
    const first = await this.#members.ask(questions);
    const [[header] = [], [clock] = [], list = []] = first.lists;
    // A worker ID that was never leased has a prepared row.
    const isShown = (value: KeyValue) => !this.#keys.isRegistry || isLeased(value);
    const values = list.filter(isShown);
    const { revision } = first.header;
    for (let last = list; last.length === PAGE_ROWS && values.length < countMax;) {
      const from = `${last.at(-1)!.key}\0`;
      [last = []] = (await this.#members.ask([page({ ...span, from, revision })])).lists;
      values.push(...last.filter(isShown));
    }
    const { timeMs } = first.answer;
    const { server, row } = (header && headerIn(header, clock, revision)) ?? { server: '' };
    const stored = values.slice(0, countMax).map((value) => this.#parseRow(value));
    return { timeMs, server, rows: row ? [row, ...stored] : stored };
  }

  async write(write: RowWrite): Promise<boolean> {
    // Only prepared rows are this many, and they come without a header.
    const parts = [write.rows.slice(0, ROW_COUNT_MAX)];
    for (let at = ROW_COUNT_MAX; at < write.rows.length; at += ROW_COUNT_MAX) {
      parts.push(write.rows.slice(at, at + ROW_COUNT_MAX));
    }
    const taken = await Promise.all(parts.map((rows) => this.#isWritten({ ...write, rows })));
    return !taken.includes(false);
  }

  async #isWritten(write: RowWrite): Promise<boolean> {
    const mark = this.#members.mark();
    const body = writing(this.#keys, write);
    const answer = await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    const { isTaken, header, replaced } = this.#client.read(answer, writtenBy);
    if (!isTaken) return false;
    const fate = await this.#members.fate(write.server, { answer, header, mark });
    if (fate !== 'same') {
      throw this.#client.errorAt(answer.endpoint, new Error(RUN_ENDED));
    }
    await this.#forget(write, replaced);
    return true;
  }

  async advice(): Promise<string[]> {
    return etcdAdvice(await this.#members.reports(this.#keys.header), this.#keys.kind);
  }

  async findings(): Promise<Finding[]> {
    const reports = await this.#members.reports(this.#keys.header);
    return [...etcdFindings(reports, this.#settings), await triedRights(this)];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #parseRow(value: KeyValue): StoredRow {
    return parseRow(value, this.#keys);
  }

  /** The header comes first, then its clock, then rows. The rows of the tokens may be anywhere. */
  async #rows(rowKeys: readonly string[], tokens: readonly string[]): Promise<EtcdFound> {
    const keys = this.#keys;
    const isHeader = (key: string) => keys.isRegistry && key === HEADER_KEY;
    const rows = getRows(
      keys,
      rowKeys.filter((key) => !isHeader(key)),
    );
    const questions = [get(keys.header), get(keys.clock), ...rows];
    const byToken = tokens.map((token) => get(keys.token(token)));
    const found = await this.#members.ask([...byToken, ...questions]);
    const named = found.lists.splice(0, tokens.length).flat();
    const more = named
      .map(({ value }) => value)
      .filter((value) => /^\d{1,15}$/.test(value) && !rowKeys.includes(value));
    return more.length === 0 ? found : this.#rows([...rowKeys, ...more], []);
  }

  /** Records a new run, unless another process was faster. */
  async #beginRun(lost: string | undefined, found: EtcdFound): Promise<void> {
    const { header: key, clock: clockKey } = this.#keys;
    const { now, server } = await this.#members.newRun(found, [get(key), get(clockKey)]);
    const [[value] = [], [clock] = []] = now.lists;
    const kept = value && headerIn(value, clock, now.header.revision);
    if (kept?.server !== lost) return this.#outrun();
    const text = headerText(server, kept?.row?.text);
    const body = {
      compare: [isUnchanged(key, value?.modRevision), isUnchanged(clockKey, clock?.modRevision)],
      success: [put(key, text), put(clockKey, ceilingText(kept?.row?.number ?? 0n))],
    };
    const { fields } = await this.#client.ask({ path: 'kv/txn', body, isWrite: true });
    if (fields['succeeded'] !== true) await this.#outrun();
  }

  /** Another process has recorded the run, and must finish before others can continue. */
  #outrun(): Promise<void> {
    return pause(systemTimers, randomInt(1, OUTRUN_MS));
  }

  /** Deletes unused tokens. A failure matters little, because they do no harm. */
  async #forget({ rows: written }: RowWrite, replaced: readonly KeyValue[]): Promise<void> {
    const kept = new Set(written.map(({ row }) => row.token));
    const gone = replaced
      .filter(({ key }) => key.startsWith(this.#keys.rows.from))
      .map((value) => this.#parseRow(value))
      .filter(({ token }) => token !== undefined && !kept.has(token));
    if (gone.length === 0) return;
    const success = gone.map(({ token }) => ({
      request_delete_range: { key: toBase64(this.#keys.token(token!)) },
    }));
    // A leftover token does no harm.
    await this.#client
      .ask({ path: 'kv/txn', body: { success }, isWrite: true })
      .catch(() => undefined);
  }
}

/*
 * The clock of a registry in etcd, whose members each report their own time in whole seconds.
 *
 * Guarantee: the clock never goes back, and members with different clocks do not drive it ahead. If
 * a clock was set back by more than the allowed difference, the step is absorbed at half speed, so
 * that leases continue.
 */

/** The resolution of the header Date. */
export const RESOLUTION_MS = 1000;

/** Rounds the difference of two members up to the whole seconds of their clocks. */
function wholeSeconds(differenceMs: number): number {
  return Math.ceil(differenceMs / RESOLUTION_MS) * RESOLUTION_MS;
}

/**
 * Two members may time the start and the end of a window. Their clocks differ, and have whole
 * seconds. Without a window, no acknowledged write is lost.
 */
function lossWindowByMembers(failoverWindowMs: number, uncertainMs: number): number {
  return failoverWindowMs === 0 ? 0 : failoverWindowMs + uncertainMs + RESOLUTION_MS;
}

/** @param differenceMs the maximum between two members */
export function clockOfMembers(differenceMs: number): ClockPolicy {
  const toleranceMs = wholeSeconds(differenceMs) + RESOLUTION_MS;
  return (last, timeMs) => {
    const backMs = last.lastTimeMs - timeMs;
    // Another member responded earlier, and its clock is ahead of this one.
    return backMs > 0 && backMs <= toleranceMs ? last : slewed(last, timeMs);
  };
}
