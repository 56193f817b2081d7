/**
 * Checks the answers of the gateway before they are used.
 *
 * Guarantee: an answer that lacks what etcd always sends is a fault with words, be it a page of a
 * proxy, the answer of another server, or half of a body.
 */
import type { HttpAnswer } from './http-request.js';

/** The member that answered, and how far it had come. */
export interface EtcdHeader {
  readonly clusterId: string;
  readonly memberId: string;
  /** 0 where the member has applied nothing since it started. */
  readonly term: number;
  readonly revision: number;
}

export interface EtcdAnswer {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The clock of the member, Unix ms. */
  readonly timeMs: number;
  /** 1000, since etcd tells whole seconds; 1 where milliseconds are told. */
  readonly resolutionMs: number;
  /** The connection that carried it. */
  readonly socket: object;
  /** The endpoint that answered. */
  readonly endpoint: URL;
}

/** The format of etcd; a proxy may add milliseconds. */
const DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2}(\.\d{3})? GMT$/;

/** @throws Error in words of etcd or ours; etcdError makes a typed one of it */
export function readAnswer({ status, date, text, socket }: HttpAnswer, endpoint: URL): EtcdAnswer {
  if (status >= 300 && status < 400) throw new Error(`answered by a redirect (HTTP ${status})`);
  const fields = fieldsOf(text);
  if (status !== 200) throw new Error(saidBy(fields) ?? wordsOf(status));
  if (fields === undefined) throw new Error('answered with something other than JSON');
  const [isDate, part] = DATE.exec(date ?? '') ?? [];
  if (isDate === undefined) throw new Error('answered no Date');
  const resolutionMs = part === undefined ? 1000 : 1;
  return { fields, timeMs: Date.parse(isDate), resolutionMs, socket, endpoint };
}

function wordsOf(status: number): string {
  if (status === 404) return 'answered 404, as one that does not know the path';
  return `answered with something other than JSON (HTTP ${status})`;
}

/** The gateway of etcd 3.4 calls it error as well as message. */
function saidBy(fields: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const said = fields?.['message'] ?? fields?.['error'];
  return typeof said === 'string' && said !== '' ? said : undefined;
}

function fieldsOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // Callers report what is missing if they need it.
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function answerHeader({ fields }: Pick<EtcdAnswer, 'fields'>): EtcdHeader {
  const header = fields['header'];
  const {
    cluster_id: clusterId,
    member_id: memberId,
    raft_term: term,
    revision,
  } = recordOf(header);
  if (!isDigits(clusterId) || !isDigits(memberId)) throw new Error('left out its cluster');
  return {
    clusterId,
    memberId,
    term: term === undefined ? 0 : wholeNumber(term, 'raft_term'),
    revision: wholeNumber(revision, 'revision'),
  };
}

/** etcd writes whole numbers of 64 bits as text. */
export function wholeNumber(value: unknown, name: string): number {
  const number = isDigits(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number)) throw new Error(`left out its ${name}`);
  return number;
}

function isDigits(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value);
}

export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Reads a list that etcd leaves out if it is empty. */
export function listIn(fields: Readonly<Record<string, unknown>>, name: string): unknown[] {
  const list = fields[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`left out its ${name}`);
  return list;
}
