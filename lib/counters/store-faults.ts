/**
 * What is wrong with stores of counters, and with numbers that are taken from them.
 *
 * Promise: no store is shown; it may hold a password.
 */
import { ID_MAX } from '../core/id-words.js';
import { shown } from '../shown.js';
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
  return [`The same store is given twice in \`${option}\`. Give each of them once.`];
}

/** Whoever made it. */
export function isCounterStore(value: unknown): value is CounterStore {
  const candidate = value as Partial<CounterStore> | null | undefined;
  return typeof candidate === 'object' && typeof candidate?.take === 'function';
}

/** For what may be beyond Number. */
export function bigFaults(name: string, value: unknown, min: bigint): string[] {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (isWhole && BigInt(value as number) >= min && BigInt(value as number) <= ID_MAX) return [];
  return [
    `Expected \`${name}\` to be a bigint or a safe integer from ${min}, got ${shown(value)}.`,
  ];
}
