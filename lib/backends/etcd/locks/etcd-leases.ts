/**
 * Leases of etcd: what is attached to one is deleted when it ends, by the steady clock of the
 * leader, and never earlier because another member leads.
 *
 * Promise: a lease lasts at least as long as was asked for, from when etcd granted it. None is ever
 * kept alive: a leader that was replaced and does not know it may say that it did.
 */
import { wholeNumber, type EtcdAnswer } from '../connection/etcd-answer.js';
import type { EtcdClient } from '../connection/etcd-client.js';

export interface EtcdLease {
  readonly id: string;
  readonly ms: number;
}

/** As etcd writes them; whoever stands in between may know their milliseconds. */
const SECONDS = /^\d{1,10}(\.\d{3})?$/;
/** Of a second that etcd does not tell more of; whoever waits so long asks four times. */
const PART_MS = 250;
const ID = /^-?[1-9]\d{0,18}$/;

export class EtcdLeases {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** One of whole seconds; etcd makes those longer that are shorter than it takes to elect. */
  async granted(ms: number): Promise<EtcdLease> {
    const body = { TTL: String(Math.ceil(ms / 1000)) };
    const answer = await this.#client.ask({ path: 'lease/grant', body, isWrite: true });
    return this.#client.read(answer, leaseIn);
  }

  /** What is left of it at least; 0 where it has ended. */
  async leftMs(id: string): Promise<number> {
    const answer = await this.#client.ask({ path: 'lease/timetolive', body: { ID: id } });
    return this.#client.read(answer, leftIn);
  }

  /** One to which nothing is attached any more: it ends by itself where this fails. */
  async dropped(id: string): Promise<void> {
    // As said above.
    await this.#client
      .ask({ path: 'lease/revoke', body: { ID: id }, isWrite: true })
      .catch(() => undefined);
  }
}

/** What etcd leaves out is 0. */
function leftIn({ fields: { TTL = '0' } }: EtcdAnswer): number {
  if (TTL === '-1') return 0;
  if (TTL === '0') return PART_MS;
  if (typeof TTL !== 'string' || !SECONDS.test(TTL)) throw new Error('left out its TTL');
  return Math.round(Number(TTL) * 1000);
}

function leaseIn({ fields }: EtcdAnswer): EtcdLease {
  const { ID: id } = fields;
  if (typeof id !== 'string' || !ID.test(id)) throw new Error('left out the lease');
  return { id, ms: wholeNumber(fields['TTL'], 'TTL') * 1000 };
}
