/**
 * The options of LockModule, and the locks that they name.
 *
 * Promise: what is given as a store is never printed; URLs and clients hold passwords.
 */
import { locksOf } from '../../backends/schemes.js';
import { DistributedLock } from '../../lock/holding/distributed-lock.js';
import { LOCK_OPTIONS, lockFaults, type LockOptions } from '../../lock/holding/lock-options.js';
import type { LockStore } from '../../lock/lock-store.js';
import { applicationName } from '../application-name.js';
import { faultsOf, invalid } from '../config-faults.js';

/** Options of LockModule. */
export interface LockModuleOptions extends LockOptions {
  /**
   * Where the locks are kept: a URL, or a store. `memory:` is for tests and for a single process.
   */
  readonly locks: string | LockStore;
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export async function lockOf(given: LockModuleOptions): Promise<DistributedLock> {
  if (typeof given !== 'object' || given === null) {
    throw invalid([`Expected the options of LockModule to be an object, got ${typeof given}.`]);
  }
  const { locks, application = applicationName(), ...others } = given;
  const options = { ...others, application };
  const faults = lockFaults(options, `locks, ${LOCK_OPTIONS}`);
  const store = await storeOf(locks, faults);
  if (faults.length === 0) {
    return new DistributedLock(store!, options);
  }
  // An error on closing would hide what is wrong.
  await store?.close?.().catch(() => undefined);
  throw invalid(faults);
}

async function storeOf(locks: unknown, faults: string[]): Promise<LockStore | undefined> {
  if (isLockStore(locks)) return locks;
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

/** Whoever made it. */
function isLockStore(value: unknown): value is LockStore {
  const candidate = value as Partial<LockStore> | null | undefined;
  const calls = [candidate?.acquire, candidate?.extend, candidate?.release];
  return typeof candidate === 'object' && calls.every((call) => typeof call === 'function');
}
