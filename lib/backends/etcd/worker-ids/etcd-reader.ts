/**
 * Reads the keys of a registry, all that belongs together at one revision.
 *
 * Promise: changes nothing, and takes no answer for what it is not.
 */
import { headerIn, type EtcdAnswer, type EtcdHeader } from '../connection/etcd-answer.js';
import type { EtcdClient } from '../connection/etcd-client.js';
import { isLeased, type KeyValue, type RegistryKeys } from './etcd-rows.js';
import { foundBy, get, getRows, page } from './etcd-transaction.js';
import type { Mark } from './etcd-witness.js';

const PAGE_ROWS = 1000;

/** What was found at one revision, list by list as it was asked for. */
export interface Found {
  readonly answer: EtcdAnswer;
  readonly header: EtcdHeader;
  /** What was known when it was asked for. */
  readonly mark: Mark;
  readonly lists: KeyValue[][];
}

/** All keys of a registry but those of its tokens. */
export interface FoundAll {
  readonly timeMs: number;
  readonly revision: number;
  readonly header: KeyValue | undefined;
  readonly clock: KeyValue | undefined;
  readonly values: readonly KeyValue[];
}

export class EtcdReader {
  readonly #client: EtcdClient;
  readonly #keys: RegistryKeys;
  readonly #mark: () => Mark;

  constructor(client: EtcdClient, keys: RegistryKeys, mark: () => Mark) {
    this.#client = client;
    this.#keys = keys;
    this.#mark = mark;
  }

  /** The header first, then its clock, then rows, with that of the token wherever it is. */
  async slice(workerIds: readonly number[], token: string | undefined): Promise<Found> {
    const keys = this.#keys;
    const questions = [get(keys.header), get(keys.clock), ...getRows(keys, workerIds)];
    if (token === undefined) return this.ask(questions);
    const found = await this.ask([get(keys.token(token)), ...questions]);
    const [[named] = [], ...lists] = found.lists;
    const workerId = named === undefined ? NaN : Number(named.value);
    if (!Number.isSafeInteger(workerId) || workerId < 0 || workerIds.includes(workerId)) {
      return { ...found, lists };
    }
    return this.slice([...workerIds, workerId], undefined);
  }

  async all(countMax = Infinity): Promise<FoundAll> {
    const { header: key, clock: clockKey, rows } = this.#keys;
    const span = { to: rows.to, limit: PAGE_ROWS };
    const questions = [get(key), get(clockKey), page({ ...span, from: rows.from })];
    const first = await this.ask(questions);
    const [[header] = [], [clock] = [], list = []] = first.lists;
    const values = list.filter(isLeased);
    const { revision } = first.header;
    for (let last = list; last.length === PAGE_ROWS && values.length < countMax;) {
      const from = `${last.at(-1)!.key}\0`;
      [last = []] = (await this.ask([page({ ...span, from, revision })])).lists;
      values.push(...last.filter(isLeased));
    }
    const { timeMs } = first.answer;
    return { timeMs, revision, header, clock, values: values.slice(0, countMax) };
  }

  /** One transaction that reads. */
  async ask(questions: readonly object[]): Promise<Found> {
    const mark = this.#mark();
    const answer = await this.#client.ask({ path: 'kv/txn', body: { success: questions } });
    return this.#client.read(answer, () => {
      const lists = foundBy(answer, questions.length);
      return { answer, header: headerIn(answer), mark, lists };
    });
  }
}
