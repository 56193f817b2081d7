/**
 * Opens the locks from the options of LockModule.
 *
 * Guarantee: no output contains the store value, because URLs and clients hold passwords.
 */
import { DistributedLock } from '../../lock/distributed-lock.js';
import { LOCK, longestFaults, type LockOptions } from '../../lock/lock-options.js';
import type { LockStore } from '../../lock/lock-store.js';
import { locksOf } from '../../stores/schemes.js';
import { later, methods, readOptions, typed, type OptionTable } from '../../options.js';
import { applicationName } from '../generator-options.js';
import type { CronModuleOptions } from './cron-once.js';
import { faultsOf, invalid } from '../resolve-support.js';

/** Options of LockModule. */
export interface LockModuleOptions extends LockOptions {
  /**
   * The store of the locks: a URL, or a store. `memory:` is for tests and for a single process.
   */
  readonly locks: string | LockStore;
  /** The jobs of `@CronOnce`: whether they run in this process, their schedules and time zone. */
  readonly cron?: CronModuleOptions | undefined;
}

export const LOCK_MODULE = {
  ...LOCK,
  locks: [later],
  cron: [typed('object'), undefined],
  application: [typed('string'), undefined],
} satisfies OptionTable<LockModuleOptions>;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export async function openLocks(given: LockModuleOptions): Promise<DistributedLock> {
  if (typeof given !== 'object' || given === null) {
    throw invalid([`Expected the options of LockModule to be an object, got ${typeof given}.`]);
  }
  const { terms, faults } = readOptions(given, LOCK_MODULE, 'A lock');
  if (faults.length === 0) faults.push(...longestFaults(terms.ttlMs, terms.longestTtlMs));
  const { locks, cron: _, application = applicationName(), ...options } = terms;
  const store = await storeOf(locks, faults);
  if (faults.length === 0) return new DistributedLock(store!, { ...options, application });
  // An error on closing would hide the first error.
  await store?.close?.().catch(() => undefined);
  throw invalid(faults);
}

async function storeOf(locks: unknown, faults: string[]): Promise<LockStore | undefined> {
  // By its methods, since a second copy of this package may have created it.
  const faultsOfStore = methods('acquire', 'extend', 'release')('locks', locks);
  if (faultsOfStore.length === 0) return locks as LockStore;
  try {
    if (typeof locks === 'string') return await locksOf(locks);
  } catch (error) {
    faults.push(...faultsOf(error));
    return undefined;
  }
  faults.push(
    `Expected \`locks\` to be a URL, e.g. 'redis://host:6379?namespace=shop', or a store of ` +
      `locks, got ${locks === null ? 'null' : typeof locks}.`,
  );
  return undefined;
}
