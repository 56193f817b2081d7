/**
 * The transactions of a registry, as the gateway wants them, and what they answer.
 *
 * Promise: a transaction is one atomic step at one revision; an answer that does not fit what was
 * asked is a fault, never an empty registry.
 */
import type { SliceWrite } from '../../../registry/slice-store.js';
import {
  headerIn,
  listIn,
  recordOf,
  type EtcdAnswer,
  type EtcdHeader,
} from '../connection/etcd-answer.js';
import {
  ceilingText,
  headerText,
  keyValueIn,
  rowText,
  toBase64,
  type KeyValue,
  type RegistryKeys,
} from './etcd-rows.js';

/** True as long as a key was not written since; without a revision, where it is not there. */
export function isUnchanged(key: string, modRevision = 0): object {
  const mod_revision = String(modRevision);
  return { key: toBase64(key), target: 'MOD', result: 'EQUAL', mod_revision };
}

/** True where a key was written as often, and not at all after a revision. */
function isAsRead(key: string, version: number, revision: number): object[] {
  return [isVersion(key, 'EQUAL', version), isNotAfter(key, revision)];
}

function isVersion(key: string, result: 'EQUAL' | 'GREATER', version: number): object {
  return { key: toBase64(key), target: 'VERSION', result, version: String(version) };
}

/** Also of a key that is not there. */
function isNotAfter(key: string, revision: number): object {
  const mod_revision = String(revision + 1);
  return { key: toBase64(key), target: 'MOD', result: 'LESS', mod_revision };
}

function has(key: string, value: string): object {
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(value) };
}

function isBelow(key: string, ceilingMs: number): object {
  const value = toBase64(ceilingText(ceilingMs));
  return { key: toBase64(key), target: 'VALUE', result: 'LESS', value };
}

export function put(key: string, value: string): object {
  return { request_put: { key: toBase64(key), value: toBase64(value), prev_kv: true } };
}

export function get(key: string, end?: string): object {
  const range_end = end === undefined ? {} : { range_end: toBase64(end) };
  return { request_range: { key: toBase64(key), ...range_end } };
}

/** Some of the keys between two, at a revision, or at the one that stands. */
export function page(span: { from: string; to: string; limit: number; revision?: number }): object {
  const { from, to, limit, revision } = span;
  return {
    request_range: {
      key: toBase64(from),
      range_end: toBase64(to),
      limit: String(limit),
      ...(revision !== undefined && { revision: String(revision) }),
    },
  };
}

/** Worker ids that follow each other are one range, so that a small span is one question. */
export function getRows(keys: RegistryKeys, workerIds: readonly number[]): object[] {
  const spans: [number, number][] = [];
  for (const workerId of [...new Set(workerIds)].toSorted((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last !== undefined && last[1] + 1 === workerId) last[1] = workerId;
    else spans.push([workerId, workerId]);
  }
  return spans.map(([from, to]) => get(keys.row(from), to > from ? keys.row(to + 1) : undefined));
}

/** Each row only if nothing it rests on has changed; all of them or none. */
export function writing(keys: RegistryKeys, write: SliceWrite): object {
  const { rows } = write;
  return {
    compare: [...headerIsAsRead(keys, write), ...rowsAreAsRead(keys, write)],
    success: [
      ...headerPuts(keys, write),
      ...rows.map(({ row }) => put(keys.row(row.workerId), rowText(row))),
      ...rows.flatMap(({ row: { token, workerId } }) =>
        token === undefined ? [] : [namedOnce(keys.token(token), String(workerId))],
      ),
    ],
  };
}

function headerPuts(keys: RegistryKeys, { server, header, isTimeOnly }: SliceWrite): object[] {
  if (header === undefined) return [];
  const clock = put(keys.clock, ceilingText(header.ceilingMs));
  if (isTimeOnly !== true) return [put(keys.header, headerText(server, header.text)), clock];
  return [{ request_txn: { compare: [isBelow(keys.clock, header.ceilingMs)], success: [clock] } }];
}

/** Of an absent header only the run is there, whose name was never used before. */
function headerIsAsRead(keys: RegistryKeys, write: SliceWrite): object[] {
  const { server, header, headerVersion, isTimeOnly } = write;
  if (headerVersion === undefined) return [has(keys.header, headerText(server))];
  const isSame = [isVersion(keys.header, 'GREATER', 0), isNotAfter(keys.header, headerVersion)];
  // Whoever writes one rests on its time as well.
  const isWhole = header !== undefined && isTimeOnly !== true;
  return isWhole ? [...isSame, isNotAfter(keys.clock, headerVersion)] : isSame;
}

/** The version of the header is the revision at which it and the rows were read. */
function rowsAreAsRead(keys: RegistryKeys, { headerVersion, rows }: SliceWrite): object[] {
  return rows.flatMap(({ row, version = 0 }) =>
    isAsRead(keys.row(row.workerId), version, headerVersion ?? Number.MAX_SAFE_INTEGER - 1),
  );
}

/** A renewal finds the worker id of its token named already, and writes nothing more. */
function namedOnce(key: string, value: string): object {
  return { request_txn: { compare: [has(key, value)], failure: [put(key, value)] } };
}

/** What each question of a transaction found, in order. */
export function foundBy<T = KeyValue>(
  { fields }: EtcdAnswer,
  questionCount: number,
  read: (value: unknown) => T = keyValueIn as (value: unknown) => T,
): T[][] {
  const responses = listIn(fields, 'responses');
  if (responses.length !== questionCount) throw new Error('left out what was asked for');
  return responses.map((response) => {
    const range = recordOf(response)['response_range'];
    if (range === undefined) throw new Error('left out what was asked for');
    return listIn(recordOf(range), 'kvs').map((value) => read(value));
  });
}

/** What a transaction that writes did. */
export interface Written {
  readonly header: EtcdHeader;
  /** False where something it rests on had changed. */
  readonly isTaken: boolean;
  /** The values as they were before. */
  readonly replaced: readonly KeyValue[];
}

export function writtenBy(answer: EtcdAnswer): Written {
  const { succeeded, responses } = answer.fields;
  const header = headerIn(answer);
  if (succeeded === true && Array.isArray(responses) && responses.length > 0) {
    return { header, isTaken: true, replaced: responses.flatMap(replacedIn) };
  }
  const isRefused = (succeeded ?? false) === false && responses === undefined;
  if (isRefused) return { header, isTaken: false, replaced: [] };
  throw new Error('left out whether it wrote');
}

function replacedIn(response: unknown): KeyValue[] {
  const previous = recordOf(recordOf(response)['response_put'])['prev_kv'];
  return previous === undefined ? [] : [keyValueIn(previous)];
}
