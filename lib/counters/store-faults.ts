/**
 * Whether what is given as stores of counters can be asked for numbers.
 *
 * Promise: no store is shown; it may hold a password.
 */
import type { CounterStore } from './counter-store.js';

export const STORE_COUNT_MAX = 1024;

export function storeFaults(option: string, stores: unknown): string[] {
  const isList = Array.isArray(stores) && stores.length > 0 && stores.length <= STORE_COUNT_MAX;
  if (!isList || !stores.every(isCounterStore)) {
    return [
      `Expected \`${option}\` to name 1 to ${STORE_COUNT_MAX} stores of counters, as ` +
        `sqlCounters() and redisCounters() make them.`,
    ];
  }
  if (new Set(stores).size === stores.length) return [];
  return [`The same store is given twice in \`${option}\`.`];
}

/** Whoever made it. */
export function isCounterStore(value: unknown): value is CounterStore {
  const candidate = value as Partial<CounterStore> | null | undefined;
  return typeof candidate === 'object' && typeof candidate?.take === 'function';
}
