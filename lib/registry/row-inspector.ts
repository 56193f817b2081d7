/**
 * A registry in a store with compare-and-swap, for operators.
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

/** A store with findings in addition to its advice. */
interface InspectedStore extends RowStore {
  /** Reports to `snowflake doctor` on the server and its settings, in addition to the advice. */
  findings?(): Promise<Finding[]>;
}

/** The finding for a user with all rights to write. */
export const RIGHTS_TRIED = 'This user may write the registry: it was tried without a change.';

/**
 * Tries to write a new and an existing row, both for another server. The store checks the user's
 * rights first, so an allowed write fails without a change.
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
   * @param where the store's location, for messages; without a password
   * @param key the location of the registry in the store
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

/** Lists of layouts written by a move are shorter. */
const LENGTH_MAX = 4000;

/** Texts from other programs may have any length, and another version may lack some. */
function shown(facts: RegistryHeader): RegistryHeader {
  const cut = (fact: unknown) => (typeof fact === 'string' ? cutName(fact, LENGTH_MAX) : fact);
  const entries = Object.entries(facts).map(([name, fact]) => [name, cut(fact)] as const);
  return Object.fromEntries(entries) as unknown as RegistryHeader;
}
