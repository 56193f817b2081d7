/**
 * A registry in a store with compare-and-swap, as the operator uses it.
 *
 * Guarantee: read() and findings() change nothing.
 */
import type { WorkerLease } from '../lease/distributed-support.js';
import { cutName } from '../messages.js';
import type { RowStore } from '../rows/row-store.js';
import { RegistrySupport } from './registry-support.js';
import {
  finding,
  workerRecords,
  type Finding,
  type RegistryHeader,
  type RegistryInspector,
  type RegistryView,
} from './snapshot.js';
import { StoredSnapshot } from './stored-snapshot.js';

/** A store that can tell more than its advice. */
interface InspectedStore extends RowStore {
  /** Tells `snowflake doctor` about the server and its settings, besides the advice. */
  findings?(): Promise<Finding[]>;
}

/** Says that nothing keeps the user of a command from writing. */
export const RIGHTS_TRIED = 'This user may write the registry: it was tried without a change.';

/**
 * Tries to write a new row and one that is there, as they would be on another server: this store
 * refuses what the user may not write before it finds that there is nothing to write.
 */
export async function triedRights(store: RowStore): Promise<Finding> {
  const row = { key: '0', number: 0n, text: '' };
  const never = { server: 'none', headerVersion: 0, headerNumber: 0n };
  try {
    for (const version of [undefined, 1]) {
      await store.write({ ...never, rows: [{ row, version }] });
    }
  } catch (error) {
    return finding('fault', 'rights', (error as Error).message);
  }
  return finding('ok', 'rights', RIGHTS_TRIED);
}

export class RowInspector implements RegistryInspector {
  readonly lossWindowMs: number;
  readonly #store: InspectedStore;
  readonly #support: RegistrySupport;

  /**
   * @param where the store, for messages; without a password
   * @param key where in the store the registry lies
   */
  constructor(
    store: InspectedStore,
    readonly where: string,
    readonly key: string,
  ) {
    this.#store = store;
    this.#support = new RegistrySupport(store);
    this.lossWindowMs = this.#support.lossWindowMs;
  }

  async read(countMax?: number): Promise<RegistryView> {
    const snapshot = new StoredSnapshot(await this.#store.readAll(countMax), this.#store);
    const { facts, nowMs, reading } = snapshot;
    return {
      storeMs: reading.timeMs,
      nowMs,
      ...(facts && { facts: shown(facts) }),
      isUnfinished: facts === undefined && snapshot.slots().length > 0,
      workers: workerRecords(snapshot.slots(), nowMs).slice(0, countMax),
      proofOf: (workerId) => snapshot.slotOf(workerId).holder,
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

/** The list of layouts that a move writes is shorter. */
const LENGTH_MAX = 4000;

/** Texts that something else wrote may be of any length, and another version may lack some. */
function shown(facts: RegistryHeader): RegistryHeader {
  const cut = (fact: unknown) => (typeof fact === 'string' ? cutName(fact, LENGTH_MAX) : fact);
  const entries = Object.entries(facts).map(([name, fact]) => [name, cut(fact)] as const);
  return Object.fromEntries(entries) as unknown as RegistryHeader;
}
