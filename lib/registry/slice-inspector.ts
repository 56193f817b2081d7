/**
 * A registry in a store with compare-and-swap, opened for an operator.
 *
 * Promise: read() and findings() change nothing.
 */
import type { WorkerLease } from '../lease/distributed-support.js';
import { RegistrySupport } from './registry-support.js';
import {
  finding,
  workerRecords,
  type Finding,
  type RegistryInspector,
  type RegistryView,
} from './registry-view.js';
import type { SliceStore } from './slice-store.js';
import { StoredSlice } from './stored-slice.js';

export class SliceInspector implements RegistryInspector {
  readonly lossWindowMs: number;
  readonly #store: SliceStore;
  readonly #support: RegistrySupport;

  /**
   * @param where the store, for messages; without a password
   * @param key where in the store the registry lies
   */
  constructor(
    store: SliceStore,
    readonly where: string,
    readonly key: string,
  ) {
    this.#store = store;
    this.#support = new RegistrySupport(store);
    this.lossWindowMs = this.#support.lossWindowMs;
  }

  async read(countMax?: number): Promise<RegistryView> {
    const { lossWindowMs } = this;
    const { clock } = this.#store;
    const slice = new StoredSlice(await this.#store.readAll(countMax), { lossWindowMs, clock });
    const { facts, nowMs, reading } = slice;
    return {
      storeMs: reading.timeMs,
      nowMs,
      ...(facts && { facts }),
      isUnfinished: facts === undefined && slice.slots().length > 0,
      workers: workerRecords(slice.slots(), nowMs).slice(0, countMax),
      proofOf: (workerId) => slice.slotOf(workerId).holder,
    };
  }

  async findings(): Promise<Finding[]> {
    const [advice, findings = []] = await Promise.all([
      this.#support.advice(),
      this.#store.findings?.(),
    ]);
    return [...findings, ...advice.map((text) => finding('warning', 'settings', text))];
  }

  release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    return this.#support.release(lease, lastIssuedMs);
  }

  close(): Promise<void> {
    return this.#support.close();
  }
}
